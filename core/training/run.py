"""Starts, resumes and ships a training run; what the command line calls."""

from __future__ import annotations

import shutil
from pathlib import Path

from core.checkpoints.registry import bundled_root
from core.training import card
from core.training import recipe as recipes
from core.training.evaluate import cli_evaluate
from core.training.objectives import build
from core.training.trainer import Trainer

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

    Returns:
        The checkpoint's folder.
    """
    import dataclasses

    import torch

    chosen = recipes.load(recipe)
    if minutes is not None:
        chosen = dataclasses.replace(chosen, minutes=minutes, tokens=0)
    if threads is not None:
        torch.set_num_threads(threads)
    folder = state or STATE / recipe
    if fresh and folder.exists():
        shutil.rmtree(folder)
    trainer = Trainer(chosen, build(chosen, corpus, folder / "data"), folder)
    if trainer.resume():
        print(f"Resuming {recipe} at step {trainer.progress.step}, {trainer.progress.minutes:.1f} minutes in.")
    trainer.run()
    target = output or (bundled_root() / chosen.slug if chosen.card else folder / "out")
    trainer.objective.export(target)
    shutil.copyfile(folder / "curve.csv", target / "curve.csv")
    if not chosen.card:
        return target
    done = trainer.progress
    card.write(target, chosen, steps=done.step, tokens=done.tokens)
    if target == bundled_root() / chosen.slug:
        found = cli_evaluate(chosen.slug, corpus)
        card.write(target, chosen, steps=done.step, tokens=done.tokens, measures=found)
    return target
