"""Attention as tables and files: what a head looks at, and all of its numbers for a download.

Legend: L layers, H heads, Q query tokens, K key tokens. numpy alone.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.attention.inside.steps import MAPS, Step
from core.attention.trace import AttentionMap, AttentionTrace, Floats
from core.errors import NoAttentionMatrix
from core.table import Cell, Table

MAX_TABLE_ROWS = 300_000
"""More weights than these go into an archive, not into a table."""


def top_keys(found: AttentionMap, layer: int, head: int, count: int = 3) -> list[dict[str, object]]:
    """For each query its ``count`` strongest keys, strongest first: one row a query, in the order of the text.

    Columns: ``#`` (position from 1), ``token``, then ``key 1``, ``weight 1``, ``key 2``, ... Keys of weight 0 (masked
    ones among them) are None. Layer and head count from 0.
    """
    weights = found.weights[layer, head]  # (Q, K)
    order = np.argsort(-weights, axis=-1, kind="stable")[:, :count]
    rows: list[dict[str, object]] = []
    for position, token in enumerate(found.query_tokens):
        row: dict[str, object] = {"#": position + 1, "token": token}
        for rank, key in enumerate(order[position], 1):
            weight = float(weights[position, key])
            row[f"key {rank}"] = found.key_tokens[key] if weight > 0 else None
            row[f"weight {rank}"] = weight if weight > 0 else None
        rows.append(row)
    return rows


def head_table(found: AttentionMap, layer: int, head: int) -> Table:
    """One head, a query in each row and a key in each column; a cell that was not computed is empty. From 0."""
    weights = np.where(found.computed(layer, head), found.weights[layer, head], np.nan)
    return matrix_table("query \\ key", found.query_tokens, found.key_tokens, weights)


def matrix_table(
    corner: str, rows: Sequence[str], columns: Sequence[str | int], values: NDArray[np.floating[Any]]
) -> Table:
    """A matrix with the names of its rows and columns; what is not finite is empty."""
    known = np.where(np.isfinite(values), values, np.nan).tolist()
    return Table((corner, *map(str, columns)), tuple((name, *line) for name, line in zip(rows, known, strict=True)))


def grids_table(grids: Mapping[str, NDArray[np.floating[Any]]]) -> Table:
    """A row for each head and a column for each of the (L, H) grids; layers and heads from 1."""
    places = np.ndindex(next(iter(grids.values())).shape)
    rows = ((layer + 1, head + 1, *(float(grid[layer, head]) for grid in grids.values())) for layer, head in places)
    return Table(("layer", "head", *grids), tuple(rows))


@dataclass(frozen=True, slots=True)
class Link:
    """One query's weight on one key; places count from 1."""

    from_place: int
    from_token: str
    to_place: int
    to_token: str
    weight: float


def strongest_links(found: AttentionMap, layer: int, head: int, count: int = 10) -> tuple[Link, ...]:
    """The ``count`` largest weights of one head (of a difference: the furthest from zero), largest first; never zeros.

    Layer and head count from 0.
    """
    weights = found.weights[layer, head]  # (Q, K)
    sizes = np.abs(weights)
    order = np.argsort(-sizes, axis=None, kind="stable")[:count]
    places = [divmod(int(i), weights.shape[1]) for i in order]
    return tuple(
        Link(query + 1, found.query_tokens[query], key + 1, found.key_tokens[key], float(weights[query, key]))
        for query, key in places
        if sizes[query, key] > 0
    )


def map_table(found: AttentionMap, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None) -> Table:
    """All heads, or some, one weight a row; what was not computed is left out.

    Everything counts from 1 in the table; ``layers`` and ``heads`` count from 0.
    """
    rows = (
        (layer + 1, head + 1, query + 1, token, key + 1, found.key_tokens[key], weight)
        for layer in (range(found.layers) if layers is None else layers)
        for head in (range(found.heads) if heads is None else heads)
        for query, (token, weights, computed) in enumerate(
            zip(
                found.query_tokens,
                found.weights[layer, head].tolist(),
                found.computed(layer, head).tolist(),
                strict=True,
            )
        )
        for key, weight in enumerate(weights)
        if computed[key]
    )
    return Table(("layer", "head", "query", "query token", "key", "key token", "weight"), tuple(rows))


def scores_table(found: AttentionMap, layer: int, head: int) -> Table:
    """What the neuron view shows of one head, one pair of tokens a row; counts from 1 in the table.

    Columns: as `map_table`, with the query times the key before the weight, and that divided by the root of the
    head's width d. What was not computed is left out. Where a model adds more to its scores, a bias of position
    for one, the weight alone holds it.

    Raises:
        NoAttentionMatrix: queries and keys were not kept.
    """
    queries, keys = _vectors(found)
    products = queries[layer, head].astype(np.float64) @ keys[layer, head].astype(np.float64).T  # (Q, K)
    scaled = products / np.sqrt(queries.shape[-1])
    weights, computed = found.weights[layer, head], found.computed(layer, head)
    rows: Iterator[tuple[Cell, ...]] = (
        (
            *(layer + 1, head + 1, query + 1, found.query_tokens[query], key + 1, found.key_tokens[key]),
            *(float(values[query, key]) for values in (products, scaled, weights)),
        )
        for query, key in np.argwhere(computed).tolist()
    )
    columns = ("layer", "head", "query", "query token", "key", "key token", "q·k", "q·k / √d", "weight")
    return Table(columns, tuple(rows))


def vectors_table(found: AttentionMap, layer: int, head: int) -> Table:
    """The queries and keys of one head, one vector a row: whose it is, its position and token, d numbers.

    Raises:
        NoAttentionMatrix: queries and keys were not kept.
    """
    queries, keys = _vectors(found)
    rows = (
        (layer + 1, head + 1, name, position, token, *vector)
        for name, tokens, vectors in (("query", found.query_tokens, queries), ("key", found.key_tokens, keys))
        for position, (token, vector) in enumerate(zip(tokens, vectors[layer, head].tolist(), strict=True), 1)
    )
    return Table(("layer", "head", "vector", "#", "token", *map(str, range(1, queries.shape[-1] + 1))), tuple(rows))


def _vectors(found: AttentionMap) -> tuple[Floats, Floats]:
    if found.queries is None or found.keys is None:
        raise NoAttentionMatrix("The query and key vectors were not kept here. The weights can be saved without them.")
    return found.queries, found.keys


def step_table(step: Step, rows: Sequence[str], columns: Sequence[str] | None = None) -> Table:
    """A step of a block, one row for each row of each head.

    Args:
        rows: the tokens of the rows.
        columns: the tokens of the columns, where the step is a map; columns are numbered where they are none.
    """
    several = step.values.ndim == 3
    named = columns if step.axes == MAPS and columns is not None else range(1, step.shape[-1] + 1)
    lines = (
        (*([head] if several else []), position, token, *numbers)
        for head, matrix in enumerate(step.values if several else step.values[None], 1)
        for position, (token, numbers) in enumerate(zip(rows, matrix.tolist(), strict=True), 1)
    )
    return Table((*(["head"] if several else []), "#", step.axes[-2], *map(str, named)), tuple(lines))


def to_npz(trace: AttentionTrace) -> bytes:
    """All maps as a compressed numpy archive: for each kind ``<kind>`` (L, H, Q, K) and the tokens of both sides.

    Where some weights were not computed, ``<kind>_computed`` says which were; its shape broadcasts to that of the map.
    """
    arrays: dict[str, np.ndarray] = {}  # type: ignore[type-arg]
    for found in trace.maps:
        arrays[found.kind] = found.weights
        arrays[f"{found.kind}_queries"] = np.array(found.query_tokens)
        arrays[f"{found.kind}_keys"] = np.array(found.key_tokens)
        if found.allowed is not None:
            arrays[f"{found.kind}_computed"] = found.allowed
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()
