"""Long texts for the efficient page: a lighthouse keeper's log, made by joining sentences written for this project.

Each log names the keeper's dog once (the clue) and masks the name once. Their distance differs, and so does the part of
the pattern that can connect them:

    near      the clue is in the sentence before the mask: the window contains it
    start     the clue opens the log: the first block is global, every block attends to it
    middle    the clue is in the middle of the log, far from the mask: random blocks or two layers may connect them

Legend: an entry is one day of the log, two or three sentences of about 40 tokens.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from random import Random

from core.errors import OutOfRange
from core.settings import ASSETS
from core.words import counted

SAMPLES: dict[str, str] = {
    "near": "Clue right before the mask",
    "start": "Clue at the beginning",
    "middle": "Clue in the middle, far away",
}
"""The menu's label of each sample."""

MASK = "[MASK]"
CLUE = "The dog of the lighthouse is called Max. Max sleeps by the stove, and every visitor knows Max."
QUESTION = f"In the evening the keeper called the dog: come here, {MASK}, he said."

_LOG: dict[str, list[str]] = tomllib.loads((ASSETS / "lighthouse.toml").read_text(encoding="utf-8"))


def entry(day: int) -> str:
    """One day of the log; the same for the same day."""
    random = Random(day)
    weather, ships, work, evening = (random.choice(_LOG[part]) for part in ("weather", "ships", "work", "evening"))
    return f"Day {day + 1}. {weather}, and {ships}. {work}. {evening}"


def build(name: str, length: int, count: Callable[[str], int]) -> str:
    """A log of at most ``length`` tokens with its clue and its mask.

    Args:
        name: one of :data:`SAMPLES`.
        length: tokens that may be used, special ones included.
        count: how many tokens a piece of text takes, without special ones.

    Raises:
        OutOfRange: the sample is unknown, or the length does not even hold clue and question.
    """
    if name not in SAMPLES:
        raise OutOfRange(f"There is no sample called {name[:40]!r}. Choose one of: {', '.join(SAMPLES)}.")
    left = length - 2 - count(CLUE) - count(QUESTION)
    if left < 0:
        raise OutOfRange(f"A sample of {counted(length, 'token')} is too short: from 64 on it works.")
    days: list[str] = []
    while (left := left - count(following := entry(len(days)))) >= 0:
        days.append(following)
    # The question stands at three quarters of the log, away from the last block, which is global.
    mask_at = len(days) * 3 // 4
    clue_at = {"near": mask_at, "start": 0, "middle": len(days) * 3 // 8}[name]
    return " ".join([*days[:clue_at], CLUE, *days[clue_at:mask_at], QUESTION, *days[mask_at:]])
