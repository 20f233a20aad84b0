"""Maps made of maps, by hand: two layers of two tokens, and the limit cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.attention import combine
from core.attention.trace import AttentionMap, MapKind
from core.errors import InputTooLong, InputUnusable, NoAttentionMatrix, OutOfRange


def _map(weights: Any, kind: MapKind = "encoder", **more: Any) -> AttentionMap:
    array = np.array(weights, dtype=np.float32)
    names = ("a", "b", "c", "d")
    return AttentionMap(kind, names[: array.shape[2]], names[: array.shape[3]], array, **more)


# One head a layer. Half of it is the residual: layer 1 becomes ((1, 0), (.25, .75)), layer 2 ((.6, .4), (.5, .5)).
TWO = [[[[1.0, 0.0], [0.5, 0.5]]], [[[0.2, 0.8], [1.0, 0.0]]]]


def test_rollout_multiplies_the_layers() -> None:
    rolled = combine.rollout(_map(TWO))
    assert rolled.weights.shape == (2, 1, 2, 2)
    np.testing.assert_allclose(rolled.weights[0, 0], [[1, 0], [0.25, 0.75]], atol=1e-7)
    # .6 · 1 + .4 · .25 = .7 and .4 · .75 = .3; .5 · 1 + .5 · .25 = .625 and .5 · .75 = .375
    np.testing.assert_allclose(rolled.weights[1, 0], [[0.7, 0.3], [0.625, 0.375]], atol=1e-7)


def test_rollout_takes_the_mean_of_the_heads_and_makes_rows_whole() -> None:
    # The mean is ((.5, .5), (.2, .2)); with the residual ((.75, .25), (.1, .6)), of which the second row sums to .7.
    rolled = combine.rollout(_map([[[[1.0, 0.0], [0.4, 0.0]], [[0.0, 1.0], [0.0, 0.4]]]]))
    np.testing.assert_allclose(rolled.weights[0, 0], [[0.75, 0.25], [1 / 7, 6 / 7]], atol=1e-6)


def test_flow_is_as_wide_as_the_narrowest_edge() -> None:
    flowing = combine.flow(_map(TWO))
    assert flowing.weights.shape == (1, 1, 2, 2)
    # a to a: min(.6, 1) + min(.4, .25); a to b: min(.6, 0) + min(.4, .75); b to a: .5 + min(.5, .25); b to b: .5
    np.testing.assert_allclose(flowing.weights[0, 0], [[0.85, 0.4], [0.75, 0.5]], atol=1e-7)
    np.testing.assert_allclose(combine.flow(_map(TWO), layer=0).weights[0, 0], [[1, 0], [0.25, 0.75]], atol=1e-7)


def test_what_a_token_can_reach_grows_with_the_layers() -> None:
    # Each token sees itself and the one before it.
    band = np.tri(3, dtype=bool) & ~np.tri(3, k=-2, dtype=bool)
    weights = np.broadcast_to(band / band.sum(1, keepdims=True), (2, 1, 3, 3))
    rolled = combine.rollout(_map(weights, "decoder", allowed=band))
    assert not rolled.computed(0, 0)[2, 0]
    assert rolled.computed(1, 0)[2, 0]
    assert not rolled.computed(1, 0)[0, 1]
    flowing = combine.flow(_map(weights, "decoder", allowed=band))
    assert (flowing.computed(0, 0) == np.tri(3, dtype=bool)).all()


def test_what_cannot_be_followed_is_said() -> None:
    for kind in ("cross", "query"):
        with pytest.raises(NoAttentionMatrix, match="need self-attention"):
            combine.rollout(_map(TWO, kind))  # type: ignore[arg-type]
    long = AttentionMap("encoder", ("a",) * 33, ("a",) * 33, np.full((1, 1, 33, 33), 1 / 33, np.float32))
    with pytest.raises(InputTooLong, match="33 tokens"):
        combine.flow(long)
    with pytest.raises(OutOfRange, match="no layer 3"):
        combine.flow(_map(TWO), layer=2)


def test_difference_has_a_sign_and_a_place() -> None:
    full = _map([[[[0.25, 0.75], [0.5, 0.5]]]])
    found = combine.difference(full, _map([[[[0.5, 0.5], [0.5, 0.5]]]]))
    np.testing.assert_allclose(found.weights[0, 0], [[-0.25, 0.25], [0, 0]])
    assert found.allowed is None
    assert found.note.endswith("Every row sums to zero.")
    causal = combine.difference(full, _map([[[[1.0, 0.0], [0.5, 0.5]]]], "decoder"))
    np.testing.assert_allclose(causal.weights[0, 0], [[-0.75, 0], [0, 0]])
    assert causal.computed(0, 0).tolist() == [[True, False], [True, True]]
    assert "sums to zero" not in causal.note


def test_what_does_not_fit_together_is_said() -> None:
    found = _map(TWO)
    other = AttentionMap("encoder", ("x", "y"), ("x", "y"), found.weights)
    with pytest.raises(InputUnusable, match="the same tokens"):
        combine.difference(found, other)
    with pytest.raises(InputUnusable, match="2 and 3 layers"):
        combine.difference(found, _map(np.repeat(found.weights[:1], 3, 0)))
    with pytest.raises(OutOfRange, match="no head 2"):
        combine.part(found, head=1)


def test_mean_and_maximum_over_heads() -> None:
    found = _map([[[[1.0, 0.0], [0.5, 0.5]], [[0.2, 0.8], [0.0, 1.0]]]])
    np.testing.assert_allclose(combine.mean(found).weights, [[[[0.6, 0.4], [0.25, 0.75]]]], atol=1e-7)
    np.testing.assert_allclose(combine.maximum(found).weights, [[[[1.0, 0.8], [0.5, 1.0]]]], atol=1e-7)
    assert "more than one" in combine.maximum(found).note


def test_results_are_read_only() -> None:
    found = _map(TWO)
    for made in (combine.rollout(found), combine.mean(found), combine.difference(found, found), combine.flow(found)):
        assert not made.weights.flags.writeable
