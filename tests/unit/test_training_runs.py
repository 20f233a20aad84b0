"""Whole training runs in processes of their own (`tests/runs.py`): killed and taken up, and two together."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from core.training.trainer import CURVE
from tests import runs

SCRIPT = Path(runs.__file__)
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forked, which Windows cannot")


def start(what: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SCRIPT), what, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def curve(folder: Path) -> list[dict[str, str]]:
    with (folder / "curve.csv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def test_a_run_that_is_killed_again_and_again_draws_the_same_curve(tmp_path: Path) -> None:
    found = start("killed", tmp_path)
    assert found["status"] == 0
    assert found["kills"] == runs.KILLS
    assert found["steps"] == sorted(found["steps"])
    assert 0 < found["steps"][-2] < runs.STEPS == found["steps"][-1]  # it went on, not over
    whole, cut = curve(tmp_path / "whole"), curve(tmp_path / "cut")
    assert len(whole) == len(cut) == 20  # ten measurements of two numbers
    for left, right in zip(whole, cut, strict=True):
        same = [name for name in CURVE if name not in ("minutes", "value")]
        assert [left[name] for name in same] == [right[name] for name in same]
        assert float(right["value"]) == pytest.approx(float(left["value"]), rel=1e-5, abs=1e-4)
    assert len({row["value"] for row in whole}) > 10
    assert sorted(path.name for path in (tmp_path / "cut").iterdir()) == ["curve.csv", "state.pt"]


def by_hand(steps: int) -> tuple[runs.Sometimes, list[float]]:
    """One process that takes the mean of the slopes of two batches a step; AdamW as torch has it."""
    objective = runs.Shared(seed=3)
    model = objective.model
    assert isinstance(model, runs.Sometimes)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if p.ndim != 2]
    adam = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], betas=(0.9, 0.98)
    )
    losses = []
    for step in range(steps):
        for group in adam.param_groups:
            group["lr"] = 0.01 * (1 - step / steps)
        found, total = [], 0.0
        for number in (2 * step, 2 * step + 1):
            loss = objective.loss(objective.batch(number))
            total += float(loss.detach()) / 2
            found.append(torch.autograd.grad(loss, list(model.parameters()), allow_unused=True))
        for parameter, *slopes in zip(model.parameters(), *found, strict=True):
            some = [slope for slope in slopes if slope is not None]
            parameter.grad = sum(some) / 2 if some else None  # type: ignore[assignment]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        losses.append(total)
    return model, losses


def test_two_processes_take_the_mean_of_their_slopes_and_take_up_what_one_of_them_saved(tmp_path: Path) -> None:
    assert start("together", tmp_path)["codes"] == [0, 0, 0, 0]
    told = [
        [json.loads((tmp_path / f"{number}.{rank}.json").read_text(encoding="utf-8")) for rank in (0, 1)]
        for number in (0, 1)
    ]
    model, losses = by_hand(6)
    for rank in (0, 1):
        first, second = told[0][rank], told[1][rank]
        assert (first["rank"], first["resumed"], second["resumed"]) == (rank, False, True)
        assert first["losses"] + second["losses"] == pytest.approx(losses, rel=1e-5)
        for name, value in model.state_dict().items():
            torch.testing.assert_close(torch.tensor(second["weights"][name]), value, rtol=1e-5, atol=1e-6)
        assert second["batches"] == 12
        assert second["tokens"] == 12 * 16 + sum(range(12))  # batch k has 16 + k rows
        assert ("Process 1 has other training data" in second["refused"]) == (rank == 1)
        assert second["seen"] == [f"turn1.{before}" for before in range(rank + 1)]
    # what none of them has a slope for stays, weight decay or not
    untouched = runs.Shared(seed=3).model.state_dict()["never.weight"]
    assert torch.equal(torch.tensor(told[1][1]["weights"]["never.weight"]), untouched)
    assert (tmp_path / "0" / "state.pt").is_file()
    assert not any((tmp_path / "1").iterdir())  # only the main process writes
