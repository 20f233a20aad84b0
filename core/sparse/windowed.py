r"""Sliding-window attention with global tokens (Longformer: Beltagy et al., 2020, arXiv 2004.05150), twice.

A token :math:`i` that is not global attends to the window :math:`|i - j| \le w` and the global tokens :math:`G`; a
global one attends to all, with projections of its own:

.. math:: h_i = \operatorname{softmax}\!\left(\frac{q_i\,[K_G\;K_{i-w..i+w}]^{\top}}{\sqrt d}\right)[V_G\;V_{i-w..i+w}]

    by mask    all n x n scores, with -inf outside the pattern: the reference
    by blocks  the text is split into blocks of w; a block's queries are multiplied with three blocks of keys and the
               global keys: (3w + g) n scores, of which those beyond the window are masked

Legend: R rows, H heads, n tokens, d head dimension, w one side of the window, g global tokens, B = ceil(n / w) blocks.

A token attends to another when they are at most w tokens apart, or one of the two is global. The counts of scores
and of layers are exact and need no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from core.lazy import Tensor, functional, torch
from core.patterns.layout import GLOBAL, NONE, WINDOW, Cost


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


SIDES = (16, 32, 64, 128, 256)
"""Reaches of the window on one side that the page offers."""
MOST_GLOBAL = 16
"""Global tokens that a visitor may choose."""


def kinds(n: int, side: int, global_at: Sequence[int], cell: int) -> NDArray[np.uint8]:
    """The kind of each cell of ``cell`` x ``cell`` pairs of tokens, (cells, cells): of the strongest pair in it."""
    count = -(-n // cell)
    at = np.arange(count)
    apart = np.abs(at[:, None] - at[None, :])
    nearest = np.maximum(0, (apart - 1) * cell + 1) * (apart > 0)  # tokens between the nearest two of a pair of cells
    pattern = np.where(nearest <= side, WINDOW, NONE).astype(np.uint8)
    marked = np.unique(np.asarray(global_at, dtype=np.int64) // cell)
    pattern[marked] = GLOBAL
    pattern[:, marked] = GLOBAL
    return pattern


def cost(n: int, side: int, global_at: Sequence[int]) -> Cost:
    """Scores of one head over n tokens, counted: window pairs, and pairs with a global token that the window lacks."""
    at = np.arange(n)
    low, high = np.maximum(at - side, 0), np.minimum(at + side, n - 1)
    chosen = np.zeros(n, dtype=bool)
    chosen[[position for position in global_at if position < n]] = True
    before = np.concatenate([[0], np.cumsum(chosen)])
    inside = before[high + 1] - before[low]  # global tokens within each token's window
    plain = ~chosen
    window = int((high - low + 1 - inside)[plain].sum())
    globally = int(plain.sum()) * int(chosen.sum()) + int(chosen.sum()) * n
    return Cost(n, n * n, window + globally, (("window", window), ("global", globally)))


def steps(side: int, global_at: Sequence[int], start: int, end: int) -> int:
    """Layers that information needs from position ``start`` to ``end``, through windows or a global token."""
    if start == end:
        return 0
    windows = -(-abs(start - end) // side)
    if start in global_at or end in global_at:
        return 1
    return min(windows, 2) if global_at else windows
