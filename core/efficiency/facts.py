"""Facts far from their questions, by attention pattern, as stored.

A text begins with questions, such as “tom lives in [MASK].”; the facts stand somewhere in the book that follows.
``python -m lab facts`` trains and measures (`lab.facts`). No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core.settings import ASSETS
from core.table import measured

FILE = ASSETS / "measured" / "facts.csv"
LENGTH, FACTS, PLACES = 1024, 4, 25
"""Tokens of a measured text, the facts in it, and the places that they can name."""
BLOCK, SIDE = 32, 64
"""BigBird's block, and Longformer's window on each side, in tokens."""
EDGES = (32, 64, 128, 256, 512, 768, LENGTH)
"""Distances are measured in bins that end at these."""
TRAINED = {
    "full": "Full attention",
    "bigbird": "BigBird",
    "longformer": "Longformer",
    "window": "Window alone",
}
BASELINES = {"nearest": "Nearest place", "frequent": "Most frequent place"}


@dataclass(frozen=True, slots=True)
class Row:
    """One trained model, or a baseline, at one range of distances."""

    pattern: str
    distance: int
    """The end of the range, in tokens between question and fact."""
    seed: int
    accuracy: float
    """Share of the questions that are answered, places being sampled uniformly."""
    asked: int
    steps: int
    seconds: float
    """Processor time of the training, on one thread."""
    machine: str


@lru_cache(maxsize=1)
def stored(file: Path = FILE) -> tuple[Row, ...]:
    """The rows that come with the Atlas; none without a file."""
    return measured(file, Row)


def accuracies(pattern: str, distance: int) -> tuple[float, ...]:
    """The accuracy of each seed, all of which are asked the same questions."""
    return tuple(row.accuracy for row in stored() if (row.pattern, row.distance) == (pattern, distance))
