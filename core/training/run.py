"""Starts, resumes and ships a training run; what the command line calls."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from pathlib import Path

from core.checkpoints.registry import bundled_root
from core.training import card, processes
from core.training import corpus as corpora
from core.training import recipe as recipes
from core.training.evaluate import cli_evaluate
from core.training.files import StorageError, replacing_folder, room_for
from core.training.further import take_up
from core.training.objectives import Objective, build
from core.training.processes import Alone
from core.training.recipe import Recipe
from core.training.trainer import Diverged, Interrupted, Trainer

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "var" / "training"


def cli_train(
    recipe: str,
    corpus: Path,
    *,
    minutes: float | None = None,
    threads: int | None = None,
    state: Path | None = None,
    output: Path | None = None,
    fresh: bool = False,
    further: bool = False,
) -> Path:
    """Trains a recipe to the end of its budget and writes the checkpoint; takes up an interrupted run by itself.

    A checkpoint in its own place is measured, and its card states the numbers. A finished run is only written again.
    A recipe without a card is a stage of another one: its weights stay beside its state, in ``out``.

    Args:
        recipe: name of a file in ``assets/recipes``.
        corpus: folder of the training text.
        minutes: planned training time instead of the recipe's.
        threads: torch threads; torch's own choice by default.
        state: folder of the training state (default ``var/training/<recipe>``).
        output: folder of the finished checkpoint (default: its place among the bundled ones).
        fresh: start over, dropping the saved state.
        further: where no state is saved, go on from the bundled checkpoint (`core.training.further`).

    Returns:
        The checkpoint's folder.

    Raises:
        AtlasError: corpus or recipe cannot be used, the disk is full, the saved state does not fit, a number is not
            finite, or a signal asked to stop; the sentence says what to do. The last good state is kept.
    """
    import torch

    chosen = recipes.load(recipe)
    corpora.check(corpus, chosen.sources)
    if minutes is not None:
        chosen = dataclasses.replace(chosen, minutes=minutes, tokens=0)
    together = processes.join()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        return _train(chosen, corpus, together, state or STATE / recipe, output, fresh, further)
    except (Diverged, Interrupted) as error:
        if together.main:
            raise
        raise SystemExit(1) from error  # every process knows; one sentence is enough
    except KeyboardInterrupt as error:
        raise Interrupted(
            "Interrupted at once. The same command goes on from the last saved state, or begins where there is none."
        ) from error
    finally:
        together.leave()


def _train(
    recipe: Recipe, corpus: Path, together: Alone, folder: Path, output: Path | None, fresh: bool, further: bool
) -> Path:
    def objective() -> Objective:
        if fresh and together.main and folder.exists():
            shutil.rmtree(folder)
        with room_for(folder):
            return build(recipe, corpus, folder / "data")

    made = together.in_turn(objective)
    if together.count > 1:
        together.compare(fingerprint(made))
    trainer = Trainer(recipe, made, folder, processes=together)
    resumed = trainer.resume()
    if further and not resumed:
        take_up(trainer, bundled_root() / recipe.slug)
    done = trainer.progress
    if resumed and together.main:
        print(f"Resuming {recipe.slug} at step {done.step:,}, {done.minutes:.1f} minutes in.", flush=True)
    trainer.run()
    target = output or (bundled_root() / recipe.slug if recipe.card else folder / "out")
    if not together.main:
        return target
    try:
        _ship(trainer, corpus, folder, target)
    except StorageError as error:
        message = (
            f"{error} Training is finished and saved: once there is room, the same command only writes the result."
        )
        raise StorageError(message) from error
    return target


def fingerprint(objective: Objective) -> bytes:
    """Digest of the first batch: equal where corpus, tokeniser and seed are."""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(objective.batch(0).items()):
        digest.update(name.encode() + value.numpy().tobytes())
    return digest.digest()


def _ship(trainer: Trainer, corpus: Path, folder: Path, target: Path) -> None:
    """Writes the checkpoint in one step, then measures it where it is a bundled one."""
    recipe, done = trainer.recipe, trainer.progress
    with replacing_folder(target) as fresh:
        trainer.objective.export(fresh)
        shutil.copyfile(folder / "curve.csv", fresh / "curve.csv")
        if recipe.card:
            card.write(fresh, recipe, steps=done.step, tokens=done.tokens)
    if recipe.card and target == bundled_root() / recipe.slug:
        found = cli_evaluate(recipe.slug, corpus)
        card.write(target, recipe, steps=done.step, tokens=done.tokens, measures=found)
