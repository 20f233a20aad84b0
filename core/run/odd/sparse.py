r"""Sparse attention that computes only the scores of its layout: blocks (BigBird), a window (Longformer).

    gathered   for each block of queries, only the blocks of keys that it attends to
    by blocks  a window of w: the text is split into blocks of w, and a block's queries are multiplied with three blocks
               of keys and the global keys, (3w + g) n scores, of which those beyond the window are masked

The numbers are those of all n x n scores with -inf outside the layout.

Legend: R rows, H heads, n tokens, d head dimension, b block size, B blocks, Q blocks of queries that are not global, M
blocks that one of them attends to, w one side of the window, g global tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from core.lazy import Tensor, functional, torch
from core.patterns.layout import Sparsity


class Gather:
    """The index tensors of one layer and head at one length: which blocks of keys each row of blocks attends to."""

    def __init__(self, sparsity: Sparsity, n: int, layer: int, head: int) -> None:
        rows, blocks = sparsity.table(n, layer, head)
        size, total = sparsity.block_size, sparsity.count_blocks(n)
        self.size, self.total = size, total
        self.ends = torch.tensor(sparsity.global_at(total), dtype=torch.long)  # (G,)
        self.rows = torch.from_numpy(rows)  # (Q,)
        table = torch.from_numpy(blocks)  # (Q, M)
        self.blocks = table.clamp(min=0)
        position = self.blocks[:, :, None] * size + torch.arange(size)  # (Q, M, b)
        no_key = (table < 0)[:, :, None] | (position >= n)
        self.no_key = no_key.flatten(1)[:, None, :]  # (Q, 1, M b)


@lru_cache(maxsize=256)
def gather_of(sparsity: Sparsity, n: int, layer: int, head: int) -> Gather:
    """The index tensors depend on the arguments alone, so visitors may share them."""
    return Gather(sparsity, n, layer, head)


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
        keys = key_blocks[gather.blocks].flatten(1, 2)  # (Q, M b, d)
        scores = torch.bmm(query_blocks[gather.rows], keys.transpose(1, 2)).mul_(d**-0.5)  # (Q, b, M b)
        del keys
        weights = torch.softmax(scores.masked_fill_(gather.no_key, -torch.inf), dim=-1)
        del scores
        context[gather.rows] = torch.bmm(weights, value_blocks[gather.blocks].flatten(1, 2))
    if len(gather.ends):
        scores = (query_blocks[gather.ends].flatten(0, 1) @ key.mT).mul_(d**-0.5)  # (G b, n)
        context[gather.ends] = (torch.softmax(scores, dim=-1) @ value).view(-1, size, d)
    return context.view(total * size, d)[:n]


def by_head(query: Tensor, key: Tensor, value: Tensor, gathers: Sequence[Gather]) -> Tensor:
    """The context (R, H, n, d) of all heads, one after the other: their scores together would not fit a cache."""
    query, key, value = (part.contiguous() for part in (query, key, value))  # each head's rows side by side
    context = torch.empty_like(query)
    for row in range(len(query)):
        for head, gather in enumerate(gathers):
            context[row, head] = sparse_attention(query[row, head], key[row, head], value[row, head], gather)
    return context


@lru_cache(maxsize=16)
def _blocked(n: int, side: int, global_at: tuple[int, ...]) -> Tensor:
    """(B, w, g + 3w) True where a query may not attend to a key: outside the window or the text, or global.

    The global keys come first and every query attends to them; inside the window they would count twice.
    """
    blocks = -(-n // side)
    query = torch.arange(blocks)[:, None, None] * side + torch.arange(side)[None, :, None]
    key = (torch.arange(blocks)[:, None, None] - 1) * side + torch.arange(3 * side)[None, None, :]
    twice = torch.isin(key, torch.tensor(global_at, dtype=torch.long))
    outside = ((query - key).abs() > side) | (key < 0) | (key >= n) | twice
    return torch.cat([outside.new_zeros(blocks, side, len(global_at)), outside], dim=-1)


def by_blocks(
    query: Tensor, key: Tensor, value: Tensor, side: int, global_at: Sequence[int] = (), *, fused: bool = True
) -> Tensor:
    """Context (R, H, n, d) of the window and the global keys; all three inputs are (R, H, n, d).

    Rows of global tokens are computed as if they were not global; the caller replaces them where these have projections
    of their own. Without ``fused`` it computes plain matrix products, comparable with plain full attention.
    """
    rows, heads, n, width = query.shape
    blocked = _blocked(n, side, tuple(global_at)).to(query.device)
    blocks = len(blocked)
    fill = blocks * side - n

    def around(states: Tensor) -> Tensor:
        """(R, H, n, d) to (R H, B, g + 3w, d)."""
        near = functional.pad(states, (0, 0, side, side + fill)).unfold(2, 3 * side, side).transpose(-1, -2)
        if len(global_at):
            chosen = states[:, :, list(global_at), None].transpose(2, 3).expand(-1, -1, blocks, -1, -1)
            near = torch.cat([chosen, near], dim=3)
        return near.reshape(rows * heads, blocks, -1, width)

    queries = functional.pad(query, (0, 0, 0, fill)).reshape(rows * heads, blocks, side, width)
    if fused:
        bias = torch.zeros(blocked.shape, dtype=query.dtype, device=query.device).masked_fill(blocked, -1e4)
        context = functional.scaled_dot_product_attention(queries, around(key), around(value), attn_mask=bias[None])
    else:
        scores = (queries @ around(key).transpose(-1, -2)).mul_(width**-0.5)
        context = torch.softmax(scores.masked_fill_(blocked, -torch.inf), dim=-1) @ around(value)
    return context.reshape(rows, heads, blocks * side, width)[:, :, :n]
