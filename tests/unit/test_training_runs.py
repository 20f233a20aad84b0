"""A whole run in processes of its own (`tests/runs.py`), killed and taken up; its pace as it is told; its precision."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from core.training import optimizers
from core.training.train import Report, Trainer, duration
from tests.runs import Line, toy


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (90, "2 min"), (3570, "1 h 00 min"), (7500, "2 h 05 min")],
)
def test_durations_are_told_as_people_do(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.parametrize("terminal", [False, True])
def test_a_line_a_minute_or_one_kept_up_to_date(
    terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    now = [0.0]
    trainer = Trainer(toy(), Line(), tmp_path, steps=260, clock=lambda: now[0])
    report, quiet = Report(trainer, False), Report(trainer, True)
    for second in range(1, 131):
        now[0] = float(second)
        trainer.progress.step = second
        trainer.progress.tokens += 1000 if second <= 70 else 3000
        for one in (report, quiet):
            one.show([2.0, 3.0], last=second == 130)
    lines = capsys.readouterr().err.replace("\r", "\n").splitlines()
    shown = [*range(1, 131)] if terminal else [1, 61, 121, 130]
    assert [int(line.split("step ")[1].split(",")[0]) for line in lines] == shown
    # the speed is that of the last minute or the last line, the time left that of the whole run
    speed = "3,000" if terminal else f"{(9 * 3000) / 9:,.0f}"
    assert lines[-1].startswith("toy: 50.0 %, loss 2.500, step 130, 0.25M tokens, ")
    assert f"{speed} tokens/s" in lines[-1]
    assert lines[-1].strip().endswith("2 min left")


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
