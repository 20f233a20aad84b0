r"""The learning curve: held-out accuracy by number of training examples, from pretrained and from random weights.

For each seed, n examples are drawn from the training texts, the classes in turn, and all weights are trained on them
for :data:`STEPS` steps of AdamW, whatever n. Reported are mean and standard deviation of the held-out accuracy over the
seeds, which draw the examples, the order of the batches and the random weights. ``assets/measured/learning-curves.csv``
has the ready sets, by ``python -m lab fine-tuning``; no torch here until something is measured.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

from core.finetuning.examples import READY, TEN, LabeledSet
from core.finetuning.setup import BATCH, Setup, baselines, usual_pooling, usual_rate
from core.settings import ASSETS

if TYPE_CHECKING:
    from core.checkpoints.spec import Checkpoint

SIZES = (5, 10, 20, 50)
STEPS = 30
SEEDS, OWN_SEEDS = 10, 3
"""Seeds of the stored curves, and of a visitor's."""
SETS = tuple(name for name in READY if name != TEN)
FILE = ASSETS / "measured" / "learning-curves.csv"


@dataclass(frozen=True, slots=True)
class Point:
    """One trained model."""

    examples: int
    pretrained: bool
    seed: int
    accuracy: float
    """Share of the held-out texts whose class is predicted."""


@dataclass(frozen=True, slots=True)
class Summary:
    """All seeds of a number of examples."""

    examples: int
    mean: float
    deviation: float
    seeds: int


def sizes(data: LabeledSet) -> tuple[int, ...]:
    """Numbers of examples with one of each class at least; the last is all."""
    every = len(data.train)
    return (*(size for size in SIZES if len(data.labels) <= size < every), every)


def measure(checkpoint: Checkpoint, data: LabeledSet, seeds: int) -> Iterator[Point]:
    """Train one model after another; each seed gives a whole curve.

    Raises:
        InputTooLong: a text has more tokens than the model has positions.
    """
    from core.finetuning.train import fine_tune

    for seed in range(seeds):
        for size in sizes(data):
            epochs = -(-STEPS // -(-size // BATCH))
            chosen = Setup("all", usual_pooling(checkpoint.spec), epochs, usual_rate("all"), seed)
            for setup in (chosen, baselines(chosen)["random"]):
                (last,) = fine_tune(checkpoint, data.sample(size, seed), setup, last_only=True)
                yield Point(size, setup.pretrained, seed, last.accuracy)


def summarize(points: Sequence[Point], *, pretrained: bool) -> tuple[Summary, ...]:
    """Mean and standard deviation by number of examples."""
    own = [point for point in points if point.pretrained == pretrained]
    found = []
    for size in sorted({point.examples for point in own}):
        values = [point.accuracy for point in own if point.examples == size]
        found.append(Summary(size, fmean(values), pstdev(values), len(values)))
    return tuple(found)


def write(curves: dict[tuple[str, str], Sequence[Point]], path: Path = FILE) -> None:
    """Store the points by model and set, in place of all others."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(("model", "set", "examples", "pretrained", "seed", "accuracy"))
        for (slug, name), points in curves.items():
            rows.writerows((slug, name, p.examples, int(p.pretrained), p.seed, f"{p.accuracy:.4f}") for p in points)


@lru_cache(maxsize=1)
def stored() -> dict[tuple[str, str], tuple[Point, ...]]:
    """The stored points by model and set."""
    found: dict[tuple[str, str], list[Point]] = {}
    with FILE.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            point = Point(int(row["examples"]), row["pretrained"] == "1", int(row["seed"]), float(row["accuracy"]))
            found.setdefault((row["model"], row["set"]), []).append(point)
    return {key: tuple(points) for key, points in found.items()}


def cli_fine_tuning(slugs: Sequence[str]) -> None:
    """Measure the ready sets with these models and store their learning curves and the runs that the page opens with.

    Raises:
        AtlasError: a model is unknown.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    from core import checkpoints
    from core.finetuning import record
    from core.finetuning.examples import ready

    curves: dict[tuple[str, str], Sequence[Point]] = {}
    for slug in slugs:
        checkpoint = checkpoints.load(slug)
        for name in SETS:
            data, trained = ready(name), 2 * SEEDS * len(sizes(ready(name)))
            points = tqdm(measure(checkpoint, data, SEEDS), desc=f"{slug}, {name}", total=trained, disable=None)
            curves[slug, name] = tuple(points)
    write(curves)
    record.write(checkpoints.load(slugs[0]))
