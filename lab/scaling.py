"""The sweeps of `core.costs.trained`: a decoder by size and text, or by batch and rate; and its gradient noise.

One recipe, ``assets/recipes/sweeps/scaling.toml``, whose size, tokens, batch, rate and seed a point replaces. A run
reads random windows of the corpus, none twice, and its loss is that of the same held-out windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from core import checkpoints
from core.costs.trained import BATCHES, FOLDER, NOISY, RATES, SIZES, SWEPT, TOKENS, Noisy, Run, fit, read
from lab import recipe as recipes
from lab.files import append
from lab.noise import Noise, live, measure
from lab.objectives import build
from lab.train import STATE, Trainer

MEASURED = 300
"""Held-out windows for a loss."""
NOISE_WINDOWS, GROUP = 96, 8
"""Held-out windows for a noise scale, and those of a group."""


def points(name: str, seed: int) -> list[Run]:
    """What a sweep trains with a seed, cheapest first; the loss is still 0."""
    size, tokens = SWEPT
    if name == "batches":
        return [Run(*size, tokens, batch, rate, seed) for batch in BATCHES for rate in RATES]
    step = _recipe().step_tokens
    runs = [Run(*at, n, step, rate, seed) for at, rate in SIZES.items() for n in TOKENS]
    return sorted(runs, key=lambda run: run.layers * run.width**2 * run.tokens)


def sweep(wanted: Sequence[Run], done: Sequence[Run], corpus: Path) -> Iterator[Run]:
    known = {run.point for run in done}
    for run in wanted:
        if run.point not in known:
            with _trainer(run, corpus) as trainer:
                trainer.run(measure_share=2.0, quiet=True)
                yield _measured(run, trainer.objective)


def _measured(run: Run, objective: Any) -> Run:
    named = objective.model.named_parameters()
    parameters = sum(p.numel() for name, p in named if ".wte" not in name and ".wpe" not in name)
    return replace(run, parameters=parameters, loss=_loss(objective))


def sweep_noise(done: Sequence[Noisy], corpus: Path, seeds: int) -> Iterator[Noisy]:
    """The noise scale of bundled decoders, and of a decoder at several moments of its training, where not done."""
    known = {(row.model, row.seed) for row in done}
    for slug in checkpoints.first("noise"):
        if (slug, 0) not in known:
            checkpoint = checkpoints.load(slug)
            *_, noise = live(checkpoint)
            yield _row(slug, 0, checkpoint.spec.card.tokens if checkpoint.spec.card else 0, 0.0, noise)
    run = Run(*SWEPT[0], TOKENS[-1], _recipe().step_tokens, SIZES[SWEPT[0]], 0)
    for seed in range(seeds):
        if ("", seed) in known:
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
        yield from rows


def _row(model: str, seed: int, tokens: int, loss: float, noise: Noise) -> Noisy:
    low, high = noise.interval or (0.0, 0.0)
    return Noisy(model, seed, tokens, loss, noise.scale or 0.0, low, high)


def _recipe() -> recipes.Recipe:
    return recipes.load("scaling", recipes.RECIPES / "sweeps")


@contextmanager
def _trainer(run: Run, corpus: Path) -> Iterator[Any]:
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
    with TemporaryDirectory(dir=folder) as own:
        yield Trainer(recipe, build(recipe, corpus, folder / "data"), Path(own))


@torch.no_grad()
def _loss(objective: Any) -> float:
    """Nats per token of held-out windows."""
    nats = [(float(objective.loss(batch)), batch["labels"].numel()) for batch in objective.measured(MEASURED, 16)]
    return float(sum(one * count for one, count in nats) / sum(count for _, count in nats))


def cli_scaling(name: str, corpus: Path, seeds: int) -> None:
    """Run what is missing of a sweep, seed by seed; of ``scaling``, fit what there is."""
    if name == "noise":
        for row in sweep_noise(read(Noisy, name), corpus, seeds):
            append([row], FOLDER / "noise.csv")
            print(row, flush=True)
        return
    for seed in range(seeds):
        for run in sweep(points(name, seed), read(Run, name), corpus):
            append([run], FOLDER / f"{name}.csv")
            print(run, flush=True)
    if name == "scaling":
        (file := FOLDER / "scaling-fits.csv").unlink(missing_ok=True)
        append(fit(read(Run, name)), file)
