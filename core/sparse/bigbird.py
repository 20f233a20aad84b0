"""BigBird with an attention that is chosen before the call: full, or block-sparse (`core.sparse.encoder`).

A model's own pass has its blocks as a mask (`core.run.odd.blocks`); here they are chosen, and gathered:

    full       softmax(q kᵀ / √d) v                                          n² scores
    by mask    the same, with −∞ outside the pattern                         n² scores, few of them allowed
    gathered   for each block of queries, only the blocks it attends to    about (w + g + r) b n scores

The last two give the same numbers, which a test compares.

Zaheer et al. 2020, arXiv 2007.14062. Legend: n tokens, L layers, H heads, d head dimension, b block size, B blocks,
R rows of blocks that are not global, M blocks that such a row attends to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from core.checkpoints.families.architectures import has
from core.errors import NoAttentionMatrix
from core.lazy import Tensor, functional, torch
from core.patterns.layout import Sparsity
from core.run.model import Model, Module
from core.sparse import encoder


class Gather:
    """The index tensors of one layer and head at one length: which blocks of keys each row of blocks attends to."""

    def __init__(self, sparsity: Sparsity, n: int, layer: int, head: int) -> None:
        rows, blocks = sparsity.table(n, layer, head)
        size, total = sparsity.block_size, sparsity.count_blocks(n)
        self.size, self.total = size, total
        self.ends = torch.tensor(sparsity.global_at(total), dtype=torch.long)  # (G,)
        self.rows = torch.from_numpy(rows)  # (R,)
        table = torch.from_numpy(blocks)  # (R, M)
        self.blocks = table.clamp(min=0)
        position = self.blocks[:, :, None] * size + torch.arange(size)  # (R, M, b)
        no_key = (table < 0)[:, :, None] | (position >= n)
        self.no_key = no_key.flatten(1)[:, None, :]  # (R, 1, M b)


@lru_cache(maxsize=2)
def _gathers(sparsity: Sparsity, n: int, layers: int, heads: int) -> tuple[tuple[Gather, ...], ...]:
    """The index tensors of a whole model. They depend on the arguments alone, so visitors may share them."""
    if not sparsity.random_blocks:
        return ((Gather(sparsity, n, 0, 0),) * heads,) * layers
    return tuple(tuple(Gather(sparsity, n, layer, head) for head in range(heads)) for layer in range(layers))


def shape_of(model: Model) -> tuple[int, int, int]:
    """(layers, heads, positions) of a BigBird model.

    Raises:
        NoAttentionMatrix: when the model is no BigBird encoder with a masked-token head.
    """
    config = model.config
    if not has(config, "blocks") or not hasattr(model, "cls") or config.is_decoder:
        raise NoAttentionMatrix(
            "Sparse and full attention can be compared on BigBird models with a masked-token head only. "
            f"This one is of the type {str(getattr(config, 'model_type', 'unknown'))[:40]!r}."
        )
    return int(config.num_hidden_layers), int(config.num_attention_heads), int(config.max_position_embeddings)


def forward(
    model: Model,
    ids: Sequence[int],
    positions: Sequence[int],
    sparsity: Sparsity | None,
    *,
    progress: encoder.Progress | None = None,
) -> encoder.Logits:
    """One pass of a ``BigBirdForMaskedLM`` in evaluation mode over one text.

    Args:
        ids: the token ids, special tokens included; no padding.
        positions: where predictions are wanted.
        sparsity: the settings of block-sparse attention, or None for full attention.

    Raises:
        InputEmpty, InputTooLong: no token, or more than the model has positions for.
        OutOfRange: a position outside the text.
        NoAttentionMatrix: the model is no BigBird.
    """
    layers, heads, limit = shape_of(model)
    encoder.check(len(ids), limit, positions)
    gathers = None if sparsity is None else _gathers(sparsity, len(ids), layers, heads)

    def attend(layer: int, own: Module, hidden: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        query, key, value = (part.contiguous() for part in (query, key, value))  # each head's rows side by side
        if gathers is None:
            return encoder.head_by_head(query, key, value)
        context = torch.empty_like(query)
        for head, gather in enumerate(gathers[layer]):
            context[0, head] = sparse_attention(query[0, head], key[0, head], value[0, head], gather)
        return context

    return encoder.logits_at(model, model.cls, ids, positions, attend, progress)


def attention_peak(model: Model, ids: Sequence[int], sparsity: Sparsity | None) -> int:
    """Tensor memory, in bytes, that one head of the first layer holds at the peak of its attention, measured."""
    encoder.check(len(ids), shape_of(model)[2])
    query, key, value = (part[0, 0] for part in encoder.first_head(model, ids))
    with torch.inference_mode():
        if sparsity is None:
            return encoder.measure_peak(lambda: encoder.by_mask(query, key, value, None))
        gather = Gather(sparsity, len(ids), 0, 0)
        return encoder.measure_peak(lambda: sparse_attention(query, key, value, gather))


def sparse_attention(query: Tensor, key: Tensor, value: Tensor, gather: Gather) -> Tensor:
    """The context (n, d) of block-sparse attention of one head, from the blocks that each row attends to alone.

    Args:
        query, key, value: shape (n, d).
        gather: made for the same n.
    """
    n, d = query.shape
    size, total = gather.size, gather.total
    fill = total * size - n
    query_blocks, key_blocks, value_blocks = (
        functional.pad(part, (0, 0, 0, fill)).view(total, size, d) for part in (query, key, value)
    )
    context = query.new_empty(total, size, d)
    if len(gather.rows):
        keys = key_blocks[gather.blocks].flatten(1, 2)  # (R, M b, d)
        scores = torch.bmm(query_blocks[gather.rows], keys.transpose(1, 2)).mul_(1 / math.sqrt(d))  # (R, b, M b)
        del keys
        weights = torch.softmax(scores.masked_fill_(gather.no_key, -math.inf), dim=-1)
        del scores
        context[gather.rows] = torch.bmm(weights, value_blocks[gather.blocks].flatten(1, 2))
    if len(gather.ends):
        wide, _ = encoder.by_mask(query_blocks[gather.ends].flatten(0, 1), key, value, None)  # (G b, d)
        context[gather.ends] = wide.view(-1, size, d)
    return context.view(total * size, d)[:n]
