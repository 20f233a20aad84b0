"""Attention as tables and files for download.

Arrays for the script of a page are quantized: a weight as JSON text has up to twenty characters, but a screen shows 256
steps of opacity. An array is sent as integers n of 8 or 16 bits, deflated (RFC 1950), in base64; the page's script
inflates them and multiplies n by the step s of the head:

    weights     n = round(a / s),   s = max a / 255 or / 65535         error at most half a step
    vectors     n = round(v / s),   s = max |v| / 127 or / 32767       error at most half a step

Half of the weights that MiniLM gives a text of 110 tokens are below half a step: 6 layers x 12 heads x 110² of them are
0.87 MB (10⁶ bytes) with 8 bits, deflated 0.29 MB, in base64 0.39 MB.

Legend: L layers, H heads, Q query tokens, K key tokens, d dimension of a head. numpy alone.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.arrays import Bools, Floats
from core.attention.inside.steps import MAPS, Step
from core.attention.trace import AttentionMap
from core.table import Cell, Table

Bits = Literal[8, 16]


def by_head(values: Floats, bits: Bits = 8, *, signed: bool = False) -> dict[str, Any]:
    """(L, H, n, m) as ``bytes``, with ``scale``, the L·H quantization steps of the heads.

    Without ``signed`` the values must not be negative.
    """
    top = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    largest = np.abs(values).max(axis=(2, 3), initial=0.0).astype(np.float64)  # (L, H)
    step = np.where(largest > 0, largest, 1.0) / top
    levels = np.clip(np.rint(values / step[:, :, None, None].astype(np.float32)), -top, top)
    return {
        "bytes": _base64(levels.astype(f"<{'i' if signed else 'u'}{bits // 8}")),
        "shape": list(values.shape),
        "bits": bits,
        "signed": signed,
        "scale": step.ravel().tolist(),
    }


def flags(values: Bools) -> dict[str, Any]:
    """(l, h, Q, K) of true and false, eight per byte, the first in the highest bit; l and h may be 1 (broadcast)."""
    return {"bytes": _base64(np.packbits(values)), "shape": list(values.shape)}


def _base64(values: NDArray[Any]) -> str:
    """The bytes of an array, row by row, deflated."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).data)).decode("ascii")


def computed(attention_map: AttentionMap) -> Bools | None:
    """Where ``attention_map`` holds a weight that was computed, as (l, h, Q, K) with l, h from 1; None for everywhere.

    A decoder's map without ``allowed`` is causal.
    """
    queries, keys = attention_map.weights.shape[2:]
    if attention_map.allowed is None:
        if not attention_map.causal or queries != keys:
            return None
        below: Bools = np.tri(queries, dtype=np.bool_)
        return below[None, None]
    allowed = attention_map.allowed.reshape((1,) * (4 - attention_map.allowed.ndim) + attention_map.allowed.shape)
    mask: Bools = np.broadcast_to(allowed, (*allowed.shape[:2], queries, keys))
    return None if mask.all() else mask


def is_causal(attention_map: AttentionMap) -> bool:
    """Whether no query of ``attention_map`` attends to a key after it."""
    mask = computed(attention_map)
    return mask is not None and mask.shape[2] == mask.shape[3] and not bool(np.triu(mask, 1).any())


MAX_TABLE_ROWS = 300_000
"""The most weights in a table; more go into an archive."""


def top_keys(attention_map: AttentionMap, layer: int, head: int, count: int = 3) -> list[dict[str, object]]:
    """The ``count`` keys with the largest weights for each query, largest first: one row per query, in text order.

    Columns: ``#`` (position from 1), ``token``, then ``key 1``, ``weight 1``, ``key 2``, ... Keys of weight 0 (masked
    ones among them) are None. Layer and head count from 0.
    """
    weights = attention_map.weights[layer, head]  # (Q, K)
    order = np.argsort(-weights, axis=-1, kind="stable")[:, :count]
    rows: list[dict[str, object]] = []
    for position, token in enumerate(attention_map.query_tokens):
        row: dict[str, object] = {"#": position + 1, "token": token}
        for rank, key in enumerate(order[position], 1):
            weight = float(weights[position, key])
            row[f"key {rank}"] = attention_map.key_tokens[key] if weight > 0 else None
            row[f"weight {rank}"] = weight if weight > 0 else None
        rows.append(row)
    return rows


def head_table(attention_map: AttentionMap, layer: int, head: int) -> Table:
    """One head (from 0), a row per query and a column per key; cells that were not computed are empty."""
    weights = np.where(attention_map.computed(layer, head), attention_map.weights[layer, head], np.nan)
    return matrix_table("query \\ key", attention_map.query_tokens, attention_map.key_tokens, weights)


def matrix_table(
    corner: str, rows: Sequence[str], columns: Sequence[str | int], values: NDArray[np.floating[Any]]
) -> Table:
    """A matrix with row and column names; non-finite cells are empty."""
    cells = np.where(np.isfinite(values), values, np.nan).tolist()
    return Table((corner, *map(str, columns)), tuple((name, *line) for name, line in zip(rows, cells, strict=True)))


def grids_table(grids: Mapping[str, NDArray[np.floating[Any]]]) -> Table:
    """A row for each head and a column for each of the (L, H) grids; layers and heads from 1."""
    positions = np.ndindex(next(iter(grids.values())).shape)
    rows = ((layer + 1, head + 1, *(float(grid[layer, head]) for grid in grids.values())) for layer, head in positions)
    return Table(("layer", "head", *grids), tuple(rows))


def strongest_links(
    attention_map: AttentionMap, layer: int, head: int, count: int = 10
) -> list[tuple[int, int, float]]:
    """(query, key, weight) of the ``count`` largest weights of one head, largest first; never zeros. All from 0."""
    weights = attention_map.weights[layer, head]  # (Q, K)
    order = np.argsort(-weights, axis=None, kind="stable")[:count]
    links = ((*divmod(int(index), weights.shape[1]), float(weights.flat[index])) for index in order)
    return [link for link in links if link[2] > 0]


def map_table(
    attention_map: AttentionMap, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None
) -> Table:
    """All heads, or some, one row per computed weight.

    Numbers in the table start from 1; ``layers`` and ``heads`` from 0.
    """
    rows = (
        (*pair, float(attention_map.weights[layer, head, query, key]))
        for layer in (range(attention_map.layers) if layers is None else layers)
        for head in (range(attention_map.heads) if heads is None else heads)
        for query, key, pair in _pairs(attention_map, layer, head)
    )
    return Table((*_PAIR, "weight"), tuple(rows))


def scores_table(attention_map: AttentionMap, layer: int, head: int) -> Table:
    """The data of the neuron view of one head, one row per computed pair of tokens; numbers in the table start from 1.

    Columns: as `map_table`, with q·k and q·k / √d before the weight, d the head dimension. Other terms of the score,
    such as a position bias, affect the weight alone. The map must have its queries and keys.
    """
    queries, keys = attention_map.queries, attention_map.keys
    assert queries is not None
    assert keys is not None
    products = queries[layer, head].astype(np.float64) @ keys[layer, head].astype(np.float64).T  # (Q, K)
    scaled = products / np.sqrt(queries.shape[-1])
    numbers = np.stack([products, scaled, attention_map.weights[layer, head]], axis=-1)
    rows = ((*pair, *numbers[query, key].tolist()) for query, key, pair in _pairs(attention_map, layer, head))
    return Table((*_PAIR, "q·k", "q·k / √d", "weight"), tuple(rows))


_PAIR = ("layer", "head", "query", "query token", "key", "key token")


def _pairs(attention_map: AttentionMap, layer: int, head: int) -> Iterator[tuple[int, int, tuple[Cell, ...]]]:
    """Query and key, from 0, of each weight that was computed, and the cells that name the pair, from 1."""
    for query, key in np.argwhere(attention_map.computed(layer, head)).tolist():
        names = query + 1, attention_map.query_tokens[query], key + 1, attention_map.key_tokens[key]
        yield query, key, (layer + 1, head + 1, *names)


def vectors_table(attention_map: AttentionMap, layer: int, head: int) -> Table:
    """The queries and keys of one head, one row per vector: layer, head, kind, position, token, d values.

    The map must have its queries and keys.
    """
    queries, keys = attention_map.queries, attention_map.keys
    assert queries is not None
    assert keys is not None
    rows = (
        (layer + 1, head + 1, name, position, token, *vector)
        for name, tokens, vectors in (
            ("query", attention_map.query_tokens, queries),
            ("key", attention_map.key_tokens, keys),
        )
        for position, (token, vector) in enumerate(zip(tokens, vectors[layer, head].tolist(), strict=True), 1)
    )
    return Table(("layer", "head", "vector", "#", "token", *map(str, range(1, queries.shape[-1] + 1))), tuple(rows))


def step_table(step: Step, rows: Sequence[str], columns: Sequence[str] | None = None) -> Table:
    """A step of a block, one row for each row of each head.

    Args:
        rows: the tokens of the rows.
        columns: the tokens of the columns of a map; otherwise columns are numbered.
    """
    several = step.values.ndim == 3
    named = columns if step.axes == MAPS and columns is not None else range(1, step.shape[-1] + 1)
    lines = (
        (*([head] if several else []), position, token, *numbers)
        for head, matrix in enumerate(step.values if several else step.values[None], 1)
        for position, (token, numbers) in enumerate(zip(rows, matrix.tolist(), strict=True), 1)
    )
    return Table((*(["head"] if several else []), "#", step.axes[-2], *map(str, named)), tuple(lines))
