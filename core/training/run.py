"""Starts, resumes and ships a training run; what the command line calls."""

from __future__ import annotations

import shutil
from pathlib import Path

from core.training import recipe as recipes
from core.training.objectives import build
from core.training.trainer import Trainer

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / "var" / "training"
SHIPPED = ROOT / "assets" / "checkpoints"


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

    Args:
        recipe: name of a file in ``assets/recipes``.
        corpus: folder of the training text.
        minutes: planned training time instead of the recipe's.
        threads: torch threads; torch's own choice by default.
        state: folder of the training state (default ``var/training/<recipe>``).
        output: folder of the finished checkpoint (default ``assets/checkpoints/<slug>``).
        fresh: start over, dropping the saved state.

    Returns:
        The checkpoint's folder.
    """
    import dataclasses

    import torch

    chosen = recipes.load(recipe)
    if minutes is not None:
        chosen = dataclasses.replace(chosen, minutes=minutes)
    if threads is not None:
        torch.set_num_threads(threads)
    folder = state or STATE / recipe
    if fresh and folder.exists():
        shutil.rmtree(folder)
    trainer = Trainer(chosen, build(chosen, corpus, folder / "data"), folder)
    if trainer.resume():
        print(f"Resuming {recipe} at step {trainer.progress.step}, {trainer.progress.minutes:.1f} minutes in.")
    trainer.run()
    target = output or SHIPPED / chosen.slug
    trainer.objective.export(target)
    shutil.copyfile(folder / "curve.csv", target / "curve.csv")
    return target
