"""Noise of training texts, and the errors that are left."""

from __future__ import annotations

import pytest

from core.language.noise import NOISES, RATES
from lab.evaluate_pairs import error_rate
from lab.objectives.denoise import MOST, sample_noise

TEXT = "An owl, which I know, sleeps in the old Barn."


def test_kinds_are_sampled_evenly_and_rates_up_to_twice_their_default() -> None:
    samples = [sample_noise("abcdefgh" * 40, seed) for seed in range(700)]
    for kind in NOISES:
        assert 60 < sum(drew == kind for _, drew in samples) < 140
    left = [len(text) / 320 for text, kind in samples if kind == "drop"]
    assert 1 - MOST * RATES["drop"] - 0.07 < min(left) < 0.9 < max(left)
    assert {sample_noise(TEXT, seed, kinds=("upper",))[0] for seed in range(9)} == {TEXT.upper()}


def test_edits_by_hand() -> None:
    assert error_rate([["kitten", "ab"]], ["sitting", "ab"]) == pytest.approx(100 * 3 / 9)
    assert error_rate([["kitten", "ab"], ["sitting", "b"]], ["sitting", "ab"]) == pytest.approx(100 * 2 / 9)
