"""Head scores on maps small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.attention.heads import HeadSums, is_punctuation, reach, scores, specials
from core.attention.trace import AttentionMap, MapKind


def _map(rows: list[list[float]], kind: MapKind = "encoder", tokens: str = "abc") -> AttentionMap:
    weights = np.array(rows, dtype=np.float32)[None, None]
    queries, keys = weights.shape[2:]
    return AttentionMap(kind, tuple(tokens[:queries]), tuple(tokens[:keys]), weights)


def _score(found: AttentionMap, name: str) -> float:
    return float(scores(found).grids[name][0, 0])


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
def test_neighbours(name: str, expected: float) -> None:
    assert _score(_map(ROWS), name) == pytest.approx(expected)


def test_even_rows_have_spread_one_and_single_keys_zero() -> None:
    assert _score(_map([[1 / 3] * 3] * 3), "spread") == pytest.approx(1.0)
    assert _score(_map([[0, 1, 0]] * 3), "spread") == 0.0


def test_decoder_rows_are_compared_with_the_keys_they_may_see() -> None:
    even = _map([[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3], "decoder")
    assert _score(even, "spread") == pytest.approx(1.0)
    assert "next" not in scores(even).grids


def test_special_tokens_count_together_but_for_the_first() -> None:
    weights = np.full((1, 1, 4, 4), 0.25, dtype=np.float32)
    tokens = ("[CLS]", "a", "[SEP]", "[SEP]")
    assert _score(AttentionMap("encoder", tokens, tokens, weights), "marks") == pytest.approx(0.5)
    assert "marks" not in scores(_map(ROWS)).grids


def test_cross_maps_have_their_own_scores() -> None:
    found = AttentionMap("cross", ("x", "y"), ("a", "b", "c"), np.array([[[ROWS[0], ROWS[1]]]], dtype=np.float32))
    assert list(scores(found).grids) == ["same place", "first", "last", "spread"]
    assert _score(found, "same place") == pytest.approx((0.5 + 0.1) / 2)
    assert _score(found, "last") == pytest.approx((0.2 + 0.1) / 2)


def test_one_token_is_no_trouble() -> None:
    found = scores(_map([[1.0]], "decoder", "a"))
    assert list(found.grids) == ["self", "spread"]
    assert float(found.grids["spread"][0, 0]) == 0.0


def test_strongest_heads_come_in_order() -> None:
    weights = np.zeros((2, 2, 2, 2), dtype=np.float32)
    weights[..., 1, 0] = [[0.1, 0.9], [0.4, 0.2]]
    found = scores(AttentionMap("encoder", ("a", "b"), ("a", "b"), weights))
    best = found.strongest("previous", 2)
    assert [(layer, head) for layer, head, _ in best] == [(0, 1), (1, 0)]
    assert best[0][2] == pytest.approx(0.9)


LEFT = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.1, 0.7, 0.2, 0], [0.1, 0.2, 0.6, 0.1]]


def test_other_copies_of_a_token() -> None:
    found = _map(ROWS, tokens="aba")
    assert _score(found, "same token") == pytest.approx((0.2 + 0.0) / 2)
    assert scores(found).rows["same token"] == 2
    assert "same token" not in scores(_map(ROWS)).grids
    assert "same token" not in scores(AttentionMap("encoder", ("[SEP]",) * 3, ("[SEP]",) * 3, _map(ROWS).weights)).grids


def test_a_decoder_sees_earlier_copies_only() -> None:
    assert _score(_map(LEFT, "decoder", "abab"), "same token") == pytest.approx((0.1 + 0.2) / 2)


def test_what_came_after_an_earlier_copy() -> None:
    found = _map(LEFT, "decoder", "abab")
    assert _score(found, "induction") == pytest.approx((0.7 + 0.6) / 2)
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
    found = AttentionMap("encoder", tokens, tokens, _map(ROWS).weights)
    assert _score(found, "punctuation") == pytest.approx((0.5 + 0.2 + 1.0) / 3)
    # A decoder's first row sees no punctuation yet.
    found = AttentionMap("decoder", tokens, tokens, _map([[1, 0, 0], [0.8, 0.2, 0], [0.3, 0.6, 0.1]]).weights)
    assert _score(found, "punctuation") == pytest.approx((0.2 + 0.7) / 2)


def test_separators_are_shown_where_they_are_not_all_the_marks() -> None:
    tokens = ("a", "<sep>", "<cls>")
    found = AttentionMap("encoder", tokens, tokens, _map(ROWS).weights)
    assert _score(found, "separators") == pytest.approx((0.3 + 0.1 + 0.6) / 3)
    assert _score(found, "marks") == pytest.approx((0.5 + 0.2 + 1.0) / 3)
    tokens = ("[CLS]", "a", "[SEP]")
    found = AttentionMap("encoder", tokens, tokens, _map(ROWS).weights)
    assert "separators" not in scores(found).grids
    sums = HeadSums()
    sums.add(found)
    assert float(sums.scores().grids["separators"][0, 0]) == pytest.approx((0.2 + 0.1 + 0.4) / 3)


def test_several_texts_are_a_mean_over_all_their_rows() -> None:
    sums = HeadSums()
    sums.add(_map(ROWS))
    sums.add(_map([[0.5, 0.5], [0.2, 0.8]]))
    found = sums.scores()
    assert float(found.grids["previous"][0, 0]) == pytest.approx((0.8 + 0.6 + 0.2) / 3)
    assert found.rows["previous"] == 3
    assert found.rows["spread"] == 5


def test_a_query_stream_is_scored_from_its_own_places() -> None:
    weights = np.zeros((1, 1, 2, 4), dtype=np.float32)
    weights[0, 0] = [[1, 0, 0, 0], [0, 0.5, 0, 0.5]]  # "a" looks at [CLS], "b" at "a" and [SEP]
    allowed = np.array([[1, 0, 0, 1], [1, 1, 0, 1]], dtype=np.bool_)
    found = scores(AttentionMap("query", ("a", "b"), ("[CLS]", "a", "b", "[SEP]"), weights, allowed))
    assert "self" not in found.grids
    assert found.grids["previous"][0, 0] == pytest.approx(0.75)
    assert found.grids["first"][0, 0] == pytest.approx(0.5)
    assert found.grids["spread"][0, 0] == pytest.approx(np.log(2) / np.log(3) / 2)


def test_the_language_that_a_text_opens_with_is_special() -> None:
    assert specials(("__en__", "▁The", "en_XX", "cat", "__init__", "</s>", "<unk>")) == (0, 2, 5)


def test_reach_by_hand() -> None:
    weights = np.zeros((3, 2, 6, 6), dtype=np.float32)
    weights[:, :, np.arange(6), np.arange(6)] = 1.0  # all look at themselves
    weights[1, 0, 5, 3] = 0.1
    weights[1, 1, 4, 3] = 0.1
    weights[2, 1, 5, 0] = 1e-30
    assert reach(weights) == (0, 2, 5)
    assert reach(np.ones((1, 1, 1, 1), dtype=np.float32)) == (0,)
