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
from core.finetuning.setup import BATCH, Setup, baselines, usual_rate
from core.finetuning.train import fine_tune

SIZES = (5, 10, 20, 50)
STEPS = 30
SETS = tuple(name for name in READY if name != TEN)


@dataclass(frozen=True, slots=True)
class FineTuned:
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


def runs(done: Sequence[FineTuned], corpus: object, seeds: int) -> Iterator[list[FineTuned]]:
    """The curves of the ready sets that are not done, each of one seed."""
    checkpoint = checkpoints.load(checkpoints.first("fine-tuning")[0])
    measured = {(point.set, point.seed) for point in done}
    for name in SETS:
        for seed in range(seeds):
            if (name, seed) not in measured:
                yield list(measure(checkpoint, name, ready(name), seed))


def measure(checkpoint: Checkpoint, name: str, data: LabeledSet, seed: int) -> Iterator[FineTuned]:
    """The points of one seed's curve.

    Raises:
        InputTooLong: a text has more tokens than the model has positions.
    """
    for size in sizes(data):
        epochs = -(-STEPS // -(-size // BATCH))
        chosen = Setup("all", checkpoint.spec.family.pooling, epochs, usual_rate("all"), seed)
        for setup in (chosen, baselines(chosen)["random"]):
            (last,) = fine_tune(checkpoint, data.sample(size, seed), setup, last_only=True)
            yield FineTuned(checkpoint.spec.slug, name, size, int(setup.pretrained), seed, last.accuracy)
