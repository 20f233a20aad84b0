"""Two sweeps over fine-tuning, stored as CSV by ``python -m lab sweep`` (`lab.sweeps`); no torch here.

    distillation   a small student by the share α of the labels in its loss and by the temperature T
    widths         adapters by their bottleneck and LoRA by its rank, between the head alone and everything

Each run has a seed, which chooses the labeled sentences and the initial weights; runs of one seed are comparable.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from core.settings import ASSETS

FOLDER = ASSETS / "measured"
RUNS, NETWORKS, WIDTHS = (FOLDER / f"{name}.csv" for name in ("distillation", "distillation-networks", "widths"))
ALPHAS, TEMPERATURES = (0.0, 0.25, 0.5, 0.75, 1.0), (1, 2, 4, 8)
BOTTLENECKS, RANKS = (1, 4, 16, 64), (1, 8, 32)


@dataclass(frozen=True, slots=True)
class Step:
    """A model after some steps of training; of teacher and majority, one for each seed, only the accuracy counts."""

    model: str
    """student, teacher or majority."""
    seed: int
    alpha: float
    temperature: int
    step: int
    loss: float
    """Mean of the loss since the last row, in nats."""
    accuracy: float
    """Share of the held-out sentences whose class is predicted."""


@dataclass(frozen=True, slots=True)
class Network:
    """What a model of the distillation takes."""

    model: str
    parameters: int
    seconds: float
    """Median of a forward pass over one sentence."""
    fastest: float
    slowest: float
    tokens: int
    machine: str
    threads: int


@dataclass(frozen=True, slots=True)
class Width:
    """One fine-tuning run."""

    trained: str
    """head, adapters, lora or all."""
    size: int
    """Bottleneck or rank; 0 where there is none."""
    seed: int
    rate: float
    parameters: int
    """Trained, the head's included."""
    accuracy: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Values of several seeds."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Their mean."""
        return fmean(self.values)

    @property
    def deviation(self) -> float:
        """Their sample standard deviation; 0 of a single one."""
        return stdev(self.values) if len(self.values) > 1 else 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest."""
        return min(self.values), max(self.values)

    def minus(self, other: Spread) -> Spread:
        """The differences seed by seed."""
        return Spread(tuple(a - b for a, b in zip(self.values, other.values, strict=True)))

    @property
    def positive(self) -> bool:
        """Whether the mean exceeds twice its standard error."""
        return self.mean > 2 * self.deviation / sqrt(len(self.values))


@dataclass(frozen=True, slots=True)
class Distillation:
    """The stored runs of the students, their teachers and the majority."""

    rows: tuple[Step, ...]

    @property
    def seeds(self) -> int:
        """Seeds whose runs are complete."""
        return len({row.seed for row in self.rows if row.model == "majority"})

    def curve(self, alpha: float, temperature: int) -> dict[int, Spread]:
        """The student's held-out accuracy by step; labels alone (α = 1) know no temperature."""
        chosen = [row for row in self.rows if row.model == "student" and same(row, alpha, temperature)]
        steps = sorted({row.step for row in chosen})
        return {step: Spread(_by_seed(row for row in chosen if row.step == step)) for step in steps}

    def last(self, alpha: float, temperature: int) -> Spread:
        """The student's accuracy after training."""
        return list(self.curve(alpha, temperature).values())[-1]

    def other(self, model: str) -> Spread:
        """The accuracy of the teachers or of the majority."""
        return Spread(_by_seed(row for row in self.rows if row.model == model))


def same(row: Step, alpha: float, temperature: int) -> bool:
    """Whether a row is of this setting."""
    return row.alpha == alpha and (alpha == 1 or row.temperature == temperature)


def _by_seed(rows: Iterable[Step]) -> tuple[float, ...]:
    return tuple(row.accuracy for row in sorted(rows, key=lambda row: row.seed))


def read_runs(file: Path = RUNS) -> list[Step]:
    """The rows of a file; none where it is missing."""
    return [
        Step(
            row["model"],
            int(row["seed"]),
            float(row["alpha"]),
            int(row["temperature"]),
            int(row["step"]),
            float(row["loss"]),
            float(row["accuracy"]),
        )
        for row in _rows(file)
    ]


def read_widths(file: Path = WIDTHS) -> list[Width]:
    """The rows of a file; none where it is missing."""
    return [
        Width(
            row["trained"],
            int(row["size"]),
            int(row["seed"]),
            float(row["rate"]),
            int(row["parameters"]),
            float(row["accuracy"]),
        )
        for row in _rows(file)
    ]


def _rows(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@lru_cache(maxsize=1)
def distillation() -> Distillation:
    """The stored runs, of complete seeds."""
    rows = read_runs()
    complete = {row.seed for row in rows if row.model == "majority"}
    return Distillation(tuple(row for row in rows if row.seed in complete))


@lru_cache(maxsize=1)
def networks() -> dict[str, Network]:
    """Teacher and student."""
    return {
        row["model"]: Network(
            row["model"],
            int(row["parameters"]),
            float(row["seconds"]),
            float(row["fastest"]),
            float(row["slowest"]),
            int(row["tokens"]),
            row["machine"],
            int(row["threads"]),
        )
        for row in _rows(NETWORKS)
    }


@lru_cache(maxsize=1)
def widths() -> dict[tuple[str, int], tuple[Width, ...]]:
    """The stored runs by what was trained and its size."""
    found: dict[tuple[str, int], list[Width]] = {}
    for row in read_widths():
        found.setdefault((row.trained, row.size), []).append(row)
    return {key: tuple(rows) for key, rows in found.items()}
