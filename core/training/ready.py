"""The ready texts: stories by four narrators, written for the Atlas, and texts made by a rule and a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import cache

from core.settings import ASSETS

_STORIES = ASSETS / "training" / "stories"


def stories(without: str = "") -> str:
    """A story a line, the narrators in turn.

    Args:
        without: a narrator to leave out: the name of a file of ``assets/training/stories``.
    """
    told = [
        file.read_text(encoding="utf-8").splitlines() for file in sorted(_STORIES.glob("*.txt")) if file.stem != without
    ]
    return "\n".join(lines[at] for at in range(max(map(len, told))) for lines in told if at < len(lines))


def sums() -> str:
    """Each sum of two numbers below 100 once, in random order: ``47+8=55``."""
    lines = [f"{a}+{b}={a + b}" for a in range(100) for b in range(100)]
    random.Random(0).shuffle(lines)
    return "\n".join(lines)


READY: Mapping[str, Callable[[], str]] = {"stories": stories, "sums": sums}


@cache
def ready(name: str) -> str:
    """The ready text ``name`` of `READY`."""
    return READY[name]()
