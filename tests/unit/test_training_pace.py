"""Speed and time left on a clock that the test moves, and how they are told."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from core.training import pace
from core.training.pace import Pace, Report, duration


def test_speed_and_time_left_follow_the_last_minute() -> None:
    found = Pace(tokens=0, used=0.0)
    assert (found.speed, found.left) == (None, None)
    tokens = 0
    for _ in range(100):  # 1 s and 50 tokens a step, of 100,000
        tokens += 50
        found.step(1.0, tokens, tokens / 100_000)
    assert found.speed == pytest.approx(50.0)
    assert found.left == pytest.approx(95_000 / 50)
    for _ in range(30):  # twice as fast: half of the minute at 50, half at 100
        tokens += 100
        found.step(1.0, tokens, tokens / 100_000)
    assert found.speed == pytest.approx(75.0)
    for _ in range(30):
        tokens += 100
        found.step(1.0, tokens, tokens / 100_000)
    assert found.speed == pytest.approx(100.0)  # the slow start is forgotten
    assert found.left == pytest.approx((100_000 - 11_000) / 100)


def test_an_earlier_run_does_not_count() -> None:
    found = Pace(tokens=900_000, used=0.9)
    found.step(2.0, 900_100, 0.91)
    assert found.speed == pytest.approx(50.0)
    assert found.left == pytest.approx(0.09 / 0.01 * 2.0)


def test_pauses_lengthen_what_is_left_but_not_the_step() -> None:
    found = Pace(tokens=0, used=0.0)
    for step in range(1, 41):
        found.step(1.0, 10 * step, step / 100)
    found.pause(10.0)  # 10 s of measuring in 40 s of training
    assert found.speed == pytest.approx(10.0)
    assert found.left == pytest.approx(60 * 1.25)


def test_a_step_longer_than_the_window_and_many_short_ones() -> None:
    slow = Pace(tokens=0, used=0.0)
    slow.step(300.0, 600, 0.1)
    slow.step(200.0, 1000, 0.2)
    assert slow.speed == pytest.approx(2.0)  # the last step alone
    quick = Pace(tokens=0, used=0.0)
    for step in range(1, 200_001):
        quick.step(0.001, step, step / 1e6)
    assert quick.speed == pytest.approx(1000.0)
    assert len(quick._past) < 100  # not one sample a step


def test_a_budget_that_is_used_up_leaves_nothing() -> None:
    found = Pace(tokens=0, used=0.99)
    found.step(1.0, 10, 1.01)
    assert found.left == 0.0


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (90, "2 min"), (3570, "1 h 00 min"), (7500, "2 h 05 min")],
)
def test_durations_are_told_as_people_do(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_without_a_terminal_there_is_a_line_a_minute(capsys: Any) -> None:
    report, found = Report(False, "toy"), Pace(tokens=0, used=0.0)
    for second in range(1, 131):
        found.step(1.0, 1000 * second, second / 260)
        report.show(float(second), found, 2.5, second, last=second == 130)
    report.close()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("step ")[1].split(",")[0] for line in lines] == ["1", "61", "121", "130"]
    assert lines[-1] == "toy: 50.0 %, loss 2.500, step 130, 0.13M tokens, 1,000 tokens/s, 2 min left"


def test_a_terminal_gets_a_bar_and_quiet_means_quiet(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    Report(True, "toy").show(1.0, Pace(0, 0.0), 1.0, 1, last=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    report, found = Report(False, "toy"), Pace(0, 0.0)
    found.step(4.0, 2_000_000, 0.25)
    report.show(4.0, found, 1.25, 7, last=True)
    report.close()
    told = capsys.readouterr().err
    assert "25 %" in told
    assert "loss 1.250, step 7, 2.00M tokens, 500,000 tokens/s, 12 s left" in told
    assert pace.line(found, 1.25, 7) in told
