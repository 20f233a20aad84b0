"""The sweeps of `core.costs.trained`: a decoder by size and text, or by batch and rate; and its gradient noise.

One recipe, ``assets/recipes/sweeps/scaling.toml``, whose size, tokens, batch, rate and seed a point replaces. A run
reads random windows of the corpus, none twice, and its loss is that of the same held-out windows. The windows that runs
of seed 0 read first come with the Atlas, so that a page can repeat such a run (`repeat`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from core import checkpoints
from core.costs.trained import BATCHES, FOLDER, NOISY, RATES, SIZES, SWEPT, TOKENS, Noisy, Run, fit, read
from core.efficiency.noise import Noise, live, measure
from core.efficiency.timing import Progress
from core.training import recipe as recipes
from core.training.files import append
from core.training.objective import Batch
from core.training.objectives import build
from core.training.objectives.causal import CausalModel, NextToken
from core.training.tokens import Ints
from core.training.train import STATE, Trainer
from core.turns import turns

MEASURED = 300
"""Held-out windows for a loss."""
WINDOWS = FOLDER / "windows.npz"
SHOWN = 20
"""Steps of a repeated run of which one is told."""
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


def repeat(run: Run, tell: Progress) -> Run:
    """A run of seed 0 once more: the same batches, so the same loss up to rounding."""
    with _trainer(run, None) as trainer:
        while (used := trainer.used()) < 1:
            if trainer.progress.step % SHOWN == 0:
                tell(used, f"{trainer.progress.tokens:,} tokens")
            turns.step()
            trainer.update()  # no dropout, so nothing random
        return _measured(run, trainer.objective)


def _measured(run: Run, objective: Any) -> Run:
    named = objective.model.named_parameters()
    parameters = sum(p.numel() for name, p in named if ".wte" not in name and ".wpe" not in name)
    return replace(run, parameters=parameters, loss=_loss(objective))


class _Stored(NextToken):
    """The windows of :data:`WINDOWS`, each (width + 1) tokens, in the order in which seed 0 reads them."""

    def read(self) -> None:
        with np.load(WINDOWS) as stored:
            self.train, self.test, (self.vocabulary, self.end) = stored["train"], stored["test"], stored["tokenizer"]
        self.width = self.train.shape[1] - 1

    def new_model(self) -> Any:
        return CausalModel(self.recipe.model, int(self.vocabulary), int(self.end))

    def epoch(self, rng: np.random.Generator) -> list[Ints]:
        return self.full_batches(np.arange(len(self.train)))

    def windows(self, tokens: Ints, starts: Ints) -> Batch:
        ids = torch.from_numpy(tokens[starts].astype(np.int64))
        return {"ids": ids[:, :-1], "labels": ids[:, 1:]}

    def measured(self, most: int, rows: int) -> Iterator[Batch]:
        return (self.windows(self.test, at) for at in np.array_split(np.arange(len(self.test)), len(self.test) // rows))

    def measure(self) -> dict[str, float]:
        return {"loss": _loss(self)}


def store_windows(corpus: Path) -> None:
    """Write what `repeat` reads."""
    run = Run(*SWEPT[0], max(TOKENS), _recipe().step_tokens, SIZES[SWEPT[0]], 0)
    with _trainer(run, corpus) as trainer:
        own = trainer.objective
        size = own.tokenizer.get_vocab_size(), own.model.full.config.bos_token_id
        steps = -(-run.tokens // run.batch)
        sides = [own.batch(step) for step in range(steps)], list(own.measured(MEASURED, 16))
    train, test = (
        torch.cat([torch.cat([batch["ids"], batch["labels"][:, -1:]], dim=1) for batch in side])
        .numpy()
        .astype("uint16")
        for side in sides
    )
    np.savez_compressed(WINDOWS, train=train, test=test, tokenizer=np.array(size))


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
def _trainer(run: Run, corpus: Path | None) -> Iterator[Any]:
    """The trainer of a run, whose state goes with it; without a corpus on the stored windows."""
    base = _recipe()
    recipe = replace(
        base,
        seed=run.seed,
        tokens=run.tokens,
        step_tokens=run.batch,
        model=base.model | {"n_layer": run.layers, "n_embd": run.width, "n_head": run.width // 16},
        optimizer=base.optimizer | {"rate": run.rate},
    )
    if corpus is None:
        with TemporaryDirectory() as own:
            with torch.random.fork_rng(devices=[]):  # visitors share torch's generator
                trainer = Trainer(recipe, _Stored(recipe, Path(), Path(own)), Path(own))
            yield trainer
        return
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
    if not WINDOWS.is_file():
        store_windows(corpus)
    for seed in range(seeds):
        for run in sweep(points(name, seed), read(Run, name), corpus):
            append([run], FOLDER / f"{name}.csv")
            print(run, flush=True)
    if name == "scaling":
        (file := FOLDER / "scaling-fits.csv").unlink(missing_ok=True)
        append(fit(read(Run, name)), file)
