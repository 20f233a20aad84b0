"""The study of labeled examples: sizes, one model after another, and whether the stored runs are complete."""

from __future__ import annotations

import pytest

from core.finetuning.examples import ready
from core.studies import results
from core.table import measured
from lab import curve
from tests.unit.test_finetuning import LINES, parse, tiny_bert

SEEDS = 10


def test_sizes_have_one_example_of_each_class_at_least() -> None:
    assert curve.sizes(ready("topic")) == curve.SIZES
    assert curve.sizes(parse(LINES)) == (5, 8)


def test_a_seed_has_a_curve_from_both_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve, "STEPS", 1)
    points = list(curve.measure(tiny_bert(), "cats", parse(LINES), 2))
    assert [(point.examples, point.pretrained) for point in points] == [(5, 1), (5, 0), (8, 1), (8, 0)]
    assert {(point.set, point.seed) for point in points} == {("cats", 2)}


def test_the_stored_runs_are_complete() -> None:
    stored = measured(results("examples"), curve.FineTuned)
    assert list(curve.runs(stored, None, SEEDS)) == []
    assert {(point.set, point.examples, point.pretrained, point.seed) for point in stored} == {
        (name, size, start, seed)
        for name in curve.SETS
        for size in curve.sizes(ready(name))
        for start in (0, 1)
        for seed in range(SEEDS)
    }
