"""The numbers of the page of vectors: planes, measures of contextuality, mixes of layers, by hand and at limits."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest

from core.vectors.contextual import (
    anisotropy_baseline,
    draws,
    explained,
    intra_similarity,
    measure,
    repeated,
    self_similarity,
)
from core.vectors.mix import mixed, weights
from core.vectors.occurrences import Words
from core.vectors.plane import Plane, components, planes, steady, tsne

CROSS = np.array([[2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=np.float32)


def test_components_by_hand() -> None:
    found = components(CROSS + 5)  # a shift changes nothing
    assert np.abs(found.points[:, 0]) == pytest.approx([2, 2, 0, 0], abs=1e-9)
    assert found.points.sum(axis=0) == pytest.approx([0, 0], abs=1e-9)
    assert np.abs(found.points[:, 1]) == pytest.approx([0, 0, 1, 1], abs=1e-9)
    assert found.shares == pytest.approx((0.8, 0.2))  # 8 and 2 of 10


def test_one_spot_stays_one_spot() -> None:
    for count in (1, 2, 5):
        found = components(np.full((count, 7), 0.3, dtype=np.float32))
        assert not found.points.any()
        assert found.shares == (0, 0)


def test_the_plane_never_lies_about_being_far() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 20))
    points = components(vectors).points
    for i, j in combinations(range(12), 2):
        assert np.linalg.norm(points[i] - points[j]) <= np.linalg.norm(vectors[i] - vectors[j]) + 1e-9


def test_tsne_keeps_groups_apart_from_any_start() -> None:
    random = np.random.default_rng(2)
    vectors = np.concatenate([random.normal(size=(6, 30)), random.normal(size=(6, 30)) + 20])
    maps = [tsne(vectors, seed) for seed in (0, 1)]
    for found in maps:
        points = found.points
        within = max(np.linalg.norm(points[i] - points[j]) for i, j in combinations(range(6), 2))
        across = min(np.linalg.norm(points[i] - points[j]) for i in range(6) for j in range(6, 12))
        assert across > within
    assert not np.allclose(maps[0].points, maps[1].points)
    assert np.array_equal(tsne(vectors, 1).points, maps[1].points)


def test_too_few_points_for_tsne_are_components() -> None:
    assert tsne(CROSS[:3], 0).shares is not None
    assert tsne(np.ones((6, 3)), 0).shares == (0, 0)


def test_a_plane_lies_as_the_one_before() -> None:
    random = np.random.default_rng(3)
    points = random.normal(size=(8, 2))
    angle = 1.0
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    turned = steady([Plane(points), Plane(points @ turn)], turn=True)
    assert np.allclose(turned[1].points, points)
    mirrored = steady([Plane(points), Plane(points * [-1, 1])], turn=False)
    assert np.allclose(mirrored[1].points, points)


def test_a_plane_for_each_stop() -> None:
    stops = [np.ones((5, 3)), *np.random.default_rng(4).normal(size=(2, 5, 3))]
    assert [plane.shares is not None for plane in planes(stops, None)] == [True, True, True]
    assert [plane.shares is not None for plane in planes(stops, 0)] == [True, False, False]


def test_self_similarity_by_hand() -> None:
    vectors = np.array([[1, 0], [0, 3], [2, 2]], dtype=np.float32)
    root = 0.5**0.5
    assert self_similarity(vectors) == pytest.approx((0 + root + root) / 3)
    assert self_similarity(np.ones((4, 3), dtype=np.float32)) == pytest.approx(1)


def test_within_a_sentence_by_hand() -> None:
    vectors = np.array([[1, 0], [0, 1], [5, 5]], dtype=np.float32)
    assert intra_similarity(vectors, [1, 1, 2]) == pytest.approx([0.5**0.5])  # a sentence of one word says nothing


def test_explained_by_hand() -> None:
    assert explained(np.array([[3, 0], [0, 1]], dtype=np.float32)) == pytest.approx(0.9)
    assert explained(np.outer([1, 2, 3], [1, 1])) == pytest.approx(1)  # one direction, whatever the lengths
    assert explained(np.eye(4)) == pytest.approx(0.25)
    drawn = draws([1, 2, 3, 4, 4], 4)
    assert all(len(set(row)) == 4 and not {3, 4} <= set(row) for row in drawn.tolist())  # one word of each sentence
    assert explained(np.eye(5)[drawn]).mean() == pytest.approx(0.25)


def test_the_baseline_is_of_all_pairs_of_two_sentences() -> None:
    random = np.random.default_rng(5)
    vectors = random.normal(size=(9, 4))
    lines = [1, 1, 1, 2, 2, 3, 3, 3, 3]
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    of = {s: units[[i for i, line in enumerate(lines) if line == s]] for s in (1, 2, 3)}
    by_pair = [(of[s] @ of[t].T).mean() for s, t in permutations(of, 2)]
    assert anisotropy_baseline(vectors, lines) == pytest.approx(np.mean(by_pair))
    assert anisotropy_baseline(vectors[:3], [1, 1, 1]) is None


def made(vectors: np.ndarray, texts: list[str], lines: list[int]) -> Words:  # type: ignore[type-arg]
    nothing = tuple((0, 0) for _ in texts)
    return Words(tuple(texts), tuple(lines), nothing, nothing, vectors.astype(np.float32))


def test_a_word_counts_once_a_sentence_whatever_its_case() -> None:
    found = repeated(made(np.zeros((1, 5, 2)), ["The", "the", "cat", "the", "cat"], [1, 1, 1, 2, 3]), 2)
    assert found == {"cat": [2, 4], "the": [0, 3]}


def test_a_table_that_context_never_changes() -> None:
    texts = ["a", "b"] * 5
    lines = [1 + i // 2 for i in range(10)]
    same = np.tile(np.array([[1.0, 0], [0, 1]]), (5, 1))[None]
    found = measure(made(same, texts, lines))
    assert found.words == (("a", 5), ("b", 5))
    layer = found.layers[0]
    assert layer.self_similarity == pytest.approx(1)
    assert layer.explained == pytest.approx(1)
    assert layer.baseline == pytest.approx(0.5)
    assert layer.corrected("self_similarity") == pytest.approx(0.5)
    assert layer.intra == pytest.approx(0.5**0.5)
    assert found.by_word == ((pytest.approx(0.5),), (pytest.approx(0.5),))


def test_shares_of_a_mix() -> None:
    assert weights([0, 0, 0, 0]) == pytest.approx((0.25,) * 4)
    assert weights([math.log(3), 0]) == pytest.approx((0.75, 0.25))
    assert sum(weights([1000, -1000, 3])) == pytest.approx(1)


def test_a_mix_by_hand() -> None:
    states = np.array([[[2.0, 0.0]], [[0.0, 4.0]]], dtype=np.float32)
    assert mixed(states, [0, 0], 2.0, norm=False).tolist() == [[2, 4]]
    assert mixed(states, [math.log(3), 0], norm=False)[0] == pytest.approx([1.5, 1.0])
    assert mixed(states, [50, -50], norm=False)[0] == pytest.approx([2, 0])
    # both layers normed are (1, -1) and (-1, 1), which even weights cancel
    assert mixed(states, [0, 0])[0] == pytest.approx([0, 0], abs=1e-5)
