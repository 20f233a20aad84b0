"""One head of attention, three times: full, sparse by mask (the reference), sparse by gathering blocks (the real one).

    full       softmax(q kᵀ / √d) v                                          n² scores
    by mask    the same, with −∞ where the pattern says no                   n² scores, of which few count
    gathered   for each block of queries, only the blocks of keys it sees    about (w + g + r) b n scores

The last two give the same numbers; a test holds them together. All of it is plain matrix products: a fused kernel would
be faster and use less memory, for full attention too, but it would not show what is counted here.

Legend: n tokens, d head width, b block size, B blocks, R rows of blocks, M blocks seen by a row.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import pad

from core.efficiency.layout import Sparsity


def full_attention(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Context (n, d) and weights (n, n) of full attention; all three inputs are (n, d)."""
    scores = (query @ key.T).mul_(1 / math.sqrt(query.shape[-1]))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def masked_attention(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """Context (n, d) and weights (n, n) where ``allowed`` (n, n, boolean) holds; zero elsewhere."""
    scores = (query @ key.T).mul_(1 / math.sqrt(query.shape[-1]))
    weights = torch.softmax(scores.masked_fill_(~allowed, -math.inf), dim=-1)
    return weights @ value, weights


class Gather:
    """The index tensors of one draw at one length, made once and used by every call with that draw."""

    def __init__(self, sparsity: Sparsity, n: int, layer: int, head: int) -> None:
        rows, seen = sparsity.table(n, layer, head)
        size, total = sparsity.block_size, sparsity.count_blocks(n)
        self.n, self.size, self.total = n, size, total
        self.ends = torch.tensor(sparsity.global_at(total), dtype=torch.long)  # (G,)
        self.rows = torch.from_numpy(rows)  # (R,)
        table = torch.from_numpy(seen)  # (R, M)
        self.seen = table.clamp(min=0)
        position = self.seen[:, :, None] * size + torch.arange(size)  # (R, M, b)
        unseen = (table < 0)[:, :, None] | (position >= n)
        self.hidden = unseen.flatten(1)[:, None, :]  # (R, 1, M b): True where no key is


def sparse_attention(
    query: Tensor, key: Tensor, value: Tensor, gather: Gather, *, keep: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Block-sparse attention of one head, from the blocks that each row sees alone.

    Args:
        query, key, value: shape (n, d).
        gather: the blocks, from :class:`Gather` for the same n.
        keep: also return the weights in their true shape, which takes n × n numbers.

    Returns:
        The context (n, d), and the weights (n, n) or None. A block that the library's draw lists several times counts
        several times in the softmax; its weights are added up.
    """
    n, d = query.shape
    size, total = gather.size, gather.total
    fill = total * size - n
    scale = 1 / math.sqrt(d)
    query_blocks = pad(query, (0, 0, 0, fill)).view(total, size, d)
    key_blocks = pad(key, (0, 0, 0, fill)).view(total, size, d)
    value_blocks = pad(value, (0, 0, 0, fill)).view(total, size, d)

    context = query.new_empty(total, size, d)
    dense = query.new_zeros(total, size, total, size) if keep else None
    if len(gather.rows):
        keys = key_blocks[gather.seen].flatten(1, 2)  # (R, M b, d)
        scores = torch.bmm(query_blocks[gather.rows], keys.transpose(1, 2)).mul_(scale)  # (R, b, M b)
        del keys
        weights = torch.softmax(scores.masked_fill_(gather.hidden, -math.inf), dim=-1)
        del scores
        context[gather.rows] = torch.bmm(weights, value_blocks[gather.seen].flatten(1, 2))
        if dense is not None:
            split = weights.view(len(gather.rows), size, -1, size)  # (R, b, M, b)
            place = gather.seen[:, None, :, None].expand_as(split)
            dense[gather.rows] = query.new_zeros(len(gather.rows), size, total, size).scatter_add_(2, place, split)
    if len(gather.ends):
        wide, weights = full_attention(query_blocks[gather.ends].flatten(0, 1), key, value)  # (G b, n)
        context[gather.ends] = wide.view(-1, size, d)
        if dense is not None:
            dense[gather.ends] = pad(weights, (0, fill)).view(-1, size, total, size)
    matrix = None if dense is None else dense.view(total * size, total * size)[:n, :n]
    return context.view(total * size, d)[:n], matrix
