"""GLUE's metrics by hand."""

from __future__ import annotations

import pytest

from core.content import content
from core.errors import AtlasError
from core.language import metrics
from core.ui.training.glue import parse


def test_the_metrics_by_hand() -> None:
    truth, predicted = [1, 1, 1, 0, 0, 1], [1, 1, 0, 1, 0, 1]  # TP 3, FN 1, FP 1, TN 1
    assert metrics.accuracy(truth, predicted) == pytest.approx(4 / 6)
    assert metrics.f1(truth, predicted) == pytest.approx(6 / 8)
    assert metrics.matthews(truth, predicted) == pytest.approx((3 * 1 - 1 * 1) / (4 * 4 * 2 * 2) ** 0.5)
    assert metrics.matthews(truth, [1] * 6) == 0
    assert metrics.f1([0, 0], [0, 0]) == 0
    assert metrics.pearson([1, 2, 3], [2, 4, 9]) == pytest.approx(7 / (2 * 26) ** 0.5)
    assert metrics.spearman([1, 2, 3, 4], [1, 10, 100, 1000]) == pytest.approx(1)
    assert metrics.spearman([1, 2, 3, 3], [4, 3, 1, 1]) == pytest.approx(-1)
    assert metrics.pearson([1, 2], [3, 3]) is None


@pytest.mark.parametrize("text", ["", "1 0", "1 0 2", "1 0 x", "1 0 -1", "1 0 1 1"])
def test_predictions_that_do_not_fit_get_a_sentence(text: str) -> None:
    assert parse("1, 0 1", 3, 2) == [1, 0, 1]
    assert parse("1.5 5 0", 3, 0) == [1.5, 5, 0]
    with pytest.raises(AtlasError):
        parse(text, 3, 2)


def test_every_task_has_its_examples_and_a_wrong_prediction() -> None:
    front = content("training", "glue").front
    assert [task["title"] for task in front["tasks"]] == [row[0] for row in front["rows"]]
    for task in front["tasks"]:
        numbers = [(right, predicted) for _, _, right, predicted in task["examples"]]
        assert any(a != b for a, b in numbers)
        assert not task["classes"] or {a for a, _ in numbers} == set(range(len(task["classes"])))
