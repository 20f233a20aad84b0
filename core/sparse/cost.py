"""How many scores attention computes, and how many bytes they take. Exact counts, no estimates.

    full      n²                         scores for n tokens in one head of one layer
    sparse    Σ over pairs of blocks that are computed:  tokens in the query block × tokens in the key block

Counted over real tokens: the filling of the last block is computed by both the library and by us, but it is no score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.sparse.layout import KIND_NAMES, Sparsity

BYTES_PER_SCORE = 4
"""float32, in which the models run here."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Scores of one head of one layer for a text of ``tokens`` tokens."""

    tokens: int
    full: int
    sparse: int
    by_kind: tuple[tuple[str, int], ...]
    """(kind, scores) for window, global and random; they add up to ``sparse``."""

    @property
    def share(self) -> float:
        """Sparse scores as a share of full ones, from 0 to 1 (1 for an empty text)."""
        return self.sparse / self.full if self.full else 1.0


def cost(n: int, sparsity: Sparsity, layer: int = 0, head: int = 0) -> Cost:
    """The exact cost of ``n`` tokens in one head of one layer."""
    kinds = sparsity.kinds(n, layer, head)
    sizes = np.full(len(kinds), sparsity.block_size, dtype=np.int64)
    if n % sparsity.block_size:
        sizes[-1] = n % sparsity.block_size
    pairs = np.outer(sizes, sizes)
    by_kind = tuple((KIND_NAMES[kind], int(pairs[kinds == kind].sum())) for kind in (1, 2, 3))
    return Cost(tokens=n, full=n * n, sparse=sum(scores for _, scores in by_kind), by_kind=by_kind)


def curve(lengths: Sequence[int], sparsity: Sparsity) -> tuple[Cost, ...]:
    """The cost at each of the lengths (layer 0, head 0: draws of other heads differ in place, hardly in number)."""
    return tuple(cost(n, sparsity) for n in lengths)


def total_scores(n: int, layers: int, heads: int, sparsity: Sparsity | None) -> int:
    """Scores of a whole model: every layer and head, each with its own draw. None means full attention."""
    if sparsity is None:
        return n * n * layers * heads
    same = not sparsity.random_blocks or n % sparsity.block_size == 0
    if same:  # every draw has equally many whole blocks
        return cost(n, sparsity).sparse * layers * heads
    return sum(cost(n, sparsity, layer, head).sparse for layer in range(layers) for head in range(heads))
