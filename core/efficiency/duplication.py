"""The duplication task (Reformer: Kitaev et al., 2020, arXiv 2001.04451, table 2) by rounds of hashing, as stored.

A text is 0w0w with a random w; only a look back by half the text tells the second w. ``python -m core
duplication`` trains and measures (`lab.duplication`). No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean

from core.settings import ASSETS
from core.table import measured

FILE = ASSETS / "measured" / "duplication.csv"
TRAINED, EVALUATED = (0, 4, 2, 1), (0, 8, 4, 2, 1)
"""Rounds in training and at evaluation; 0 is full attention."""
POSITIONS, SYMBOLS, CHUNK = 128, 16, 8
STEPS = 1500
PAPER = (
    (100.0, 94.8, 92.5, 76.9, 52.5),
    (0.8, 100.0, 99.9, 99.4, 91.9),
    (0.8, 100.0, 99.9, 98.1, 86.8),
    (0.8, 99.9, 99.6, 94.8, 77.9),
)
"""Percent in the paper's table 2, for 1,024 positions and 127 symbols."""


@dataclass(frozen=True, slots=True)
class Row:
    """One trained model at one number of rounds."""

    trained: int
    evaluated: int
    seed: int
    accuracy: float
    """Share of the symbols of the second w that are predicted."""
    steps: int
    seconds: float
    """Processor time of the training, on one thread."""
    machine: str


@lru_cache(maxsize=1)
def stored(file: Path = FILE) -> tuple[Row, ...]:
    """The rows of the sweep that comes with the Atlas; none without a file."""
    return measured(file, Row)


def accuracy(trained: int, evaluated: int) -> float:
    """Mean accuracy over the seeds."""
    return fmean(row.accuracy for row in stored() if (row.trained, row.evaluated) == (trained, evaluated))
