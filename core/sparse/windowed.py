r"""Sliding-window attention with global tokens (Longformer: Beltagy et al., 2020, arXiv 2004.05150).

A token :math:`i` that is not global attends to the window :math:`|i - j| \le w` and the global tokens :math:`G`; a
global one attends to all, with projections of its own:

.. math:: h_i = \operatorname{softmax}\!\left(\frac{q_i\,[K_G\;K_{i-w..i+w}]^{\top}}{\sqrt d}\right)[V_G\;V_{i-w..i+w}]

A token attends to another when they are at most w tokens apart, or one of the two is global. The counts of scores
and of layers are exact and need no torch. Legend: n tokens, w one side of the window.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.patterns.layout import GLOBAL, NONE, WINDOW, Cost

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
