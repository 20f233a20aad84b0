"""Maps computed from maps: differences, means and maxima over heads, attention rollout and flow.

    mean, maximum       over the heads of a layer; after a maximum rows sum to more than one
    overall             the mean over the heads of all layers
    difference          D = A - B, with a sign
    rollout             R_l = Â_l R_(l-1),  R_0 = 1,  Â = ½ A + ½ 1 with rows summing to one, A the mean over heads
    flow                F_l[i, j] = maximum flow from token i above layer l to token j below layer 1, through a network
                        in which the edge from i above a layer to j below it has the capacity Â[i, j] of that layer

Rollout and flow: Abnar & Zuidema 2020, "Quantifying Attention Flow in Transformers", arXiv:2005.00928. The ½ stands for
the residual connection. Rollout multiplies weights along paths and sums over paths; flow limits each edge to its
weight.

Every result is an `AttentionMap`. Only `flow` needs scipy.
Legend: L layers, H heads, Q query tokens, K key tokens, n tokens of a text with self-attention.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.arrays import Bools, Floats
from core.attention.trace import AttentionMap, check_head, frozen, map_note
from core.attention.views.export import computed
from core.errors import InputTooLong, InputUnusable, NoAttentionMatrix
from core.turns import turns
from core.words import counted

MOST_FOR_FLOW = 32
"""The most tokens for flow, which takes a network of (L + 1)·n nodes and L·n² edges, and n² maximum flows."""

UNITS = 2**28
"""Capacity of an edge of weight one. scipy takes 32-bit integers, so each weight is rounded to 1 / UNITS."""


def part(attention_map: AttentionMap, *, layer: int | None = None, head: int | None = None) -> AttentionMap:
    """One layer, or one head of every layer, or one head: (1 or L, 1 or H, Q, K). From 0.

    Raises:
        OutOfRange: no such layer or head.
    """
    check_head(attention_map, layer, head)
    rows = slice(None) if layer is None else slice(layer, layer + 1)
    columns = slice(None) if head is None else slice(head, head + 1)
    mask = _known(attention_map)
    mask = mask[rows if mask.shape[0] > 1 else slice(None), columns if mask.shape[1] > 1 else slice(None)]
    return replace(
        attention_map,
        weights=attention_map.weights[rows, columns],
        allowed=_stored(mask),
        queries=None if attention_map.queries is None else attention_map.queries[rows, columns],
        keys=None if attention_map.keys is None else attention_map.keys[rows, columns],
    )


def difference(first: AttentionMap, second: AttentionMap) -> AttentionMap:
    """``first`` minus ``second``, between -1 and 1, where both have a weight; elsewhere 0 and not allowed.

    Layers and heads are paired; a map with a single one is broadcast.

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
            f"One map has {counted(first.layers, 'layer')} of {counted(first.heads, 'head')}, the other "
            f"{counted(second.layers, 'layer')} of {counted(second.heads, 'head')}, so they cannot be subtracted head "
            "by head. Choose one head of each, or their means."
        ) from None
    both = _known(first), _known(second)
    mask = both[0] & both[1]
    rows_sum_to_one = not first.note and not second.note and (both[0] == both[1]).all()
    note = map_note("difference of rows" if rows_sum_to_one else "difference")
    return _new(first, weights * mask, mask, note)


def mean(attention_map: AttentionMap) -> AttentionMap:
    """The mean over the heads of each layer, (L, 1, Q, K); the sums of rows are unchanged."""
    weights = attention_map.weights.mean(axis=1, keepdims=True, dtype=np.float32)
    return _new(attention_map, weights, _anywhere(attention_map, (1,)), attention_map.note)


def overall(attention_map: AttentionMap) -> AttentionMap:
    """The mean over all heads of all layers, (1, 1, Q, K); the sums of rows are unchanged."""
    weights = attention_map.weights.mean(axis=(0, 1), keepdims=True, dtype=np.float32)
    return _new(attention_map, weights, _anywhere(attention_map, (0, 1)), attention_map.note)


def maximum(attention_map: AttentionMap) -> AttentionMap:
    """The largest weight of any head of each layer, (L, 1, Q, K)."""
    note = map_note("maximum") if attention_map.heads > 1 else attention_map.note
    return _new(attention_map, attention_map.weights.max(axis=1, keepdims=True), _anywhere(attention_map, (1,)), note)


def rollout(attention_map: AttentionMap) -> AttentionMap:
    """Attention rollout (L, 1, n, n): the share of each input token in each token after each layer.

    Rows sum to one. ``allowed`` is the receptive field through the layers up to this one.

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
    """Attention flow (1, 1, n, n) from after ``layer`` (from 0; by default the last) down to the input.

    A flow is at most one; rows sum to more than one, because each pair has its own flow. Rounding weights to 1 /
    `UNITS` changes a flow by at most half of that per edge of a cut: for 12 layers of 32 tokens less than 0.00003.

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
    check_head(attention_map, layer)
    top = attention_map.layers if layer is None else layer + 1
    # Node l·n + i is token i above layer l; 0 is the input. Edges run down.
    below, upper, lower = np.nonzero(opened[:top])
    capacity = np.rint(steps[below, upper, lower] * UNITS).astype(np.int32)
    size = (top + 1) * n
    network = csr_array(coo_array((capacity, ((below + 1) * n + upper, below * n + lower)), shape=(size, size)))
    weights = np.zeros((1, 1, n, n), np.float32)
    for query in range(n):
        for key in range(n):
            turns.step(locking=True)
            weights[0, 0, query, key] = maximum_flow(network, top * n + query, key).flow_value / UNITS
    reach = np.eye(n, dtype=np.bool_)
    for open_ in opened[:top]:
        reach = open_ @ reach
    return _new(attention_map, weights, reach[None, None], map_note("flow", layer=top))


def _with_residual(attention_map: AttentionMap) -> tuple[np.ndarray, Bools]:  # type: ignore[type-arg]
    """The mean over heads plus the residual (L, n, n), rows summing to one; and the mask of its edges."""
    if (
        not (attention_map.bidirectional or attention_map.causal)
        or attention_map.query_tokens != attention_map.key_tokens
    ):
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
    """The attention mask (L or 1, H or 1, Q, K)."""
    mask = computed(attention_map)
    return np.ones((1, 1, *attention_map.weights.shape[2:]), np.bool_) if mask is None else mask


def _anywhere(attention_map: AttentionMap, axes: tuple[int, ...]) -> Bools:
    """The union of the attention masks over layers (axis 0) or heads (1)."""
    union: Bools = np.logical_or.reduce(_known(attention_map), axis=axes, keepdims=True)
    return union


def _stored(mask: Bools) -> Bools | None:
    """``mask`` as stored in a map: None for everywhere."""
    return None if mask.all() else mask


def _new(attention_map: AttentionMap, weights: Floats, mask: Bools, note: str) -> AttentionMap:
    return replace(attention_map, weights=frozen(weights), allowed=_stored(mask), note=note, queries=None, keys=None)
