"""Positions as numbers: sinusoids, buckets, rotations and slopes, by hand and by what the papers promise of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.vectors.nearest import cosines
from core.vectors.positions import (
    along_distance,
    by_distance,
    pair_angles,
    rotary_cosines,
    rotated,
    sinusoids,
)


def test_sinusoids_by_hand() -> None:
    found = sinusoids(3, 4)
    assert found[0].tolist() == [0, 1, 0, 1]
    # 10000^(-2/4) is 1/100
    assert found[2] == pytest.approx([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)])
    assert sinusoids(3, 4, "halves")[2] == pytest.approx([math.sin(2), math.sin(0.02), math.cos(2), math.cos(0.02)])
    # tensor2tensor ends at 1/10000 itself
    assert sinusoids(2, 4, "tensor2tensor")[1] == pytest.approx(
        [math.sin(1), math.sin(1e-4), math.cos(1), math.cos(1e-4)]
    )


@pytest.mark.parametrize("order", ["paper", "halves", "tensor2tensor"])
def test_sinusoids_know_the_distance_alone(order: str) -> None:
    table = sinusoids(40, 32, order)  # type: ignore[arg-type]
    means, spreads = by_distance(cosines(table, table))
    assert means[0] == pytest.approx(1)
    assert spreads == pytest.approx(np.zeros(40), abs=1e-9)
    if order == "paper":
        assert means[7] == pytest.approx(np.mean([math.cos(7 * 10000 ** (-2 * k / 32)) for k in range(16)]))


def test_by_distance_by_hand() -> None:
    means, spreads = by_distance(np.array([[1, 2, 7], [4, 1, 2], [7, 4, 1]]))
    assert means.tolist() == [1, 3, 7]
    assert spreads.tolist() == [0, 1, 0]


def test_along_distance_tells_left_from_right() -> None:
    means, _ = along_distance(np.array([[0, 2, 5], [3, 0, 4], [9, 5, 0]]))
    assert means.tolist() == [9, 4, 0, 3, 5]  # two to the left, one to the left, ...
    known = np.tril(np.ones((3, 3), dtype=bool))
    means, _ = along_distance(np.array([[0, 2, 5], [3, 0, 4], [9, 5, 0]]), known)
    assert means[:3].tolist() == [9, 4, 0]
    assert np.isnan(means[3:]).all()


def test_rotations_by_hand() -> None:
    assert pair_angles(4) == pytest.approx([1, 0.01])
    # a quarter of a rotation brings the first axis of a pair onto the second
    assert rotated(np.array([1.0, 0.0]), math.pi / 2) == pytest.approx([0, 1], abs=1e-12)
    assert rotated(np.array([1.0, 5.0, 0.0, 7.0]), 1)[[0, 2]] == pytest.approx([math.cos(1), math.sin(1)])


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 300), st.integers(0, 9))
def test_a_score_depends_on_the_distance_alone(s: int, t: int, shift: int, seed: int) -> None:
    q, k = np.random.default_rng(seed).normal(size=(2, 16))
    here, there = rotated(q, s) @ rotated(k, t), rotated(q, s + shift) @ rotated(k, t + shift)
    assert there == pytest.approx(here, abs=1e-8)
    assert here == pytest.approx(q @ rotated(k, t - s), abs=1e-8)
    assert np.linalg.norm(rotated(q, s)) == pytest.approx(np.linalg.norm(q))


def test_cosines_after_rotation() -> None:
    found = rotary_cosines(np.arange(20), 8, 100.0)
    assert found[0] == 1
    vector = np.ones(8)
    for distance in (1, 7, 19):
        cosine = vector @ rotated(vector, distance, 100.0) / 8
        assert found[distance] == pytest.approx(cosine)
