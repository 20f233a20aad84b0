"""Classification of a text by an encoder with adapters, and by the head alone.

The tasks share one loaded encoder (`core.checkpoints.adapters`).
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, OutOfRange
from core.language.inputs import Inputs
from core.language.text import clean
from core.language.tokens import check_length, tokenize
from core.lazy import torch

MAX_CHARS = 1_000
_END = re.compile(r"(?<=[.!?…])[\"'”’)]?\s+(?![a-z])")
_MARKS = " .?!…\"'”’"


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A task with its question and the labels of its classes."""

    slug: str
    label: str
    question: str
    answers: tuple[str, ...]
    without_mark: bool
    """Whether its input is the first sentence of a text, without its final punctuation."""
    trained: int
    """Parameters of its adapters, norms and head."""
    trained_alone: int
    """Parameters of its head alone."""


@dataclass(frozen=True, slots=True)
class TaskPrediction:
    """The probabilities of a task's classes, in the order of ``task.answers``."""

    task: TaskInfo
    read: str
    """The text, or the part of it that was the input."""
    adapted: tuple[float, ...]
    alone: tuple[float, ...]
    updates: tuple[float, ...]
    """Mean over tokens of |W_up f(W_down h)| / |h|, for attention and feed-forward of each layer."""

    @property
    def answer(self) -> str:
        """The most probable class with the adapters."""
        return self.task.answers[self.adapted.index(max(self.adapted))]

    @property
    def answer_alone(self) -> str:
        """The most probable class of the head alone."""
        return self.task.answers[self.alone.index(max(self.alone))]


def tasks(checkpoint: Checkpoint) -> tuple[TaskInfo, ...]:
    """The tasks of a checkpoint, those of its card first, in their order."""
    model = checkpoint.model
    settings: dict[str, dict[str, Any]] = model.config.adapter_tasks
    ordered = {slug: settings[slug] for slug in (*checkpoint.spec.tasks, *settings) if slug in settings}
    return tuple(
        TaskInfo(
            slug,
            str(task["name"]),
            str(task["question"]),
            tuple(map(str, task.get("shown", task["answers"]))),
            task["form"] == "last-mark",
            model.tasks[slug].trained,
            model.tasks[slug].trained_alone,
        )
        for slug, task in ordered.items()
    )


def without_mark(text: str) -> str:
    """The first sentence of a text without its final punctuation.

    :raises InputEmpty: there is nothing else.
    """
    text = text.lstrip(_MARKS)
    end = _END.search(text)
    bare = text[: end.start() if end else None].rstrip(_MARKS)
    if not bare:
        raise InputEmpty("There is no text before the punctuation. Type a sentence of a few words, or choose a sample.")
    return bare


def through(checkpoint: Checkpoint, task: str | None) -> AbstractContextManager[None]:
    """Within the block, passes of the model use the adapters of ``task``.

    :raises OutOfRange: the checkpoint has no such task.
    """
    if task is None:
        return nullcontext()
    from core.checkpoints.adapters import running

    return running(checkpoint.model.task(_task(checkpoint, task).slug))


def _task(checkpoint: Checkpoint, task: str) -> TaskInfo:
    offered = {info.slug: info for info in tasks(checkpoint)}
    if task not in offered:
        raise OutOfRange(f"There are no adapters for “{task[:40]}” here. Choose one of: {', '.join(offered)}.")
    return offered[task]


def prepare(checkpoint: Checkpoint, text: str, task: str) -> Inputs:
    """The encoder's inputs for ``text``, or the part of it that the task reads.

    :raises OutOfRange: the checkpoint has no such task.
    :raises InputEmpty: the text has no readable character.
    :raises InputTooLong: the text has more characters or tokens than fit.
    """
    info = _task(checkpoint, task)
    cleaned = clean(text, MAX_CHARS)
    read = without_mark(cleaned) if info.without_mark else cleaned
    tokens = tokenize(checkpoint, read)
    check_length(checkpoint, len(tokens))
    ids = torch.tensor([[token.id for token in tokens]])
    tensors = {"input_ids": ids, "token_type_ids": torch.zeros_like(ids), "attention_mask": torch.ones_like(ids)}
    return Inputs(checkpoint, tensors, tokens, text=read, answers=info.answers, task=info.slug)


def classify(checkpoint: Checkpoint, text: str, task: str) -> TaskPrediction:
    """Classify ``text`` with the task's adapters and with its head alone.

    :raises OutOfRange, InputEmpty, InputTooLong: as :func:`prepare`.
    """
    model = checkpoint.model
    inputs = prepare(checkpoint, text, task)
    with torch.inference_mode():
        adapted = model.answer(inputs.tensors, task, watch=True)
        alone = model.answer_alone(inputs.tensors, task)
    return TaskPrediction(
        _task(checkpoint, task),
        inputs.text,
        tuple(adapted.logits.softmax(-1)[0].tolist()),
        tuple(alone.softmax(-1)[0].tolist()),
        adapted.updates,
    )
