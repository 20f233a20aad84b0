"""The numbers of the page of vectors: planes, contextuality, mixes of layers and positions, by hand and at limits."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.vectors.contextual import (
    anisotropy_baseline,
    draws,
    explained,
    intra_similarity,
    measure,
    repeated,
    self_similarity,
)
from core.vectors.mix import mix_layers, weights
from core.vectors.nearest import cosines
from core.vectors.occurrences import Words
from core.vectors.plane import Plane, align_planes, components, planes, tsne
from core.vectors.positions import (
    along_distance,
    by_distance,
    pair_angles,
    rotary_cosines,
    rotated,
    sinusoids,
)

CROSS = np.array([[2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0]], dtype=np.float32)


def test_components_by_hand() -> None:
    plane = components(CROSS + 5)  # a shift changes nothing
    assert np.abs(plane.points[:, 0]) == pytest.approx([2, 2, 0, 0], abs=1e-9)
    assert plane.points.sum(axis=0) == pytest.approx([0, 0], abs=1e-9)
    assert np.abs(plane.points[:, 1]) == pytest.approx([0, 0, 1, 1], abs=1e-9)
    assert plane.shares == pytest.approx((0.8, 0.2))  # 8 and 2 of 10


def test_one_spot_stays_one_spot() -> None:
    for count in (1, 2, 5):
        plane = components(np.full((count, 7), 0.3, dtype=np.float32))
        assert not plane.points.any()
        assert plane.shares == (0, 0)


def test_the_plane_never_lies_about_being_far() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 20))
    points = components(vectors).points
    for i, j in combinations(range(12), 2):
        assert np.linalg.norm(points[i] - points[j]) <= np.linalg.norm(vectors[i] - vectors[j]) + 1e-9


def test_tsne_keeps_groups_apart_from_any_start() -> None:
    random = np.random.default_rng(2)
    vectors = np.concatenate([random.normal(size=(6, 30)), random.normal(size=(6, 30)) + 20])
    maps = [tsne(vectors, seed) for seed in (0, 1)]
    for attention_map in maps:
        points = attention_map.points
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
    turned = align_planes([Plane(points), Plane(points @ turn)], rotate=True)
    assert np.allclose(turned[1].points, points)
    mirrored = align_planes([Plane(points), Plane(points * [-1, 1])], rotate=False)
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
    by_text = repeated(made(np.zeros((1, 5, 2)), ["The", "the", "cat", "the", "cat"], [1, 1, 1, 2, 3]), 2)
    assert by_text == {"cat": [2, 4], "the": [0, 3]}


def test_a_table_that_context_never_changes() -> None:
    texts = ["a", "b"] * 5
    lines = [1 + i // 2 for i in range(10)]
    same = np.tile(np.array([[1.0, 0], [0, 1]]), (5, 1))[None]
    measures = measure(made(same, texts, lines))
    assert measures.words == (("a", 5), ("b", 5))
    layer = measures.layers[0]
    assert layer.self_similarity == pytest.approx(1)
    assert layer.explained == pytest.approx(1)
    assert layer.baseline == pytest.approx(0.5)
    assert layer.corrected("self_similarity") == pytest.approx(0.5)
    assert layer.intra == pytest.approx(0.5**0.5)
    assert measures.by_word == ((pytest.approx(0.5),), (pytest.approx(0.5),))


def test_shares_of_a_mix() -> None:
    assert weights([0, 0, 0, 0]) == pytest.approx((0.25,) * 4)
    assert weights([math.log(3), 0]) == pytest.approx((0.75, 0.25))
    assert sum(weights([1000, -1000, 3])) == pytest.approx(1)


def test_a_mix_by_hand() -> None:
    states = np.array([[[2.0, 0.0]], [[0.0, 4.0]]], dtype=np.float32)
    assert mix_layers(states, [0, 0], 2.0, norm=False).tolist() == [[2, 4]]
    assert mix_layers(states, [math.log(3), 0], norm=False)[0] == pytest.approx([1.5, 1.0])
    assert mix_layers(states, [50, -50], norm=False)[0] == pytest.approx([2, 0])
    # both layers normed are (1, -1) and (-1, 1), which even weights cancel
    assert mix_layers(states, [0, 0])[0] == pytest.approx([0, 0], abs=1e-5)


def test_sinusoids_by_hand() -> None:
    encodings = sinusoids(3, 4)
    assert encodings[0].tolist() == [0, 1, 0, 1]
    # 10000^(-2/4) is 1/100
    assert encodings[2] == pytest.approx([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)])
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
    allowed = np.tril(np.ones((3, 3), dtype=bool))
    means, _ = along_distance(np.array([[0, 2, 5], [3, 0, 4], [9, 5, 0]]), allowed)
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
    cosines = rotary_cosines(np.arange(20), 8, 100.0)
    assert cosines[0] == 1
    vector = np.ones(8)
    for distance in (1, 7, 19):
        cosine = vector @ rotated(vector, distance, 100.0) / 8
        assert cosines[distance] == pytest.approx(cosine)
