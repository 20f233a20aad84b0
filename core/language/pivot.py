"""Translation by way of English: where a model saw two languages with English only, two known steps instead of one.

    z = argmax p(z | x, English)        y = argmax p(y | z, target)

against y = argmax p(y | x, target) at once. The way through a third language is called pivoting; M2M-100 (Fan et al.
2020, arXiv 2010.11125) was trained on pairs without English in order not to need it. What English does not say (Sie or
du, a word's gender) is lost on the way; what the model never practised is not asked of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty
from core.language.tasks import task_of, tasks
from core.language.translate import rewrite
from core.language.types import Decoding, GenerationStep

PIVOT = "en"


@dataclass(frozen=True, slots=True)
class Through:
    """A translation in two steps."""

    middle: str
    """The English in the middle."""
    end: str
    """The translation of that."""


def steps_through(checkpoint: Checkpoint, task: str) -> tuple[str, str] | None:
    """The two tasks that lead through English, or None: English is one side, no translation, or a step is missing.

    Raises:
        UnknownTask: the checkpoint does not offer ``task``.
    """
    languages = task_of(checkpoint, task).languages
    if languages is None or PIVOT in languages:
        return None
    way = (f"{languages[0]}-{PIVOT}", f"{PIVOT}-{languages[1]}")
    offered = {known.slug for known in tasks(checkpoint)}
    return way if offered.issuperset(way) else None


def through(checkpoint: Checkpoint, text: str, way: tuple[str, str], decoding: Decoding | None = None) -> Through:
    """Translate ``text`` with the first task of ``way`` and the result with the second.

    Raises:
        InputEmpty: the first step wrote nothing; else as :func:`core.language.translate.rewrite`.
    """
    middle = _last(rewrite(checkpoint, text, way[0], decoding))
    if not middle:
        raise InputEmpty(
            "The first step wrote no English, so there is nothing to translate from there. Try other words."
        )
    return Through(middle, _last(rewrite(checkpoint, middle, way[1], decoding)))


def _last(made: Iterator[GenerationStep]) -> str:
    text = ""
    for step in made:
        text = step.text
    return text.strip()
