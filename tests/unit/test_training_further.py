"""Going on from a finished checkpoint: its weights, its position in the text, and what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch

from core.training.objectives import Objective, build
from core.training.recipe import Recipe
from core.training.state import FurtherError, adopt, go_on
from core.training.train import Progress, Trainer
from tests import tinyrecipes

OPTIMIZER = {"rate": 5e-3, "warmup": 0.1, "bfloat16": False}


def run(recipe: Recipe, tokens: int, corpus: Path, folder: Path) -> Trainer:
    """A trainer with this budget, whose objective has random weights."""
    wanted = dataclasses.replace(recipe, tokens=tokens, optimizer=OPTIMIZER)
    return Trainer(wanted, build(wanted, corpus, folder / "data"), folder / f"state-{tokens}")


def finished(trainer: Trainer, out: Path) -> Path:
    """The checkpoint of a run that has come to its end, with its curve."""
    trainer.run(quiet=True, measure_share=0.5)
    trainer.objective.export(out)
    (out / "curve.csv").write_bytes((trainer.folder / "curve.csv").read_bytes())
    return out


def take_up(trainer: Trainer, folder: Path) -> None:
    rows = go_on(trainer.recipe, trainer.objective, folder)
    trainer.progress = Progress(step=rows[-1][1], tokens=rows[-1][0], minutes=rows[-1][2], curve=rows)


def loss(objective: Objective) -> float:
    with torch.no_grad():
        return float(objective.loss(objective.batch(0)))


def test_a_finished_run_goes_on_with_its_weights_where_its_curve_ends(
    tiny_world: tuple[Path, Path], tmp_path: Path
) -> None:
    first = run(tinyrecipes.recipe("atlas-transformer-xl"), 2400, tiny_world[0], tmp_path)
    folder = finished(first, tmp_path / "out")
    then = run(tinyrecipes.recipe("atlas-transformer-xl"), 4800, tiny_world[0], tmp_path)
    assert loss(then.objective) != pytest.approx(loss(first.objective), abs=0.1)
    take_up(then, folder)
    assert loss(then.objective) == pytest.approx(loss(first.objective), abs=0.005)  # float16
    assert then.used() == 0.5
    before = then.progress.step
    losses = then.run(quiet=True, measure_share=0.5)
    assert before + len(losses) == then.progress.step == 20
    marks = [row[0] for row in then.progress.curve]
    assert marks == sorted(marks)
    assert [row for row in then.progress.curve if row[0] <= 2400] == first.progress.curve
    assert marks[-1] == then.progress.tokens >= 4800


def test_what_cannot_go_on_is_told(tiny_world: tuple[Path, Path], tmp_path: Path) -> None:
    recipe = tinyrecipes.recipe("atlas-llama")
    folder = finished(run(recipe, 1024, tiny_world[0], tmp_path), tmp_path / "out")
    with pytest.raises(FurtherError, match="there is nothing to go on with"):
        take_up(run(recipe, 1024, tiny_world[0], tmp_path), folder)
    with pytest.raises(FurtherError, match="holds no checkpoint"):
        take_up(run(recipe, 4096, tiny_world[0], tmp_path), tmp_path)
    (tmp_path / "curve.csv").write_text("steps,loss\n3,1.5\n", encoding="utf-8")
    with pytest.raises(FurtherError, match="holds no checkpoint"):
        take_up(run(recipe, 4096, tiny_world[0], tmp_path), tmp_path)
    other = dataclasses.replace(recipe, data=recipe.data | {"vocabulary": 299})
    with pytest.raises(FurtherError, match="tokenizer"):
        take_up(run(other, 4096, tiny_world[0], tmp_path), folder)
    with pytest.raises(FurtherError, match="it holds 0"):
        adopt(torch.nn.Linear(2, 2), folder)
