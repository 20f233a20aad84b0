"""A checkpoint's learning curve: what was measured while it was trained, from ``curve.csv`` beside its card."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement. ``tokens`` is how many tokens had been seen, ``split`` the texts it was measured on."""

    tokens: int
    minutes: float
    split: str
    measure: str
    value: float


def read_curve(folder: Path) -> tuple[Point, ...]:
    """The measurements in order of the file; empty when there is no readable curve (a curve is never essential)."""
    try:
        with (folder / "curve.csv").open(newline="", encoding="utf-8") as stream:
            return tuple(
                Point(int(row["tokens"]), float(row["minutes"]), row["split"], row["measure"], float(row["value"]))
                for row in csv.DictReader(stream)
            )
    except (OSError, ValueError, KeyError, TypeError):
        return ()
