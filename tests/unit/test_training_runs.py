"""A whole run in processes of its own (`tests/runs.py`), killed and taken up; its pace as it is told; its precision."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

from core.training import optimizers
from core.training.train import Trainer
from tests.runs import Line, toy


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_one_line_in_a_terminal_and_lines_elsewhere(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    Trainer(toy(), Line(), tmp_path, steps=40).run()
    shown = capsys.readouterr().err
    assert "toy: 0.0 %" in shown
    assert re.search(r"toy: 100\.0 %, loss \d+\.\d{3}, step 40, 00:0\d elapsed, 00:00 left", shown)
    assert (shown.count("\n") == 1) == terminal
    Trainer(toy(), Line(), tmp_path / "quiet", steps=40).run(quiet=True)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("has", "wanted", "used"),
    [(True, True, torch.bfloat16), (False, True, torch.float32), (True, False, torch.float32)],
)
def test_products_are_in_bfloat16_where_it_is_had_and_wanted(
    monkeypatch: pytest.MonkeyPatch, has: bool, wanted: bool, used: torch.dtype
) -> None:
    monkeypatch.setattr(optimizers, "on_cpu", lambda: has)
    with optimizers.mixed("cpu", wanted=wanted):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is used
