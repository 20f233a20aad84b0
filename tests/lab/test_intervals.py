"""Numbers with their intervals, from the measurement to the row of a card."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from core.checkpoints.spec import Measure, wilson
from lab import measures, recipe
from lab.objective import Sampled, Share, of_card
from lab.objectives.electra import error_of_area


def test_a_bootstrapped_share_has_nearly_wilsons_interval() -> None:
    answers = np.repeat([0, 100], [300, 100])
    sampled = measures.bootstrap(answers, np.ones(400))
    assert (float(sampled), sampled.n) == (25.0, 400)
    assert (sampled.low, sampled.high) == pytest.approx([100 * end for end in wilson(100, 400)], abs=0.5)


def test_a_ratio_without_spread_has_no_width() -> None:
    counts = np.array([1.0, 2.0, 3.0])
    sampled = measures.bootstrap(2 * counts, counts)
    assert (sampled.low, sampled, sampled.high) == (2.0, 2.0, 2.0)


def test_bleu_has_the_interval_of_its_sentences() -> None:
    good, bad = "the cat slept on the warm chair", "he ate a dog with green hats"
    outputs = [good] * 20 + [bad] * 20
    scores = measures.translation(outputs, [[good]] * 40)
    for score in scores.values():
        assert isinstance(score, Sampled)
        assert score.n == 40
        assert 5 < score - score.low == pytest.approx(score.high - score, abs=3), "40 sentences leave it uncertain"
    perfect = measures.translation([good] * 40, [[good]] * 40)["BLEU"]
    assert isinstance(perfect, Sampled)
    assert (perfect.low, perfect.high) == pytest.approx((100, 100))


def test_the_error_of_an_area() -> None:
    """Without a difference it is that of the Mann-Whitney statistic; of one pair, that of a coin."""
    assert error_of_area(0.5, 51, 58) == pytest.approx(math.sqrt((51 + 58 + 1) / (12 * 51 * 58)))
    assert error_of_area(0.8, 1, 1) == pytest.approx(0.4)
    assert error_of_area(1.0, 51, 58) == 0.0


def test_a_card_keeps_trials_and_ends(tmp_path: Path) -> None:
    rows = [
        of_card("top-1", Share(1, 3), "%", "three words"),
        of_card("BLEU", Sampled(48.4321, 400, 45.1111, 51.7), "", "400 sentences"),
        of_card("bits per byte", 1.3, "bits", "a story"),
    ]
    recipe.write_card(tmp_path, recipe.load("atlas-bert"), steps=1, tokens=2, measures=rows)
    written = tomllib.loads((tmp_path / "card.toml").read_text(encoding="utf-8"))["measures"]
    assert [Measure(**row) for row in written] == rows
    assert written[1]["low"] == 45.11
    assert "n" not in written[2]
