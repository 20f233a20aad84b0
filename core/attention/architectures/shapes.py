r"""Sparse, hashed, recurrent and two-stream attention as maps of tokens x tokens.

    BigBird         blocks: window, global, random, sampled per layer and head
    Longformer      a window, and global tokens with projections of their own
    Reformer        hashing: the keys that share chunks with a query, counted over the rounds
    Transformer-XL  a segment and the memory before it
    XLNet           two streams: the content stream attends to its own token, the query stream does not

Weights that are not computed are 0, with False in the map's ``allowed``.

Legend: L layers, H heads, n tokens, m predicted tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from core.attention.architectures.recording import blocks_of
from core.attention.trace import AttentionMap, Bools, Floats, frozen, map_note
from core.language.permuted import streams
from core.language.segments import SEGMENT, longest_memory, read
from core.patterns import ranks
from core.sparse.windowed import allowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

Tokens = tuple[str, ...]


def big_bird(model: Any, ids: Tensor, tokens: Tokens) -> AttentionMap:
    """The blocks of the model's configuration, random ones with seed 0."""
    from core.sparse.bigbird import attended, encode

    sparsity = blocks_of(model)
    weights = stacked(encode(model, ids, sparsity).attentions)
    layers, heads, n, _ = weights.shape
    allowed = attended(sparsity, n, layers, heads)
    size = sparsity.block_size
    note = map_note("few blocks", count=sparsity.count_blocks(n), size=size) if allowed.all() else ""
    note = note or map_note("blocks", size=size)
    return AttentionMap("encoder", tokens, tokens, weights, frozen(allowed), note=note)


def longformer(model: Any, ids: Tensor, tokens: Tokens) -> AttentionMap:
    """The windows of the model's layers, with the first token as the global one."""
    from core.sparse.longformer import GLOBAL, encode, sides_of

    weights = stacked(encode(model, ids).attentions)
    sides = sides_of(model)
    width = str(sides[0]) if len(set(sides)) == 1 else f"{min(sides)} to {max(sides)}, by layer,"
    note = map_note("window", width=width)
    seen = np.stack([allowed(len(tokens), side, GLOBAL).numpy() for side in sides])  # (L, n, n)
    return AttentionMap("encoder", tokens, tokens, weights, frozen(seen[:, None]), note=note)


def reformer(model: Any, ids: Tensor, tokens: Tokens) -> AttentionMap:
    """LSH and local layers, with the model's own number of rounds and seed 0."""
    from core.sparse.reformer import encode

    encoded = encode(model, ids)
    same_bucket = frozen(np.concatenate([layer.numpy() for layer in encoded.same_bucket]))
    return AttentionMap("decoder", tokens, tokens, stacked(encoded.weights), same_bucket, note=map_note("buckets"))


def transformer_xl(model: Any, ids: Tensor, tokens: Tokens) -> AttentionMap:
    """Segments of the default length, each with the model's memory."""
    n, memory = ids.shape[1], longest_memory(model)
    weights: Floats | None = None
    first = 0
    for out in read(model, ids, output_attentions=True):
        part = stacked(out.attentions)  # (L, H, q, K), keys: memory, then the segment
        if weights is None:
            weights = np.zeros((*part.shape[:2], n, n), dtype=np.float32)
        last = first + part.shape[2]
        weights[:, :, first:last, last - part.shape[3] : last] = part
        first = last
    assert weights is not None
    seen = remembered(n, range(0, n, SEGMENT), memory)
    return AttentionMap("decoder", tokens, tokens, frozen(weights), seen, note=map_note("segments"))


def remembered(n: int, starts: Sequence[int], memory: int | None) -> Bools:
    """(1, 1, n, n) the causal mask for segments that begin at ``starts``.

    Args:
        memory: tokens before its segment that a query attends to; None for all.
    """
    seen = np.tri(n, dtype=np.bool_)
    if memory is not None:
        for start, end in zip(starts, [*starts[1:], n], strict=True):
            seen[start:end, : max(0, start - memory)] = False
    return frozen(seen[None, None])


def two_streams(model: Any, ids: Tensor, tokens: Tokens, known: Sequence[int]) -> tuple[AttentionMap, AttentionMap]:
    """The content stream (L, H, n, n) and the query stream (L, H, m, n) of one pass, from left to right.

    Args:
        known: positions of context from the start; all others are predicted one after the other.
    """
    inputs = stream_inputs(ids, known)
    out = model(**inputs, use_mems=False, output_attentions=True)
    blind = inputs["perm_mask"][0].bool().numpy()
    n = len(tokens)
    targets = [position for position in range(n) if position not in set(known)]
    content, query = (stacked([streams[i] for streams in out.attentions]) for i in (0, 1))
    seen = ~blind | np.eye(n, dtype=np.bool_)
    predicted = frozen(query[:, :, targets])  # the library computes a row for every token
    return (
        AttentionMap(
            "decoder",
            tokens,
            tokens,
            content,
            frozen(seen[None, None]),
            label="Content stream",
            note=map_note("content stream"),
        ),
        AttentionMap(
            "query",
            tuple(tokens[i] for i in targets),
            tokens,
            predicted,
            frozen(~blind[targets][None, None]),
            label="Query stream",
            note=map_note("query stream"),
        ),
    )


def stream_inputs(ids: Tensor, known: Sequence[int]) -> dict[str, Tensor]:
    """XLNet's inputs to predict all but the ``known`` positions of (1, n) ids from left to right."""
    n = ids.shape[1]
    targets = [position for position in range(n) if position not in set(known)]
    return {"input_ids": ids, **streams(ids, ranks(targets, n), targets)}


def stacked(layers: Sequence[Tensor]) -> Floats:
    """Tensors of shape (1, H, Q, K), one for each layer, as (L, H, Q, K), read-only."""
    import torch

    return frozen(torch.cat(tuple(layers)).float().cpu().numpy())
