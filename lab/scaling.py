"""The studies of small decoders: a decoder by size and text, or by batch and rate; and its gradient noise.

One recipe, ``assets/recipes/sweeps/scaling.toml``, whose size, tokens, batch, rate and seed a point replaces. A run
reads random windows of the corpus, none twice, and its loss is that of the same held-out windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from core import checkpoints
from lab import recipe as recipes
from lab.noise import Noise, live, measure
from lab.objectives import build
from lab.train import STATE, Trainer

SIZES = {(2, 16): 1.8e-2, (2, 32): 1e-2, (3, 48): 7e-3, (3, 80): 4.5e-3, (4, 128): 3e-3}
"""Learning rate by layers and width: chosen for 32 and 128 on 80,000 tokens with another seed, in between and beyond a
power of the width."""
TOKENS = (50_000, 85_000, 140_000, 240_000, 400_000)
SWEPT = (2, 32), 100_000
"""Size and tokens of the sweep over batches and rates."""
BATCHES = (128, 256, 512, 1024, 2048)
RATES = (2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2)
NOISY = (5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 400_000)
"""Tokens after which the noise scale is measured, of the swept size at the largest amount of text."""
MEASURED = 300
"""Held-out windows for a loss."""
NOISE_WINDOWS, GROUP = 96, 8
"""Held-out windows for a noise scale, and those of a group."""


@dataclass(frozen=True, slots=True)
class ScalingRun:
    """A trained decoder."""

    layers: int
    width: int
    tokens: int
    batch: int
    """Tokens of a step."""
    rate: float
    seed: int
    parameters: int = 0
    """Without embeddings."""
    loss: float = 0.0
    """Held-out, in nats per token."""

    @property
    def point(self) -> tuple[float, ...]:
        """What it is a run of."""
        return self.layers, self.width, self.tokens, self.batch, self.rate, self.seed


@dataclass(frozen=True, slots=True)
class Noisy:
    """A gradient noise scale in tokens, with its interval."""

    model: str
    """A bundled decoder, or "" for the swept one."""
    seed: int
    tokens: int
    """Trained so far."""
    loss: float
    """Held-out, in nats per token; 0 of a bundled one, whose tokens are others."""
    scale: float
    low: float
    high: float


def points(name: str, seed: int) -> list[ScalingRun]:
    """What a sweep trains with a seed, cheapest first; the loss is still 0."""
    size, tokens = SWEPT
    if name == "batches":
        return [ScalingRun(*size, tokens, batch, rate, seed) for batch in BATCHES for rate in RATES]
    step = _recipe().step_tokens
    runs = [ScalingRun(*at, n, step, rate, seed) for at, rate in SIZES.items() for n in TOKENS]
    return sorted(runs, key=lambda run: run.layers * run.width**2 * run.tokens)


def runs(name: str, done: Sequence[ScalingRun], corpus: Path, seeds: int) -> Iterator[list[ScalingRun]]:
    """The row of each run of ``scaling`` or ``batches`` that is not done, seed by seed."""
    for seed in range(seeds):
        yield from sweep(points(name, seed), done, corpus)


def sweep(wanted: Sequence[ScalingRun], done: Sequence[ScalingRun], corpus: Path) -> Iterator[list[ScalingRun]]:
    measured = {run.point for run in done}
    for run in wanted:
        if run.point not in measured:
            with _trainer(run, corpus) as trainer:
                trainer.run(measure_share=2.0, quiet=True)
                yield [_measured(run, trainer.objective)]


def _measured(run: ScalingRun, objective: Any) -> ScalingRun:
    named = objective.model.named_parameters()
    parameters = sum(p.numel() for name, p in named if ".wte" not in name and ".wpe" not in name)
    return replace(run, parameters=parameters, loss=_loss(objective))


def noise_runs(done: Sequence[Noisy], corpus: Path, seeds: int) -> Iterator[list[Noisy]]:
    """The noise scale of bundled decoders, and of a decoder at several moments of its training, where not done."""
    measured = {(row.model, row.seed) for row in done}
    for slug in checkpoints.first("noise"):
        if (slug, 0) not in measured:
            checkpoint = checkpoints.load(slug)
            *_, noise = live(checkpoint)
            yield [_row(slug, 0, checkpoint.spec.card.tokens if checkpoint.spec.card else 0, 0.0, noise)]
    run = ScalingRun(*SWEPT[0], TOKENS[-1], _recipe().step_tokens, SIZES[SWEPT[0]], 0)
    for seed in range(seeds):
        if ("", seed) in measured:
            continue
        with _trainer(replace(run, seed=seed), corpus) as trainer:
            batches = list(trainer.objective.measured(NOISE_WINDOWS, 1))[:NOISE_WINDOWS]
            losses = [partial(trainer.objective.loss, batch) for batch in batches]
            rows = []
            for moment in NOISY:
                while trainer.progress.tokens < moment:
                    trainer.step()
                *_, noise = measure(trainer.trained, losses, trainer.objective.width, GROUP)
                rows.append(_row("", seed, moment, _loss(trainer.objective), noise))
        yield rows


def _row(model: str, seed: int, tokens: int, loss: float, noise: Noise) -> Noisy:
    low, high = noise.interval or (0.0, 0.0)
    return Noisy(model, seed, tokens, loss, noise.scale or 0.0, low, high)


def _recipe() -> recipes.Recipe:
    return recipes.load("scaling", recipes.RECIPES / "sweeps")


@contextmanager
def _trainer(run: ScalingRun, corpus: Path) -> Iterator[Any]:
    """The trainer of a run, whose state goes with it."""
    base = _recipe()
    recipe = replace(
        base,
        seed=run.seed,
        tokens=run.tokens,
        step_tokens=run.batch,
        model=base.model | {"n_layer": run.layers, "n_embd": run.width, "n_head": run.width // 16},
        optimizer=base.optimizer | {"rate": run.rate},
    )
    (folder := STATE / base.slug).mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as state:
        yield Trainer(recipe, build(recipe, corpus, folder / "data"), Path(state))


@torch.no_grad()
def _loss(objective: Any) -> float:
    """Nats per token of held-out windows."""
    nats = [(float(objective.loss(batch)), batch["labels"].numel()) for batch in objective.measured(MEASURED, 16)]
    return float(sum(loss * count for loss, count in nats) / sum(count for _, count in nats))
