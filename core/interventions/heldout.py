"""The texts on which a broken model is scored: bundled, in no corpus, predicted as the model was trained to.

masked tokens      rows of the story, every `EVERY`-th token masked
next tokens        the same rows
replaced tokens    the same rows, every `EVERY`-th token another one of the story: whether each was replaced
output tokens      of an encoder-decoder, for a task of which sources and targets are bundled

Legend: R rows, n tokens, M predicted positions.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.language.codes import codes_of
from core.language.makers import inputs
from core.language.noise import NOISES, noisy
from core.language.tasks import Task, tasks
from core.language.tokens import max_tokens, own_language
from core.lazy import Tensor, torch
from core.objectives.corruptions import CORRUPTIONS, corrupt_text
from core.settings import ASSETS

ROWS, LENGTH = 5, 46
"""Rows of the story, and the tokens of each without special ones."""
EVERY = 6
"""One token in as many is predicted or replaced."""
PAIRS = 8
"""Sources and targets of an encoder-decoder."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Rows of equal length, and what is true at their predicted positions."""

    tensors: dict[str, Tensor]
    """R rows, by the argument names of the forward pass."""
    positions: tuple[int, ...]
    """(M,) the same in every row."""
    truth: Tensor
    """(R, M) tokens or classes."""


def held_out(checkpoint: Checkpoint, room: int = 0) -> tuple[HeldOut, ...]:
    """The held-out texts of a model, with ``room`` of its positions free; none where none is bundled for its tasks."""
    if checkpoint.spec.offers("rewrites"):
        return tuple(_outputs(checkpoint))
    return (_story(checkpoint, room),)


def _story(checkpoint: Checkpoint, room: int) -> HeldOut:
    tokenizer, spec = checkpoint.tokenizer, checkpoint.spec
    ids = tokenizer(story(), add_special_tokens=False, verbose=False)["input_ids"]
    before, after = _frame(checkpoint)
    most = (max_tokens(checkpoint) or LENGTH * 2) - room - len(before) - len(after)
    length = min(LENGTH, most)
    rows = torch.tensor(ids[: ROWS * length]).view(-1, length)
    start, every = len(before), slice(EVERY // 2, None, EVERY)
    read, truth, positions = rows, rows[:, every], range(length)[every]
    if spec.offers("continues"):
        truth, positions, after = rows[:, 1:], range(length - 1), ()
    else:
        read = rows.clone()
        other = torch.tensor(ids[-rows.numel() :]).view_as(rows)[:, every]
        read[:, every] = other if spec.offers("detects replaced tokens") else int(tokenizer.mask_token_id)
    if spec.offers("detects replaced tokens"):
        truth, positions = (read != rows).long(), range(length)
    frame = (torch.tensor(part).long().expand(len(rows), -1) for part in (before, after))
    first, last = frame
    tensor = torch.cat((first, read, last), dim=1)
    tensors = {"input_ids": tensor, **own_language(checkpoint.model, tensor)}
    return HeldOut(tensors, tuple(start + position for position in positions), truth)


def _frame(checkpoint: Checkpoint) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What a tokenizer puts before and after a text, and a control code."""
    word, framed = (
        checkpoint.tokenizer("the", add_special_tokens=special, verbose=False)["input_ids"] for special in (False, True)
    )
    start = next(at for at in range(len(framed)) if framed[at : at + len(word)] == word)
    code = [next(iter(codes.values()))] if (codes := codes_of(checkpoint)) else []
    return (*framed[:start], *code), tuple(framed[start + len(word) :])


def _outputs(checkpoint: Checkpoint) -> Iterator[HeldOut]:
    for task in tasks(checkpoint):
        pairs = [*_pairs(checkpoint, task)][:PAIRS]
        for source, target in pairs:
            made = inputs(checkpoint, source, task.slug, target=target)
            yield HeldOut(made.tensors, made.positions, torch.tensor([[token.id for token in made.output]]))
        if pairs:
            return


def _pairs(checkpoint: Checkpoint, task: Task) -> Iterator[tuple[str, str]]:
    """The bundled sources of a task, with their targets; a denoiser's are sentences of the story."""
    yield from bundled_pairs(task)
    if task.denoises:
        for number, sentence in enumerate(re.split(r"(?<=[.!?])\s+", story())):
            yield corrupt_text(checkpoint, sentence, [*CORRUPTIONS][number % len(CORRUPTIONS)], number), sentence


def bundled_pairs(task: Task) -> Iterator[tuple[str, str]]:
    """The sources and targets of a task that stand in a table: translations, misspelled texts, fusions."""
    translations = records("translations")
    if task.languages and {*task.languages} <= translations[0].keys():
        source, target = task.languages
        yield from ((row[source], row[target]) for row in translations)
    elif task.respells:
        for number, row in enumerate(translations):
            yield noisy(row["en"], NOISES[number % len(NOISES)], seed=number), row["en"]
    elif task.slug == "fuse":
        yield from ((row["parts"], row["whole"]) for row in records("fusions"))


def story() -> str:
    """The bundled story."""
    return (ASSETS / "heldout" / "story.txt").read_text(encoding="utf-8")


def records(name: str) -> list[dict[str, str]]:
    """Rows of a table of ``assets/heldout``, by its columns."""
    with (ASSETS / "heldout" / f"{name}.tsv").open(encoding="utf-8", newline="") as lines:
        return [*csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
