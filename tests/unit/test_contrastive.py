"""Contrastive losses by hand and at their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.objectives import contrastive

ANGLES = st.lists(st.floats(0, 360), min_size=2, max_size=6)


def test_two_pairs_by_hand() -> None:
    """Pairs at 0 and 180 degrees, each text on its image: scores ±1 / τ, so log(1 + e^(-2/τ)) both ways."""
    found = contrastive.image_text([0, 180], [0, 180], 0.5)
    assert found.value == pytest.approx(math.log(1 + math.exp(-4)))
    assert found.similarity == pytest.approx(np.array([[1, -1], [-1, 1]]))
    assert np.abs(found.gradients).max() < 1e-12


def test_nothing_told_apart_costs_the_logarithm_of_the_batch() -> None:
    assert contrastive.image_text([30] * 4, [30] * 4, 0.07).value == pytest.approx(math.log(4))
    # three points at one place: each has two others, its partner one of them
    assert contrastive.supervised([30] * 3, [0, 0, 1]).value == pytest.approx(2 * math.log(2))


@given(ANGLES, st.floats(0.05, 1.0))
def test_a_step_against_the_gradient_lowers_the_loss(angles: list[float], temperature: float) -> None:
    texts = [(angle + 40) % 360 for angle in angles]
    found = contrastive.image_text(angles, texts, temperature)
    moved = contrastive.descend(angles, found.gradients[0], 1e-6)
    assert contrastive.image_text(moved, texts, temperature).value <= found.value + 1e-12
    assert max(abs(a - b) for a, b in zip(angles, moved, strict=True)) <= 1e-6 + 1e-9
    assert found.terms.sum() == pytest.approx(found.value)


@given(ANGLES, st.floats(0.05, 1.0))
def test_turning_everything_changes_nothing(angles: list[float], temperature: float) -> None:
    classes = [i % 2 for i in range(len(angles))]
    found = contrastive.supervised(angles, classes, temperature)
    turned = contrastive.supervised([angle + 77 for angle in angles], classes, temperature)
    assert turned.value == pytest.approx(found.value, abs=1e-8)
    assert found.gradients[0].sum() == pytest.approx(0, abs=1e-8)
