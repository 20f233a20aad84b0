"""One text under the tasks of an encoder with adapters, through the adapters and by a head alone.

The tasks share one loaded encoder (`core.checkpoints.adapters`): choosing another one loads nothing.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.language.limits import check_length
from core.language.text import clean

MAX_CHARS = 1_000
_END = re.compile(r"(?<=[.!?…])[\"'”’)]?\s+")
_END_BEFORE_NO_SMALL_LETTER = re.compile(_END.pattern + r"(?![a-z])")
_PAIRS = ("swapped-sentences", "other-sentence")


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What a task asks, and its answers as people read them."""

    slug: str
    name: str
    question: str
    answers: tuple[str, ...]
    pair: bool
    """True where it asks about two sentences."""
    trained: int
    """Numbers that its adapters, norms and head have."""
    trained_alone: int
    """Numbers of its head alone."""


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """The probability of each answer to one task's question, in the order of ``task.answers``."""

    task: TaskInfo
    read: tuple[str, ...]
    """The text, or the two sentences of it that were asked about."""
    adapted: tuple[float, ...]
    alone: tuple[float, ...]
    updates: tuple[float, ...]
    """For attention and feed-forward of each layer, by turns, the mean over tokens of |W_up f(W_down h)| / |h|."""

    @property
    def answer(self) -> str:
        """The likeliest answer through the adapters."""
        return self.task.answers[self.adapted.index(max(self.adapted))]

    @property
    def answer_alone(self) -> str:
        """The likeliest answer of the head alone."""
        return self.task.answers[self.alone.index(max(self.alone))]


def tasks(checkpoint: Checkpoint) -> tuple[TaskInfo, ...]:
    """The tasks of a checkpoint, in the order in which they were trained."""
    model: Any = checkpoint.model
    told: dict[str, dict[str, Any]] = model.config.adapter_tasks
    return tuple(
        TaskInfo(
            slug,
            str(about["name"]),
            str(about["question"]),
            tuple(map(str, about.get("shown", about["answers"]))),
            about["form"] in _PAIRS,
            model.tasks[slug].parameters_of("adapters"),
            model.tasks[slug].parameters_of("alone"),
        )
        for slug, about in told.items()
    )


def two_sentences(text: str) -> tuple[str, str]:
    """The first two sentences of a text; a small letter begins one only where nothing else does.

    :raises InputUnusable: it has fewer.
    """
    for pattern in (_END_BEFORE_NO_SMALL_LETTER, _END):
        found = _cut(text, pattern)
        if len(found) > 1:
            return found[0], found[1]
    raise InputUnusable("This question is about two sentences. Type a second one after a full stop.")


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    """The text cut behind every match, without pieces that hold no letter or digit."""
    ends = [match.end() for match in pattern.finditer(text)]
    pieces = [text[a:b].strip() for a, b in pairwise([0, *ends, len(text)])]
    return [piece for piece in pieces if re.search(r"\w", piece)]


def judge(checkpoint: Checkpoint, text: str, task: str) -> TaskVerdict:
    """What the task's adapters and its head alone say of ``text``; for a pair, of its first two sentences.

    :raises OutOfRange: the checkpoint has no such task.
    :raises InputEmpty: the text has no readable character.
    :raises InputUnusable: the task needs a second sentence.
    :raises InputTooLong: the text has more characters or tokens than fit.
    """
    import torch

    known = {info.slug: info for info in tasks(checkpoint)}
    if task not in known:
        raise OutOfRange(f"There are no adapters for “{task[:40]}” here. Choose one of: {', '.join(known)}.")
    info = known[task]
    cleaned = clean(text, MAX_CHARS)
    parts = two_sentences(cleaned) if info.pair else (cleaned,)
    given = checkpoint.tokenizer(*parts, return_tensors="pt", return_token_type_ids=True, verbose=False)
    check_length(checkpoint, int(given["input_ids"].shape[1]))
    model: Any = checkpoint.model
    inputs = {name: given[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    with torch.inference_mode():
        found = model.answer(inputs, task, watch=True)
        alone = model.answer_alone(inputs, task)
    return TaskVerdict(
        info, parts, tuple(found.logits.softmax(-1)[0].tolist()), tuple(alone.softmax(-1)[0].tolist()), found.updates
    )


def swap_seconds(checkpoint: Checkpoint, rounds: int = 2_000) -> float:
    """Seconds that it takes to put one task's adapters in the place of another's, the mean of many swaps."""
    from core.checkpoints.adapters import running

    model: Any = checkpoint.model
    parts = list(model.tasks.values())
    start = time.perf_counter()
    for number in range(rounds):
        with running(parts[number % len(parts)]):
            pass
    return (time.perf_counter() - start) / rounds
