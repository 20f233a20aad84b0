"""A whole training run in processes of its own (`tests/runs.py`), killed and taken up."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.training.train import CURVE
from tests import runs

SCRIPT = Path(runs.__file__)
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the runs are forked, which Windows cannot")


def start(folder: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def curve(folder: Path) -> list[dict[str, str]]:
    with (folder / "curve.csv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def test_a_run_that_is_killed_again_and_again_draws_the_same_curve(tmp_path: Path) -> None:
    found = start(tmp_path)
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
