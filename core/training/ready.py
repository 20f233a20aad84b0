"""The ready texts: stories and chess openings, written for the Atlas, and three made by rules and a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from core.settings import ASSETS
from core.training.language import sentences
from core.training.recipes import recipes
from core.training.setup import STEPS, Setup

_TEXTS = ASSETS / "training"


@dataclass(frozen=True, slots=True)
class Ready:
    text: Callable[[], str]
    opens_with: Setup
    """What learns it well within a minute or two."""
    steps: int = STEPS
    """After which it is learned."""


def stories(without: str = "") -> str:
    """A story a line, the narrators in turn.

    Args:
        without: a narrator to leave out: the name of a file of ``assets/training/stories``.
    """
    files = sorted((_TEXTS / "stories").glob("*.txt"))
    told = [file.read_text(encoding="utf-8").splitlines() for file in files if file.stem != without]
    return "\n".join(lines[at] for at in range(max(map(len, told))) for lines in told if at < len(lines))


def sums() -> str:
    """Each sum of two numbers below 100 once, in random order, with as many digits in all: ``47+08=055``."""
    lines = [f"{a:02}+{b:02}={a + b:03}" for a in range(100) for b in range(100)]
    random.Random(0).shuffle(lines)
    return "\n".join(lines)


def openings() -> str:
    """374 chess openings in random order, the name and the first moves of each: ``Reti Opening, Main Line: 1.Nf3``."""
    lines = (_TEXTS / "openings.txt").read_text(encoding="utf-8").splitlines()
    random.Random(0).shuffle(lines)
    return "\n".join(lines)


READY: Mapping[str, Ready] = {
    "stories": Ready(stories, Setup()),
    "recipes": Ready(recipes, Setup(layers=2, width=64, context=128)),
    "language": Ready(sentences, Setup(layers=2, width=64)),
    "openings": Ready(openings, Setup(layers=2, width=64)),
    "sums": Ready(sums, Setup(units="characters", layers=2, width=64, context=32), 2_000),
}


@cache
def ready(name: str) -> str:
    """The ready text ``name`` of `READY`."""
    return READY[name].text()
