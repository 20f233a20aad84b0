r"""Sparse, hashed, recurrent and two-stream attention as maps of tokens x tokens.

    BigBird         blocks: window, global, random, sampled per layer and head
    Longformer      a window, and global tokens with projections of their own
    Reformer        hashing: the keys that share chunks with a query, counted over the rounds
    Transformer-XL  a segment and the memory before it
    XLNet           two streams: the content stream attends to its own token, the query stream does not

Their passes return no such matrices, so the maps are those of the scores (`core.attention.architectures.vectors`).
Weights that are not computed are 0, with False in the map's ``allowed``.

Legend: L layers, H heads, n tokens, m predicted tokens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.attention.architectures.recording import blocks_of
from core.attention.architectures.vectors import scores_by_layer, stacked
from core.attention.trace import AttentionMap, Bools, Floats, MapKind, frozen, map_note
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.language.permuted import streams
from core.language.segments import has_memory
from core.patterns import ranks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

Tokens = tuple[str, ...]


def has_own_shape(model: Any) -> bool:
    """Whether a model's own pass returns no matrix of tokens x tokens, so that :func:`own_maps` makes it."""
    return has_memory(model) or any(has(model.config, trait) for trait in ("blocks", "window", "hashing"))


def own_maps(
    checkpoint: Checkpoint, inputs: Mapping[str, Any], tokens: Tokens, targets: Sequence[int] = (), *, vectors: bool
) -> dict[MapKind, AttentionMap]:
    """The maps of one text by kind; a Reformer hashes and a BigBird samples blocks with the seed 0.

    Args:
        inputs: as for `core.attention.architectures.vectors.scores_by_layer`.
        targets: the positions of an XLNet's query stream.
        vectors: with queries and keys.
    """
    maps: dict[MapKind, AttentionMap] = {}
    for kind, layers in scores_by_layer(checkpoint, inputs).items():
        scores = [of_layer for _, of_layer in layers]
        weights = stacked([one.score.softmax(-1) if one.weights is None else one.weights for one in scores])
        allowed = _together([None if one.allowed is None else one.allowed.numpy() for one in scores], weights)
        maps[kind] = AttentionMap(
            kind,
            tuple(tokens[i] for i in targets) if kind == "query" else tokens,
            tokens,
            weights,
            allowed,
            note=_note(checkpoint.model, kind, len(tokens), everywhere=bool(allowed.all())),
            queries=stacked([one.query for one in scores]) if vectors else None,
            keys=stacked([one.key for one in scores]) if vectors else None,
        )
    return maps


def _together(allowed: Sequence[Any], weights: Floats) -> Bools:
    """The masks of all layers, with an axis of length 1 where all layers or heads have the same."""
    whole = np.stack([np.broadcast_to(True if own is None else own, weights.shape[1:]) for own in allowed])
    for axis in (0, 1):
        first = whole.take([0], axis)
        whole = first if (whole == first).all() else whole
    return frozen(whole)


def _note(model: Any, kind: MapKind, n: int, *, everywhere: bool) -> str:
    """What is unusual about the rows and columns of a map."""
    if has(model.config, "blocks"):
        sparsity = blocks_of(model)
        if everywhere:
            return map_note("few blocks", count=sparsity.count_blocks(n), size=sparsity.block_size)
        return map_note("blocks", size=sparsity.block_size)
    if has(model.config, "window"):
        from core.sparse.longformer import sides_of

        sides = sides_of(model)
        width = str(sides[0]) if len(set(sides)) == 1 else f"{min(sides)} to {max(sides)}, by layer,"
        return map_note("window", width=width)
    if has(model.config, "hashing"):
        return map_note("buckets")
    return map_note("segments" if has_memory(model) else f"{'query' if kind == 'query' else 'content'} stream")


def two_streams(
    checkpoint: Checkpoint, ids: Tensor, tokens: Tokens, known: Sequence[int], *, vectors: bool
) -> tuple[AttentionMap, AttentionMap]:
    """The content stream (L, H, n, n) and the query stream (L, H, m, n) of one pass, from left to right.

    Args:
        known: positions of context from the start; all others are predicted one after the other.
    """
    targets = [position for position in range(len(tokens)) if position not in set(known)]
    maps = own_maps(checkpoint, stream_inputs(ids, known), tokens, targets, vectors=vectors)
    return replace(maps["decoder"], label="Content stream"), replace(maps["query"], label="Query stream")


def stream_inputs(ids: Tensor, known: Sequence[int]) -> dict[str, Tensor]:
    """XLNet's inputs to predict all but the ``known`` positions of (1, n) ids from left to right."""
    n = ids.shape[1]
    targets = [position for position in range(n) if position not in set(known)]
    return {"input_ids": ids, **streams(ids, ranks(targets, n), targets)}
