r"""The study ``examples``: held-out accuracy by number of training examples, from pretrained and from random weights.

For each seed, n examples are drawn from the training texts, the classes in turn, and all weights are trained on them
for :data:`STEPS` steps of AdamW, whatever n. A seed draws the examples, the order of the batches and the random
weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.finetuning.examples import READY, TEN, LabeledSet, ready
from core.finetuning.setup import BATCH, Setup, baselines, usual_pooling, usual_rate
from core.finetuning.train import fine_tune
from core.studies import results
from lab import record
from lab.files import append

SIZES = (5, 10, 20, 50)
STEPS = 30
SEEDS = 10
SETS = tuple(name for name in READY if name != TEN)


@dataclass(frozen=True, slots=True)
class Point:
    """One trained model."""

    model: str
    set: str
    examples: int
    pretrained: int
    """1, or 0 for random weights."""
    seed: int
    accuracy: float
    """Share of the held-out texts whose class is predicted."""


def sizes(data: LabeledSet) -> tuple[int, ...]:
    """Numbers of examples with one of each class at least; the last is all."""
    every = len(data.train)
    return (*(size for size in SIZES if len(data.labels) <= size < every), every)


def measure(checkpoint: Checkpoint, name: str, data: LabeledSet, seeds: int) -> Iterator[Point]:
    """Train one model after another; each seed gives a whole curve.

    Raises:
        InputTooLong: a text has more tokens than the model has positions.
    """
    for seed in range(seeds):
        for size in sizes(data):
            epochs = -(-STEPS // -(-size // BATCH))
            chosen = Setup("all", usual_pooling(checkpoint.spec), epochs, usual_rate("all"), seed)
            for setup in (chosen, baselines(chosen)["random"]):
                (last,) = fine_tune(checkpoint, data.sample(size, seed), setup, last_only=True)
                yield Point(checkpoint.spec.slug, name, size, int(setup.pretrained), seed, last.accuracy)


def cli_fine_tuning(slugs: Sequence[str]) -> None:
    """Measure the ready sets with these models and store their learning curves and the runs that the page opens with.

    Raises:
        AtlasError: a model is unknown.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    points: list[Point] = []
    for slug in slugs:
        checkpoint = checkpoints.load(slug)
        for name in SETS:
            data, trained = ready(name), 2 * SEEDS * len(sizes(ready(name)))
            curve = measure(checkpoint, name, data, SEEDS)
            points += tqdm(curve, desc=f"{slug}, {name}", total=trained, disable=None)
    (file := results("examples")).unlink(missing_ok=True)
    append(points, file)
    record.write(checkpoints.load(slugs[0]))
