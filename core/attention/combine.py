"""Maps made of maps: differences, one map for many heads, and attention followed down through the layers.

    mean, maximum       over the heads of a layer; after a maximum rows sum to more than one
    overall             the mean over the heads of all layers
    difference          D = A - B, with a sign
    rollout             R_l = Â_l R_(l-1),  R_0 = 1,  Â = ½ A + ½ 1 with rows summing to one, A the mean over heads
    flow                F_l[i, j] = maximum flow from token i above layer l to token j below layer 1, through a network
                        in which the edge from i above a layer to j below it has the capacity Â[i, j] of that layer

Rollout and flow: Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv:2005.00928. The ½ stands for
the residual connection, which carries a token past the attention. Rollout multiplies along paths and adds them up; flow
is how much gets through where each edge carries no more than its weight.

Every result is an `AttentionMap`, so whatever draws a map draws it. numpy alone, but for `flow`, which needs scipy.
Legend: L layers, H heads, Q query tokens, K key tokens, n tokens of a text with self-attention.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.attention.trace import AttentionMap, Bools, Floats, check_place, frozen, map_note
from core.attention.views.page import computed
from core.errors import InputTooLong, InputUnusable, NoAttentionMatrix
from core.turns import turns

MOST_FOR_FLOW = 32
"""Tokens of a text whose flow is computed: it takes a network of (L + 1)·n nodes and L·n² edges, and n² flows."""

UNITS = 2**28
"""Capacity of an edge of weight one. scipy takes whole 32-bit numbers, so each weight is rounded to 1 / UNITS."""


def part(attention_map: AttentionMap, *, layer: int | None = None, head: int | None = None) -> AttentionMap:
    """One layer, or one head of every layer, or one head: (1 or L, 1 or H, Q, K). From 0.

    Raises:
        OutOfRange: no such layer or head.
    """
    check_place(attention_map, layer, head)
    rows = slice(None) if layer is None else slice(layer, layer + 1)
    columns = slice(None) if head is None else slice(head, head + 1)
    known = _known(attention_map)
    known = known[rows if known.shape[0] > 1 else slice(None), columns if known.shape[1] > 1 else slice(None)]
    return replace(
        attention_map,
        weights=attention_map.weights[rows, columns],
        allowed=_stored(known),
        queries=None if attention_map.queries is None else attention_map.queries[rows, columns],
        keys=None if attention_map.keys is None else attention_map.keys[rows, columns],
    )


def difference(first: AttentionMap, second: AttentionMap) -> AttentionMap:
    """``first`` minus ``second``, between -1 and 1, where both computed a weight; elsewhere 0 and not allowed.

    Layers and heads are taken pair by pair; a map with one of them is taken from all of the other.

    Raises:
        InputUnusable: the tokens, or the numbers of layers and heads, do not fit together.
    """
    if (first.query_tokens, first.key_tokens) != (second.query_tokens, second.key_tokens):
        raise InputUnusable(
            "A difference needs the same tokens in both: these two maps have different ones, perhaps because their "
            "models tokenize the text differently. Compare two heads or layers of one model over one text."
        )
    try:
        weights = np.subtract(first.weights, second.weights, dtype=np.float32)
    except ValueError:
        raise InputUnusable(
            f"These maps have {first.layers} and {second.layers} layers and {first.heads} and {second.heads} heads, so "
            "they cannot be subtracted head by head. Choose one head of each, or their means."
        ) from None
    both = _known(first), _known(second)
    known = both[0] & both[1]
    rows_sum_to_one = not first.note and not second.note and (both[0] == both[1]).all()
    note = map_note("difference of rows" if rows_sum_to_one else "difference")
    return _new(first, weights * known, known, note)


def mean(attention_map: AttentionMap) -> AttentionMap:
    """The mean over the heads of each layer, (L, 1, Q, K); its rows sum to what theirs sum to."""
    weights = attention_map.weights.mean(axis=1, keepdims=True, dtype=np.float32)
    return _new(attention_map, weights, _anywhere(attention_map, (1,)), attention_map.note)


def overall(attention_map: AttentionMap) -> AttentionMap:
    """The mean over all heads of all layers, (1, 1, Q, K); its rows sum to what theirs sum to."""
    weights = attention_map.weights.mean(axis=(0, 1), keepdims=True, dtype=np.float32)
    return _new(attention_map, weights, _anywhere(attention_map, (0, 1)), attention_map.note)


def maximum(attention_map: AttentionMap) -> AttentionMap:
    """The largest weight of any head of each layer, (L, 1, Q, K)."""
    note = map_note("maximum") if attention_map.heads > 1 else attention_map.note
    return _new(attention_map, attention_map.weights.max(axis=1, keepdims=True), _anywhere(attention_map, (1,)), note)


def rollout(attention_map: AttentionMap) -> AttentionMap:
    """Attention rolled out, (L, 1, n, n): above each layer, how much of every token of the input a token holds.

    Rows sum to one. ``allowed`` says what a token can reach through the layers up to this one.

    Raises:
        NoAttentionMatrix: not self-attention over one text.
    """
    steps, opened = _with_residual(attention_map)
    held = np.eye(steps.shape[-1])
    reach = held.astype(np.bool_)
    out, reached = np.empty(steps.shape, np.float32), np.empty(opened.shape, np.bool_)
    for layer, (step, open_) in enumerate(zip(steps, opened, strict=True)):
        out[layer], reached[layer] = held, reach = step @ held, open_ @ reach
    return _new(attention_map, out[:, None], reached[:, None], map_note("rollout"))


def flow(attention_map: AttentionMap, layer: int | None = None) -> AttentionMap:
    """The flow of attention from above ``layer`` (from 0; the last when not given) down to the input, (1, 1, n, n).

    No flow is more than one; rows sum to more than one, because each pair has a flow of its own. Weights are rounded to
    1 / `UNITS`: that moves a flow by at most half of that for each edge that a cut goes through, which for 12 layers
    of 32 tokens is less than 0.00003.

    Raises:
        InputTooLong: more than `MOST_FOR_FLOW` tokens.
        NoAttentionMatrix: not self-attention over one text.
        OutOfRange: no such layer.
    """
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import maximum_flow

    steps, opened = _with_residual(attention_map)
    n = steps.shape[-1]
    if n > MOST_FOR_FLOW:
        raise InputTooLong(
            f"This text has {n:,} tokens; flow is computed for up to {MOST_FOR_FLOW}, because it needs a maximum "
            "flow for every pair of tokens. Use rollout for longer texts."
        )
    check_place(attention_map, layer)
    top = attention_map.layers if layer is None else layer + 1
    # Node l·n + i is token i above layer l; 0 is the input. Edges run down.
    below, upper, lower = np.nonzero(opened[:top])
    capacity = np.rint(steps[below, upper, lower] * UNITS).astype(np.int32)
    size = (top + 1) * n
    network = csr_array(coo_array((capacity, ((below + 1) * n + upper, below * n + lower)), shape=(size, size)))
    weights = np.zeros((1, 1, n, n), np.float32)
    for query in range(n):
        for key in range(n):
            turns.step()
            weights[0, 0, query, key] = maximum_flow(network, top * n + query, key).flow_value / UNITS
    reach = np.eye(n, dtype=np.bool_)
    for open_ in opened[:top]:
        reach = open_ @ reach
    return _new(attention_map, weights, reach[None, None], map_note("flow", layer=top))


def _with_residual(attention_map: AttentionMap) -> tuple[np.ndarray, Bools]:  # type: ignore[type-arg]
    """(L, n, n) the mean over heads with its residual, rows summing to one; and where an edge is."""
    if attention_map.kind not in ("encoder", "decoder") or attention_map.query_tokens != attention_map.key_tokens:
        raise NoAttentionMatrix(
            "Attention flow and rollout need self-attention. Between two texts, or in "
            "XLNet's second stream, the tokens of one layer are not the keys of the next."
        )
    n = len(attention_map.query_tokens)
    same = np.eye(n)
    steps = 0.5 * attention_map.weights.mean(axis=1, dtype=np.float64) + 0.5 * same
    steps /= steps.sum(axis=-1, keepdims=True)
    return steps, np.broadcast_to(_known(attention_map).any(axis=1) | same.astype(np.bool_), steps.shape)


def _known(attention_map: AttentionMap) -> Bools:
    """(L or 1, H or 1, Q, K) where a weight was computed."""
    known = computed(attention_map)
    return np.ones((1, 1, *attention_map.weights.shape[2:]), np.bool_) if known is None else known


def _anywhere(attention_map: AttentionMap, axes: tuple[int, ...]) -> Bools:
    """Where a weight was computed in any of the layers (0) or heads (1)."""
    known: Bools = np.logical_or.reduce(_known(attention_map), axis=axes, keepdims=True)
    return known


def _stored(known: Bools) -> Bools | None:
    """``known`` as a map stores it: None where everything was computed."""
    return None if known.all() else known


def _new(attention_map: AttentionMap, weights: Floats, known: Bools, note: str) -> AttentionMap:
    return replace(attention_map, weights=frozen(weights), allowed=_stored(known), note=note, queries=None, keys=None)
