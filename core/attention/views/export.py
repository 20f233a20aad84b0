"""Attention as tables and files: what a head looks at, and the numbers to take home.

Legend: L layers, H heads, Q query tokens, K key tokens. numpy alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.attention.inside.steps import MAPS, Step
from core.attention.trace import AttentionMap, AttentionTrace, Floats
from core.errors import NoAttentionMatrix


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


def to_csv(found: AttentionMap, layer: int, head: int) -> bytes:
    """One head as CSV (UTF-8): a header of key tokens, then a query token and its weights in each line.

    The cell of a weight that was not computed is empty.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["query \\ key", *found.key_tokens])
    rows = zip(found.query_tokens, found.weights[layer, head], found.computed(layer, head), strict=True)
    for token, row, computed in rows:
        writer.writerow([token, *(f"{one:.6f}" if there else "" for one, there in zip(row, computed, strict=True))])
    return out.getvalue().encode()


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


def to_long_csv(found: AttentionMap, layers: Sequence[int] | None = None, heads: Sequence[int] | None = None) -> bytes:
    """All heads, or some, as tidy CSV (UTF-8), one weight a line; what was not computed is left out.

    Everything counts from 1 in the file; ``layers`` and ``heads`` count from 0.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["layer", "head", "query", "query token", "key", "key token", "weight"])
    for layer in range(found.layers) if layers is None else layers:
        for head in range(found.heads) if heads is None else heads:
            weights, computed = found.weights[layer, head].tolist(), found.computed(layer, head).tolist()
            for query, token in enumerate(found.query_tokens):
                writer.writerows(
                    (layer + 1, head + 1, query + 1, token, key + 1, found.key_tokens[key], f"{weight:.6f}")
                    for key, weight in enumerate(weights[query])
                    if computed[query][key]
                )
    return out.getvalue().encode()


def to_scores_csv(found: AttentionMap, layer: int, head: int) -> bytes:
    """What the neuron view shows of one head as tidy CSV (UTF-8), one pair of tokens a line; counts from 1 in the file.

    Columns: as `to_long_csv`, with the query times the key before the weight, and that divided by the root of the
    head's width d. What was not computed is left out. Where a model adds more to its scores, a bias of position
    for one, the weight alone holds it.

    Raises:
        NoAttentionMatrix: queries and keys were not kept.
    """
    queries, keys = _vectors(found)
    products = queries[layer, head].astype(np.float64) @ keys[layer, head].astype(np.float64).T  # (Q, K)
    scaled = products / np.sqrt(queries.shape[-1])
    weights, computed = found.weights[layer, head], found.computed(layer, head)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["layer", "head", "query", "query token", "key", "key token", "q·k", "q·k / √d", "weight"])
    for query, key in np.argwhere(computed).tolist():
        numbers = (f"{one[query, key]:.6f}" for one in (products, scaled, weights))
        places = (query + 1, found.query_tokens[query], key + 1, found.key_tokens[key])
        writer.writerow((layer + 1, head + 1, *places, *numbers))
    return out.getvalue().encode()


def to_vectors_csv(found: AttentionMap, layer: int, head: int) -> bytes:
    """The queries and keys of one head as CSV (UTF-8), one vector a line: whose it is, its place and token, d numbers.

    Raises:
        NoAttentionMatrix: queries and keys were not kept.
    """
    queries, keys = _vectors(found)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["layer", "head", "vector", "#", "token", *range(1, queries.shape[-1] + 1)])
    for name, tokens, vectors in (("query", found.query_tokens, queries), ("key", found.key_tokens, keys)):
        for place, (token, vector) in enumerate(zip(tokens, vectors[layer, head].tolist(), strict=True), 1):
            writer.writerow((layer + 1, head + 1, name, place, token, *(f"{number:.6g}" for number in vector)))
    return out.getvalue().encode()


def _vectors(found: AttentionMap) -> tuple[Floats, Floats]:
    if found.queries is None or found.keys is None:
        raise NoAttentionMatrix("The query and key vectors were not kept here. The weights can be saved without them.")
    return found.queries, found.keys


def step_csv(step: Step, rows: Sequence[str], columns: Sequence[str] | None = None) -> bytes:
    """A step of a block as CSV (UTF-8), with six digits a number, one line for each row of each head.

    Args:
        rows: the tokens of the rows.
        columns: the tokens of the columns, where the step is a map; columns are numbered where they are none.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    several = step.values.ndim == 3
    named = columns if step.axes == MAPS and columns is not None else range(1, step.shape[-1] + 1)
    writer.writerow([*(["head"] if several else []), "#", step.axes[-2], *named])
    for head, matrix in enumerate(step.values if several else step.values[None]):
        for place, (token, numbers) in enumerate(zip(rows, matrix, strict=True)):
            start = [head + 1] if several else []
            writer.writerow([*start, place + 1, token, *(f"{number:.6g}" for number in numbers)])
    return out.getvalue().encode()


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
