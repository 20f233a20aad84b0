"""The study of labeled examples: sizes, one model after another, and whether the stored runs are complete."""

from __future__ import annotations

import pytest

from core.finetuning.examples import ready
from core.studies import results
from core.table import measured
from lab import curve
from tests.unit.test_finetuning import LINES, parse, tiny_bert


def test_sizes_have_one_example_of_each_class_at_least() -> None:
    assert curve.sizes(ready("topic")) == curve.SIZES
    assert curve.sizes(parse(LINES)) == (5, 8)


def test_a_curve_is_measured_seed_by_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "STEPS", 1)
    points = list(curve.measure(tiny_bert(), "cats", parse(LINES), 2))
    assert [(point.examples, point.pretrained, point.seed) for point in points[:4]] == [
        (5, 1, 0),
        (5, 0, 0),
        (8, 1, 0),
        (8, 0, 0),
    ]
    assert {(point.set, point.seed) for point in points} == {("cats", 0), ("cats", 1)}


def test_the_stored_runs_are_complete() -> None:
    points = {(p.set, p.examples, p.pretrained, p.seed) for p in measured(results("examples"), curve.Point)}
    assert points == {
        (name, size, start, seed)
        for name in curve.SETS
        for size in curve.sizes(ready(name))
        for start in (0, 1)
        for seed in range(curve.SEEDS)
    }
