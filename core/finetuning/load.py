"""Trained weights that a visitor brings back: the file of `core.finetuning.train.Learner.weights`, checked and run.

A file is data: its header is read as JSON, its tensors by safetensors, and each name, type and shape must be that of
what the backbone and the card call for. Nothing in it is executed, and nothing of it is kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable
from core.finetuning import fed_to_both, record, tags, trainable
from core.finetuning.examples import CHOICES, LONGEST_LABEL, MOST_LABELS, Example, Task, segments
from core.finetuning.setup import Setup
from core.language.text import clean
from core.settings import raised_with, settings

MOST_HEADER = 100_000
"""Bytes of a header."""
_LABELS, _SETUP, _TASK = TypeAdapter(tuple[str, ...]), TypeAdapter(Setup), TypeAdapter[Task](Task)


@dataclass(frozen=True, slots=True)
class Card:
    """What a file says of itself."""

    base: str
    """The slug of the backbone."""
    labels: tuple[str, ...]
    setup: Setup
    parameters: int
    task: Task

    @property
    def set(self) -> str:
        """The ready set with this task and these classes; empty where there is none."""
        sets = ((name, record.data(name)) for name in record.SETS)
        return next((name for name, d in sets if d.task == self.task and set(d.labels) == set(self.labels)), "")

    def example(self, text: str) -> Example:
        """What a visitor asks: a text, a pair, a text and answers, or a question and a passage, with bars between them.

        Raises:
            InputUnusable: a part is empty, or there are not two answers to choose from.
        """
        parts = tuple(part.strip() for part in text.split("|"))
        if self.task == "tags":
            return tags.untagged(text)
        if self.task == "spans":
            if len(parts) != 2 or not all(parts):
                raise InputUnusable(
                    "These weights find an answer in a passage. Write a question and a passage: “Where is Oslo? | Oslo "
                    "is in the North.”"
                )
            return Example("", *parts, answer=(0, 0))
        if self.task == "classes":
            return Example("", *segments(text))
        if len(parts) != 1 + len(CHOICES) or not all(parts):
            raise InputUnusable(
                "These weights choose between two answers. Write a text and both: “The king was old. | She died. | He "
                "died.”"
            )
        return Example("", parts[0], choices=parts[1:])


def read_card(data: bytes) -> Card:
    """The card of a file; its tensors are checked by :func:`predict`.

    Raises:
        InputTooLong: the file is larger than the settings allow.
        InputUnusable: it is no safetensors file of half-precision numbers, or not one that Fine-tuning wrote.
    """
    limit = settings().max_weights_kb
    if len(data) > 1000 * limit:
        raise InputTooLong(
            f"This file has {len(data):,} bytes; at most {1000 * limit:,} work. {raised_with('max_weights_kb')}"
        )
    size = int.from_bytes(data[:8], "little")
    try:
        if not 2 <= size <= min(MOST_HEADER, len(data) - 8):
            raise ValueError
        header = json.loads(data[8 : 8 + size].decode())
        card = header.pop("__metadata__")
        parameters = sum(prod(map(int, tensor["shape"])) for tensor in header.values())
        halves = all(tensor["dtype"] == "F16" for tensor in header.values())
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputUnusable(
            "This is no safetensors file with a card. Only a file that Fine-tuning downloaded can be loaded."
        ) from None
    if not halves:
        raise InputUnusable("This file's numbers are not in half precision, as those that Fine-tuning downloads are.")
    try:
        base, labels = str(card["base"]), _LABELS.validate_json(card["labels"])
        task, setup = _TASK.validate_python(card.get("task", "classes")), _SETUP.validate_json(card["setup"])
        setup = Setup(
            setup.trained, setup.pooling, size=setup.size, format=setup.format
        )  # the others matter in training alone
    except (KeyError, TypeError, ValidationError):
        raise InputUnusable(
            "This file's card does not name a base model, classes and settings as Fine-tuning writes them."
        ) from None
    readable = all(len(label) <= LONGEST_LABEL and clean(label) == label for label in labels)
    found = Card(base, labels, setup, parameters, task)
    few = 2 <= len(labels) <= MOST_LABELS if task == "classes" else found.set
    if not (readable and few and len(set(labels)) == len(labels)):
        raise InputUnusable(
            f"This file's card must name 2 to {MOST_LABELS} classes of at most {LONGEST_LABEL} characters, or those "
            "of its task."
        )
    offered = [spec.slug for spec in checkpoints.available() if spec.ready and (trainable(spec) or fed_to_both(spec))]
    if base not in offered:
        raise InputUnusable(f"This file's base model is not one that can be fine-tuned here: {', '.join(offered)}.")
    return found


def predict(checkpoint: Checkpoint, data: bytes, card: Card, texts: Sequence[Example]) -> NDArray[np.float32]:
    """(n, K): the probabilities of the classes or answers, of each word's tags (words, K), or of start and end (tokens
    of all passages, 2), from the backbone with the file's weights attached.

    Raises:
        InputUnusable: the tensors are not those of the card's settings, or not finite.
        InputTooLong: a text has more tokens than the model has positions.
    """
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load

    from core.finetuning.train import BEST, Learner, sizes_of

    learner = Learner(checkpoint, 1 if card.task == "choice" else len(card.labels), card.setup)
    try:
        tensors = load(data)
    except SafetensorError:
        raise InputUnusable("This file is damaged: its tensors do not fill it as its header says.") from None
    targets = learner.named
    have, want = ({name: value.shape for name, value in found.items()} for found in (tensors, targets))
    if have != want:
        raise InputUnusable(
            f"This file's tensors are not those of {checkpoint.spec.name} with the settings of its card: it has "
            f"{len(tensors)}, of {sum(value.numel() for value in tensors.values()):,} weights; {len(targets)} of "
            f"{learner.trained:,} are needed, each with the name and shape of its module."
        )
    if not all(bool(value.isfinite().all()) for value in tensors.values()):
        raise InputUnusable("This file has weights that are infinite or no numbers.")
    with torch.no_grad():
        for name, target in targets.items():
            target.copy_(tensors[name])
        inputs = learner.encode(texts)
        _, probabilities = BEST[card.task](learner.head(learner.states(inputs)), sizes_of(inputs))
    found: NDArray[np.float32] = probabilities.numpy()
    return found
