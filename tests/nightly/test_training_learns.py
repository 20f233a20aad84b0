"""Every recipe learns on a tiny corpus; and a run in processes of its own that is killed again and again."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab import recipe as recipes
from lab.train import CURVE, Trainer
from tests import runs, tinyrecipes
from tests.unit.test_induction import learns_to_copy

GROWN = {"minilm", "atlas-bert2bert"}
"""They start from a model that learned as much of the tiny corpus as there is to learn, or hold most of it fixed."""


RANDOM = {"atlas-bert-pairs", "atlas-albert-pairs"}
RANDOM |= {"atlas-bert-spans", "atlas-bert-unified", "atlas-bert-orders"}
"""Their encoders are frozen: a random one tells its head nothing, and a random head cannot be read."""


@pytest.mark.parametrize("seed", [1, 2])
def test_two_layers_learn_to_copy_from_other_weights(seed: int) -> None:
    assert learns_to_copy(seed)


@pytest.mark.parametrize("name", sorted({*recipes.available()} - RANDOM))
def test_it_learns(name: str, tiny_world: tuple[Path, Path], tmp_path: Path) -> None:
    optimizer = {"rate": 1e-2, "warmup": 0.1, "bfloat16": False}
    recipe = tinyrecipes.recipe(name, optimizer=optimizer)
    trainer = Trainer(recipe, tinyrecipes.objective(recipe, *tiny_world), tmp_path, steps=80)
    before = trainer.measure()
    losses = trainer.run(quiet=True, measure_share=0.5)
    assert np.mean(losses[-20:]) < (1.0 if name in GROWN else 0.97) * np.mean(losses[:10])
    after = trainer.measure()
    assert trainer.measure() == after
    for key in before:
        if key.startswith(("loss", "bits")) and name not in GROWN:
            assert after[key] < before[key], key


def curve(folder: Path) -> list[dict[str, str]]:
    with (folder / "curve.csv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forked, which Windows cannot")
def test_a_run_that_is_killed_repeatedly_has_the_same_curve(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, runs.__file__, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert result["status"] == 0
    assert result["kills"] == runs.KILLS
    assert result["steps"] == sorted(result["steps"])
    assert 0 < result["steps"][-2] < runs.STEPS == result["steps"][-1]  # it went on, not over
    full, cut = curve(tmp_path / "whole"), curve(tmp_path / "cut")
    assert len(full) == len(cut) == 20  # ten measurements of two numbers
    for left, right in zip(full, cut, strict=True):
        same = [name for name in CURVE if name not in ("minutes", "value")]
        assert [left[name] for name in same] == [right[name] for name in same]
        assert float(right["value"]) == pytest.approx(float(left["value"]), rel=1e-5, abs=1e-4)
    assert len({row["value"] for row in full}) > 10
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == ["curve.csv", "state.pt"]
