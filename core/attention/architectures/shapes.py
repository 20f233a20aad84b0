r"""Sparse, hashed, recurrent and two-stream attention as maps of tokens x tokens.

    BigBird         blocks: window, global, random, sampled per layer and head
    Longformer      a window, and global tokens with projections of their own
    Reformer        hashing: the keys that share chunks with a query, counted over the rounds
    Transformer-XL  a segment and the memory before it
    XLNet           two streams: the content stream attends to its own token, the query stream does not

Their passes return no such matrices, so the maps are those of the scores (`core.attention.architectures.vectors`); so
are those of windows and of architectures without a blueprint, whose masks are read with the scores.
Weights that are not computed are 0, with False in the map's ``allowed``.

Legend: L layers, H heads, n tokens, m predicted tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from core.attention.architectures.layout import has_blueprint
from core.attention.architectures.recording import blocks_of
from core.attention.architectures.vectors import notes_of, scores_by_layer, stacked
from core.attention.trace import AttentionMap, Bools, Floats, MapKind, frozen, map_note
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.language.permuted import streams
from core.language.segments import has_memory
from core.lazy import Tensor
from core.patterns import ranks
from core.sparse.longformer import sides_of

Tokens = tuple[str, ...]
_WHOLE = 0.99
"""A row with a smaller sum lacks what a sink takes."""


def read_from_scores(checkpoint: Checkpoint) -> bool:
    """Whether :func:`own_maps` makes the maps of a model, not the weights that its own pass returns.

    That pass returns no matrix of tokens x tokens, or not which of its zeros were never computed: where layers have
    windows, and in an architecture without a blueprint.
    """
    config = checkpoint.model.config
    sparse = has_memory(checkpoint.model) or any(has(config, trait) for trait in ("blocks", "window", "hashing"))
    windows = config.model_type == "gpt_neo" or bool(getattr(config, "sliding_window", None))
    return sparse or windows or not has_blueprint(checkpoint)


def own_maps(
    checkpoint: Checkpoint,
    inputs: Mapping[str, Any],
    axes: Mapping[MapKind, tuple[Tokens, Tokens]],
    *,
    vectors: bool,
    first: int = 0,
) -> dict[MapKind, AttentionMap]:
    """The maps of one text by kind; a Reformer hashes and a BigBird samples blocks with the seed 0.

    Args:
        inputs: as for `core.attention.architectures.vectors.scores_by_layer`.
        axes: the labels of rows and columns.
        vectors: with queries and keys.
        first: the decoder's row of the first row of the cross-attention.
    """
    maps: dict[MapKind, AttentionMap] = {}
    for kind, layers in scores_by_layer(checkpoint, inputs).items():
        queries, keys = axes[kind]
        rows = slice(first, first + len(queries)) if kind == "cross" else slice(None)
        scores = [of_layer for _, of_layer in layers]
        weights = stacked([one.score.softmax(-1) if one.weights is None else one.weights for one in scores])[:, :, rows]
        allowed = _together([True if one.allowed is None else one.allowed[:, rows].numpy() for one in scores], weights)
        notes = [_note(checkpoint.model, kind, weights, everywhere=bool(allowed.all()))]
        if vectors:
            notes += notes_of(scores)
        maps[kind] = AttentionMap(
            kind,
            queries,
            keys,
            frozen(weights),
            allowed,
            note=" ".join(filter(None, notes)),
            queries=stacked([one.query[:, rows] for one in scores]) if vectors else None,
            keys=stacked([one.key for one in scores]) if vectors else None,
        )
    return maps


def _together(allowed: Sequence[Any], weights: Floats) -> Bools:
    """The masks of all layers, with an axis of length 1 where all layers or heads have the same."""
    whole = np.stack([np.broadcast_to(own, weights.shape[1:]) for own in allowed])
    for axis in (0, 1):
        first = whole.take([0], axis)
        whole = first if (whole == first).all() else whole
    return frozen(whole)


def _note(model: Any, kind: MapKind, weights: Floats, *, everywhere: bool) -> str:
    """What is unusual about the rows and columns of a map."""
    if has(model.config, "blocks"):
        sparsity = blocks_of(model)
        if everywhere:
            return map_note("few blocks", count=sparsity.count_blocks(weights.shape[-1]), size=sparsity.block_size)
        return map_note("blocks", size=sparsity.block_size)
    if has(model.config, "window"):
        sides = sides_of(model)
        width = str(sides[0]) if len(set(sides)) == 1 else f"{min(sides)} to {max(sides)}, by layer,"
        return map_note("window", width=width)
    if has(model.config, "hashing"):
        return map_note("buckets")
    if has_memory(model):
        return map_note("segments")
    if has(model.config, "two streams"):
        return map_note(f"{'query' if kind == 'query' else 'content'} stream")
    return map_note("sinks") if weights.sum(-1).min(initial=1.0) < _WHOLE else ""


def two_streams(
    checkpoint: Checkpoint, ids: Tensor, tokens: Tokens, known: Sequence[int], *, vectors: bool
) -> tuple[AttentionMap, AttentionMap]:
    """The content stream (L, H, n, n) and the query stream (L, H, m, n) of one pass, from left to right.

    Args:
        known: positions of context from the start; all others are predicted one after the other.
    """
    targets = [position for position in range(len(tokens)) if position not in set(known)]
    axes: dict[MapKind, tuple[Tokens, Tokens]] = {"decoder": (tokens, tokens)}
    axes["query"] = tuple(tokens[i] for i in targets), tokens
    maps = own_maps(checkpoint, stream_inputs(ids, known), axes, vectors=vectors)
    return replace(maps["decoder"], label="Content stream"), replace(maps["query"], label="Query stream")


def stream_inputs(ids: Tensor, known: Sequence[int]) -> dict[str, Tensor]:
    """XLNet's inputs to predict all but the ``known`` positions of (1, n) ids from left to right."""
    n = ids.shape[1]
    targets = [position for position in range(n) if position not in set(known)]
    return {"input_ids": ids, **streams(ids, ranks(targets, n), targets)}
