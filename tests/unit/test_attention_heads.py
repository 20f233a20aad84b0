"""Head scores, maps made of maps, and tables of maps, worked out by hand."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest

from core.attention import combine
from core.attention.heads import HeadSums, is_punctuation, reach, scores
from core.attention.trace import AttentionMap, MapKind
from core.attention.views.export import (
    grids_table,
    head_table,
    map_table,
    matrix_table,
    scores_table,
    strongest_links,
    top_keys,
    vectors_table,
)
from core.errors import InputTooLong, InputUnusable, NoAttentionMatrix, OutOfRange
from core.table import Table


def _map(rows: list[list[float]], kind: MapKind = "encoder", tokens: str = "abc") -> AttentionMap:
    weights = np.array(rows, dtype=np.float32)[None, None]
    queries, keys = weights.shape[2:]
    return AttentionMap(kind, tuple(tokens[:queries]), tuple(tokens[:keys]), weights)


def _score(attention_map: AttentionMap, name: str) -> float:
    return float(scores(attention_map).grids[name][0, 0])


ROWS = [[0.5, 0.3, 0.2], [0.8, 0.1, 0.1], [0.0, 0.6, 0.4]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("self", (0.5 + 0.1 + 0.4) / 3),
        ("previous", (0.8 + 0.6) / 2),
        ("next", (0.3 + 0.1) / 2),
        ("first", (0.8 + 0.0) / 2),
    ],
)
def test_neighbors(name: str, expected: float) -> None:
    assert _score(_map(ROWS), name) == pytest.approx(expected)


def test_even_rows_have_spread_one_and_single_keys_zero() -> None:
    assert _score(_map([[1 / 3] * 3] * 3), "spread") == pytest.approx(1.0)
    assert _score(_map([[0, 1, 0]] * 3), "spread") == 0.0


def test_decoder_rows_are_compared_with_their_allowed_keys() -> None:
    even = _map([[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3], "decoder")
    assert _score(even, "spread") == pytest.approx(1.0)
    assert "next" not in scores(even).grids


def test_special_tokens_count_together_but_for_the_first() -> None:
    weights = np.full((1, 1, 4, 4), 0.25, dtype=np.float32)
    tokens = ("[CLS]", "a", "[SEP]", "[SEP]")
    attention_map = AttentionMap("encoder", tokens, tokens, weights, special_queries=(0, 2, 3), special_keys=(0, 2, 3))
    assert _score(attention_map, "marks") == pytest.approx(0.5)
    assert "marks" not in scores(_map(ROWS)).grids


def test_a_word_that_looks_like_a_special_token_is_a_word() -> None:
    tokens = ("</s>", "␣a", "</s>")
    recomputed = scores(AttentionMap("encoder", tokens, tokens, _map(ROWS).weights))
    assert {"marks", "separators"}.isdisjoint(recomputed.grids)
    assert float(recomputed.grids["same token"][0, 0]) == pytest.approx((0.2 + 0.0) / 2)
    # the model's own end of a text is another token than the letters of it
    recomputed = scores(
        AttentionMap("encoder", tokens, tokens, _map(ROWS).weights, special_queries=(2,), special_keys=(2,))
    )
    assert float(recomputed.grids["marks"][0, 0]) == pytest.approx((0.2 + 0.1 + 0.4) / 3)
    assert "same token" not in recomputed.grids


def test_cross_maps_have_their_own_scores() -> None:
    attention_map = AttentionMap(
        "cross", ("x", "y"), ("a", "b", "c"), np.array([[[ROWS[0], ROWS[1]]]], dtype=np.float32)
    )
    assert list(scores(attention_map).grids) == ["same place", "first", "last", "spread"]
    assert _score(attention_map, "same place") == pytest.approx((0.5 + 0.1) / 2)
    assert _score(attention_map, "last") == pytest.approx((0.2 + 0.1) / 2)


def test_one_token_is_no_trouble() -> None:
    recomputed = scores(_map([[1.0]], "decoder", "a"))
    assert list(recomputed.grids) == ["self", "spread"]
    assert float(recomputed.grids["spread"][0, 0]) == 0.0


def test_strongest_heads_come_in_order() -> None:
    weights = np.zeros((2, 2, 2, 2), dtype=np.float32)
    weights[..., 1, 0] = [[0.1, 0.9], [0.4, 0.2]]
    recomputed = scores(AttentionMap("encoder", ("a", "b"), ("a", "b"), weights))
    best = recomputed.strongest("previous", 2)
    assert [(layer, head) for layer, head, _ in best] == [(0, 1), (1, 0)]
    assert best[0][2] == pytest.approx(0.9)


LEFT = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.1, 0.7, 0.2, 0], [0.1, 0.2, 0.6, 0.1]]


def test_other_copies_of_a_token() -> None:
    attention_map = _map(ROWS, tokens="aba")
    assert _score(attention_map, "same token") == pytest.approx((0.2 + 0.0) / 2)
    assert scores(attention_map).rows["same token"] == 2
    assert "same token" not in scores(_map(ROWS)).grids
    ends = AttentionMap("encoder", ("[SEP]",) * 3, ("[SEP]",) * 3, _map(ROWS).weights, special_keys=(0, 1, 2))
    assert "same token" not in scores(ends).grids


def test_a_decoder_attends_to_earlier_copies_only() -> None:
    assert _score(_map(LEFT, "decoder", "abab"), "same token") == pytest.approx((0.1 + 0.2) / 2)


def test_what_came_after_an_earlier_copy() -> None:
    attention_map = _map(LEFT, "decoder", "abab")
    assert _score(attention_map, "induction") == pytest.approx((0.7 + 0.6) / 2)
    # The second "a" follows the first at once: what came after is the token itself. The third has one of its own.
    assert _score(_map(LEFT, "decoder", "aaab"), "induction") == pytest.approx(0.7)
    assert "induction" not in scores(_map(LEFT, "decoder", "aabc")).grids
    assert "induction" not in scores(_map(ROWS, tokens="aba")).grids


def test_punctuation_is_told_by_its_characters() -> None:
    assert [is_punctuation(label) for label in ("␣,", "##.", ".", "a", "␣", "##", "[SEP]", "...", "‹f0 9f›", "")] == [
        True,
        True,
        True,
        False,
        False,
        True,
        False,
        True,
        False,
        False,
    ]
    tokens = ("␣a", "␣,", ".")
    attention_map = AttentionMap("encoder", tokens, tokens, _map(ROWS).weights)
    assert _score(attention_map, "punctuation") == pytest.approx((0.5 + 0.2 + 1.0) / 3)
    # A decoder's first row sees no punctuation yet.
    attention_map = AttentionMap("decoder", tokens, tokens, _map([[1, 0, 0], [0.8, 0.2, 0], [0.3, 0.6, 0.1]]).weights)
    assert _score(attention_map, "punctuation") == pytest.approx((0.2 + 0.7) / 2)


def test_separators_are_shown_where_they_are_not_all_the_marks() -> None:
    tokens = ("a", "<sep>", "<cls>")
    attention_map = AttentionMap("encoder", tokens, tokens, _map(ROWS).weights, special_keys=(1, 2))
    assert _score(attention_map, "separators") == pytest.approx((0.3 + 0.1 + 0.6) / 3)
    assert _score(attention_map, "marks") == pytest.approx((0.5 + 0.2 + 1.0) / 3)
    tokens = ("[CLS]", "a", "[SEP]")
    attention_map = AttentionMap("encoder", tokens, tokens, _map(ROWS).weights, special_keys=(0, 2))
    assert "separators" not in scores(attention_map).grids
    sums = HeadSums()
    sums.add(attention_map)
    assert float(sums.scores().grids["separators"][0, 0]) == pytest.approx((0.2 + 0.1 + 0.4) / 3)


def test_several_texts_are_a_mean_over_all_their_rows() -> None:
    sums = HeadSums()
    sums.add(_map(ROWS))
    sums.add(_map([[0.5, 0.5], [0.2, 0.8]]))
    scores = sums.scores()
    assert float(scores.grids["previous"][0, 0]) == pytest.approx((0.8 + 0.6 + 0.2) / 3)
    assert scores.rows["previous"] == 3
    assert scores.rows["spread"] == 5


def test_a_query_stream_is_scored_from_its_own_positions() -> None:
    weights = np.zeros((1, 1, 2, 4), dtype=np.float32)
    weights[0, 0] = [[1, 0, 0, 0], [0, 0.5, 0, 0.5]]  # "a" looks at [CLS], "b" at "a" and [SEP]
    allowed = np.array([[1, 0, 0, 1], [1, 1, 0, 1]], dtype=np.bool_)
    recomputed = scores(AttentionMap("query", ("a", "b"), ("[CLS]", "a", "b", "[SEP]"), weights, allowed))
    assert "self" not in recomputed.grids
    assert recomputed.grids["previous"][0, 0] == pytest.approx(0.75)
    assert recomputed.grids["first"][0, 0] == pytest.approx(0.5)
    assert recomputed.grids["spread"][0, 0] == pytest.approx(np.log(2) / np.log(3) / 2)


def test_reach_by_hand() -> None:
    weights = np.zeros((3, 2, 6, 6), dtype=np.float32)
    weights[:, :, np.arange(6), np.arange(6)] = 1.0  # all look at themselves
    weights[1, 0, 5, 3] = 0.1
    weights[1, 1, 4, 3] = 0.1
    weights[2, 1, 5, 0] = 1e-30
    assert reach(weights) == (0, 2, 5)
    assert reach(np.ones((1, 1, 1, 1), dtype=np.float32)) == (0,)


def _stack(weights: Any, kind: MapKind = "encoder", **more: Any) -> AttentionMap:
    array = np.array(weights, dtype=np.float32)
    names = ("a", "b", "c", "d")
    return AttentionMap(kind, names[: array.shape[2]], names[: array.shape[3]], array, **more)


# One head a layer. Half of it is the residual: layer 1 becomes ((1, 0), (.25, .75)), layer 2 ((.6, .4), (.5, .5)).
TWO = [[[[1.0, 0.0], [0.5, 0.5]]], [[[0.2, 0.8], [1.0, 0.0]]]]


def test_rollout_multiplies_the_layers() -> None:
    rolled = combine.rollout(_stack(TWO))
    assert rolled.weights.shape == (2, 1, 2, 2)
    np.testing.assert_allclose(rolled.weights[0, 0], [[1, 0], [0.25, 0.75]], atol=1e-7)
    # .6 · 1 + .4 · .25 = .7 and .4 · .75 = .3; .5 · 1 + .5 · .25 = .625 and .5 · .75 = .375
    np.testing.assert_allclose(rolled.weights[1, 0], [[0.7, 0.3], [0.625, 0.375]], atol=1e-7)


def test_rollout_takes_the_mean_of_the_heads_and_makes_rows_whole() -> None:
    # The mean is ((.5, .5), (.2, .2)); with the residual ((.75, .25), (.1, .6)), of which the second row sums to .7.
    rolled = combine.rollout(_stack([[[[1.0, 0.0], [0.4, 0.0]], [[0.0, 1.0], [0.0, 0.4]]]]))
    np.testing.assert_allclose(rolled.weights[0, 0], [[0.75, 0.25], [1 / 7, 6 / 7]], atol=1e-6)


def test_flow_is_as_wide_as_the_narrowest_edge() -> None:
    flowing = combine.flow(_stack(TWO))
    assert flowing.weights.shape == (1, 1, 2, 2)
    # a to a: min(.6, 1) + min(.4, .25); a to b: min(.6, 0) + min(.4, .75); b to a: .5 + min(.5, .25); b to b: .5
    np.testing.assert_allclose(flowing.weights[0, 0], [[0.85, 0.4], [0.75, 0.5]], atol=1e-7)
    np.testing.assert_allclose(combine.flow(_stack(TWO), layer=0).weights[0, 0], [[1, 0], [0.25, 0.75]], atol=1e-7)


def test_what_a_token_can_reach_grows_with_the_layers() -> None:
    # Each token sees itself and the one before it.
    band = np.tri(3, dtype=bool) & ~np.tri(3, k=-2, dtype=bool)
    weights = np.broadcast_to(band / band.sum(1, keepdims=True), (2, 1, 3, 3))
    rolled = combine.rollout(_stack(weights, "decoder", allowed=band))
    assert not rolled.computed(0, 0)[2, 0]
    assert rolled.computed(1, 0)[2, 0]
    assert not rolled.computed(1, 0)[0, 1]
    flowing = combine.flow(_stack(weights, "decoder", allowed=band))
    assert (flowing.computed(0, 0) == np.tri(3, dtype=bool)).all()


def test_what_cannot_be_followed_is_said() -> None:
    for kind in ("cross", "query"):
        with pytest.raises(NoAttentionMatrix, match="need self-attention"):
            combine.rollout(_stack(TWO, kind))  # type: ignore[arg-type]
    long = AttentionMap("encoder", ("a",) * 33, ("a",) * 33, np.full((1, 1, 33, 33), 1 / 33, np.float32))
    with pytest.raises(InputTooLong, match="33 tokens"):
        combine.flow(long)
    with pytest.raises(OutOfRange, match="no layer 3"):
        combine.flow(_stack(TWO), layer=2)


def test_difference_has_a_sign_and_a_position() -> None:
    full = _stack([[[[0.25, 0.75], [0.5, 0.5]]]])
    difference = combine.difference(full, _stack([[[[0.5, 0.5], [0.5, 0.5]]]]))
    np.testing.assert_allclose(difference.weights[0, 0], [[-0.25, 0.25], [0, 0]])
    assert difference.allowed is None
    assert difference.note.endswith("Every row sums to zero.")
    causal = combine.difference(full, _stack([[[[1.0, 0.0], [0.5, 0.5]]]], "decoder"))
    np.testing.assert_allclose(causal.weights[0, 0], [[-0.75, 0], [0, 0]])
    assert causal.computed(0, 0).tolist() == [[True, False], [True, True]]
    assert "sums to zero" not in causal.note


def test_what_does_not_fit_together_is_said() -> None:
    attention_map = _stack(TWO)
    other = AttentionMap("encoder", ("x", "y"), ("x", "y"), attention_map.weights)
    with pytest.raises(InputUnusable, match="the same tokens"):
        combine.difference(attention_map, other)
    with pytest.raises(InputUnusable, match="2 layers of 1 head, the other 3 layers"):
        combine.difference(attention_map, _stack(np.repeat(attention_map.weights[:1], 3, 0)))
    with pytest.raises(OutOfRange, match="no head 2"):
        combine.part(attention_map, head=1)


def test_mean_and_maximum_over_heads() -> None:
    attention_map = _stack([[[[1.0, 0.0], [0.5, 0.5]], [[0.2, 0.8], [0.0, 1.0]]]])
    np.testing.assert_allclose(combine.mean(attention_map).weights, [[[[0.6, 0.4], [0.25, 0.75]]]], atol=1e-7)
    np.testing.assert_allclose(combine.maximum(attention_map).weights, [[[[1.0, 0.8], [0.5, 1.0]]]], atol=1e-7)
    assert "more than one" in combine.maximum(attention_map).note


def test_results_are_read_only() -> None:
    attention_map = _stack(TWO)
    for made in (
        combine.rollout(attention_map),
        combine.mean(attention_map),
        combine.difference(attention_map, attention_map),
        combine.flow(attention_map),
    ):
        assert not made.weights.flags.writeable


WEIGHTS = np.array([[[[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.2, 0.5, 0.3]]]], dtype=np.float32)
FOUND = AttentionMap("decoder", ("a", ",", '"c"'), ("a", ",", '"c"'), WEIGHTS)


def test_top_keys_are_ordered_and_masked_ones_are_empty() -> None:
    rows = top_keys(FOUND, 0, 0, 2)
    assert rows[0] == {"#": 1, "token": "a", "key 1": "a", "weight 1": 1.0, "key 2": None, "weight 2": None}
    assert (rows[1]["key 1"], rows[1]["weight 1"], rows[1]["key 2"], rows[1]["weight 2"]) == (",", 0.75, "a", 0.25)
    assert (rows[2]["key 1"], rows[2]["key 2"]) == (",", '"c"')


def test_what_was_not_computed_is_told_apart_from_zero() -> None:
    allowed = np.tri(3, dtype=np.bool_)[None, None]
    attention_map = AttentionMap("decoder", FOUND.query_tokens, FOUND.key_tokens, WEIGHTS, allowed)
    rows = list(csv.reader(io.StringIO(head_table(attention_map, 0, 0).csv())))
    assert rows[1][1:] == ["1", "", ""]
    assert rows[2][1:] == ["0.25", "0.75", ""]


def test_strongest_links_are_the_largest_weights() -> None:
    weights = np.array([[[[0.1, 0.9], [0.7, 0.3]]]], dtype=np.float32)
    attention_map = AttentionMap("encoder", ("a", "b"), ("a", "b"), weights)
    assert strongest_links(attention_map, 0, 0, 3) == [
        (0, 1, pytest.approx(0.9)),
        (1, 0, pytest.approx(0.7)),
        (1, 1, pytest.approx(0.3)),
    ]
    alone = AttentionMap("encoder", ("a", "b"), ("a", "b"), np.eye(2, dtype=np.float32)[None, None])
    assert len(strongest_links(alone, 0, 0)) == 2  # never a zero


def test_all_heads_as_lines_leave_out_what_was_not_computed() -> None:
    weights = np.array([[[[1, 0], [0.25, 0.75]]]], dtype=np.float32)
    attention_map = AttentionMap("decoder", ("a", 'b"'), ("a", 'b"'), weights, np.tri(2, dtype=np.bool_)[None, None])
    assert _cells(map_table(attention_map)) == [
        ["layer", "head", "query", "query token", "key", "key token", "weight"],
        ["1", "1", "1", "a", "1", "a", "1"],
        ["1", "1", "2", 'b"', "1", "a", "0.25"],
        ["1", "1", "2", 'b"', "2", 'b"', "0.75"],
    ]


def _cells(table: Table) -> list[list[str]]:
    return list(csv.reader(io.StringIO(table.csv())))


def _rows(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.csv())))


def test_some_layers_and_heads_alone_are_written() -> None:
    weights = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 2, 2) / 24
    attention_map = AttentionMap("encoder", ("a", "b"), ("a", "b"), weights)
    rows = _rows(map_table(attention_map, [1], [0, 2]))
    assert [(row["layer"], row["head"]) for row in rows] == 4 * [("2", "1")] + 4 * [("2", "3")]
    np.testing.assert_allclose([float(row["weight"]) for row in rows], weights[1, [0, 2]].ravel(), atol=1e-6)


def test_queries_times_keys_by_hand() -> None:
    queries = np.array([[[[1, 2, 0, 0], [0, 0, 3, -1]]]], dtype=np.float32)
    keys = np.array([[[[2, 1, 5, 5], [0, -3, 1, 1]]]], dtype=np.float32)
    weights = np.array([[[[1, 0], [0.25, 0.75]]]], dtype=np.float32)
    below = np.tri(2, dtype=np.bool_)
    attention_map = AttentionMap("decoder", ("a", '"'), ("a", '"'), weights, below, queries=queries, keys=keys)
    rows = _rows(scores_table(attention_map, 0, 0))
    # What follows the query was not computed, so three pairs are left: 2 + 2, 15 - 5, 3 - 1; the width's root is 2.
    assert [(row["query token"], row["key token"]) for row in rows] == [("a", "a"), ('"', "a"), ('"', '"')]
    assert [float(row["q·k"]) for row in rows] == [4, 10, 2]
    assert [float(row["q·k / √d"]) for row in rows] == [2, 5, 1]
    assert [float(row["weight"]) for row in rows] == [1, 0.25, 0.75]
    vectors = _rows(vectors_table(attention_map, 0, 0))
    assert [(row["vector"], row["#"]) for row in vectors] == [(name, n) for name in ("query", "key") for n in "12"]
    assert [float(vectors[3][str(i)]) for i in (1, 2, 3, 4)] == [0, -3, 1, 1]


def test_a_matrix_and_grids_are_empty_where_nothing_is_finite() -> None:
    values = np.array([[0.5, np.nan], [np.inf, -np.inf]], dtype=np.float32)
    again = matrix_table("token", ["the", "cat", "the"], ["the", "cat", "the"], np.arange(9.0).reshape(3, 3))
    heads, *rows = _cells(again)
    assert heads == ["token", "the", "cat", "the"], "a token that returns is a column"
    assert rows == [["the", "0", "1", "2"], ["cat", "3", "4", "5"], ["the", "6", "7", "8"]]
    assert again.keyed()["the (2)"] == [2.0, 5.0, 8.0]
    safe = matrix_table("token", ["a", "=b"], ["=c", 2], values)
    assert _cells(safe) == [["token", "'=c", "2"], ["a", "0.5", ""], ["'=b", "", ""]]
    grid = np.array([[0.5, np.nan]], dtype=np.float32)
    grids = grids_table({"previous": grid, "first": grid + 1})
    assert _cells(grids) == [["layer", "head", "previous", "first"], ["1", "1", "0.5", "1.5"], ["1", "2", "", ""]]
