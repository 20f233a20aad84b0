"""Attention of some heads, three times: full, sparse by mask (the reference), sparse by gathering blocks.

    full       softmax(q kᵀ / √d) v                                          n² scores
    by mask    the same, with −∞ where the pattern says no                   n² scores, of which few count
    gathered   for each block of queries, only the blocks of keys it sees    about (w + g + r) b n scores

The last two give the same numbers; a test holds them together. Several heads can be computed side by side: in a short
text a head is so small that starting a step takes longer than the step. All of it is plain matrix products: a fused
kernel would be faster and use less memory, for full attention too, but it would not show what is counted here.

Legend: H heads, n tokens, d head width, b block size, B blocks, R rows of blocks, M blocks seen by a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from core.efficiency.layout import Sparsity


def full_attention(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Context (H, n, d) and weights (H, n, m) of full attention; query (H, n, d), key and value (H, m, d)."""
    scores = (query @ key.transpose(1, 2)).mul_(1 / math.sqrt(query.shape[-1]))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def masked_attention(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Context (H, n, d) and weights (H, n, n) where ``allowed`` (H or 1, n, n, boolean) holds; zero elsewhere."""
    scores = (query @ key.transpose(1, 2)).mul_(1 / math.sqrt(query.shape[-1]))
    weights = torch.softmax(scores.masked_fill_(~allowed, -math.inf), dim=-1)
    return weights @ value, weights


class Gather:
    """The index tensors of some heads of a layer at one length, made once and used by every call with that draw."""

    def __init__(self, sparsity: Sparsity, n: int, layer: int, heads: Sequence[int]) -> None:
        tables = [sparsity.table(n, layer, head) for head in heads]
        size, total = sparsity.block_size, sparsity.count_blocks(n)
        self.n, self.size, self.total, self.heads = n, size, total, len(tables)
        self.ends = torch.tensor(sparsity.global_at(total), dtype=torch.long)  # (G,), the same for every head
        self.rows = torch.from_numpy(tables[0][0])  # (R,), likewise
        width = max(seen.shape[1] for _, seen in tables)  # M: heads may have drawn different numbers of blocks
        table = torch.stack([pad(torch.from_numpy(seen), (0, width - seen.shape[1]), value=-1) for _, seen in tables])
        self.seen = table.clamp(min=0)  # (H, R, M)
        position = self.seen[..., None] * size + torch.arange(size)  # (H, R, M, b)
        unseen = (table < 0)[..., None] | (position >= n)
        self.hidden = unseen.flatten(2)[:, :, None, :]  # (H, R, 1, M b): True where no key is
        self.head = torch.arange(self.heads)[:, None, None]  # (H, 1, 1)


def sparse_attention(
    query: Tensor, key: Tensor, value: Tensor, gather: Gather, *, keep: Sequence[int] = ()
) -> tuple[Tensor, Tensor | None]:
    """Block-sparse attention of some heads, from the blocks that each row sees alone.

    Args:
        query, key, value: shape (H, n, d).
        gather: the blocks, from :class:`Gather` for the same n and H heads.
        keep: heads, counted from 0, whose weights are wanted in their true shape, n × n numbers each.

    Returns:
        The context (H, n, d), and the weights (K, n, n) of the K heads to keep, or None. A block that the library's
        draw lists several times counts several times in the softmax; its weights are added up.
    """
    heads, n, d = query.shape
    size, total = gather.size, gather.total
    fill = total * size - n
    scale = 1 / math.sqrt(d)
    query_blocks = pad(query, (0, 0, 0, fill)).view(heads, total, size, d)
    key_blocks = pad(key, (0, 0, 0, fill)).view(heads, total, size, d)
    value_blocks = pad(value, (0, 0, 0, fill)).view(heads, total, size, d)

    context = query.new_empty(heads, total, size, d)
    kept = list(keep)
    dense = query.new_zeros(len(kept), total, size, total, size) if kept else None
    if len(gather.rows):
        keys = key_blocks[gather.head, gather.seen].flatten(2, 3)  # (H, R, M b, d)
        scores = (query_blocks[:, gather.rows] @ keys.transpose(2, 3)).mul_(scale)  # (H, R, b, M b)
        del keys
        weights = torch.softmax(scores.masked_fill_(gather.hidden, -math.inf), dim=-1)
        del scores
        context[:, gather.rows] = weights @ value_blocks[gather.head, gather.seen].flatten(2, 3)
        if dense is not None:
            split = weights[kept].view(len(kept), len(gather.rows), size, -1, size)  # (K, R, b, M, b)
            place = gather.seen[kept][:, :, None, :, None].expand_as(split)
            empty = query.new_zeros(len(kept), len(gather.rows), size, total, size)
            dense[:, gather.rows] = empty.scatter_add_(3, place, split)
    if len(gather.ends):
        wide, weights = full_attention(query_blocks[:, gather.ends].flatten(1, 2), key, value)  # (H, G b, n)
        context[:, gather.ends] = wide.view(heads, -1, size, d)
        if dense is not None:
            dense[:, gather.ends] = pad(weights[kept], (0, fill)).view(len(kept), -1, size, total, size)
    matrix = None if dense is None else dense.view(len(kept), total * size, total * size)[:, :n, :n]
    return context.view(heads, total * size, d)[:, :n], matrix
