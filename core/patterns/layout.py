"""Which blocks attend to which in BigBird, and how many scores that takes (Zaheer et al. 2020, arXiv 2007.14062).

The text is split into blocks of b tokens. A block of queries attends to

    window   the w neighboring blocks, itself in the middle
    global   g blocks at the two ends, which attend to everything themselves
    random   r more blocks, sampled per layer and head

so a text of n tokens needs about (w + g + r) b n scores, plus g b n for the global rows, instead of n².

Seeds: the random blocks of a layer and head come from numpy's PCG64 seeded with (seed, layer, head).

The cost is counted exactly, over real tokens: padding of the last block is computed but not counted.

    full      n²                         scores for n tokens in one head of one layer
    sparse    Σ over pairs of blocks that are computed:  tokens in the query block × tokens in the key block

Legend: n tokens, b block size, B = ⌈n / b⌉ blocks, R rows (blocks of queries that are not global), M blocks that one
of them attends to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import OutOfRange
from core.patterns import Pattern, blocks, global_at, mask, random, union, window

NONE, WINDOW, GLOBAL, RANDOM = 0, 1, 2, 3
KIND_NAMES: tuple[str, ...] = ("not computed", "window", "global", "random")

BLOCK_SIZES = (16, 32, 64)
LIMITS: dict[str, tuple[int, int]] = {
    "block_size": (4, 128),
    "window": (1, 15),
    "global_blocks": (0, 8),
    "random_blocks": (0, 8),
    "seed": (0, 2**31 - 1),
}
"""Smallest and largest value of each setting."""


@dataclass(frozen=True, slots=True)
class Sparsity:
    """The settings of BigBird's attention; the defaults are those of the paper's ITC variant at the library's sizes.

    Raises:
        OutOfRange: when a setting is outside :data:`LIMITS`, or the window is even.
    """

    block_size: int = 64
    window: int = 3
    """Blocks in the window, an odd number: the block itself and as many on each side."""
    global_blocks: int = 2
    """Global blocks; alternately at the beginning and at the end."""
    random_blocks: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise OutOfRange(f"{name.replace('_', ' ').capitalize()} goes from {low} to {high}, not {value}.")
        if self.window % 2 == 0:
            raise OutOfRange(f"The window is an odd number of blocks (one in the middle), not {self.window}.")

    @classmethod
    def of(cls, config: Any) -> Sparsity:
        """That of a BigBird's configuration, with the seed 0."""
        return cls(block_size=config.block_size, random_blocks=config.num_random_blocks)

    def count_blocks(self, n: int) -> int:
        """B, the number of blocks that ``n`` tokens fill; the last one may be filled in part."""
        return -(-n // self.block_size)

    def global_at(self, total: int) -> tuple[int, ...]:
        """The global ones among ``total`` blocks, in order."""
        first = -(-self.global_blocks // 2)
        last = self.global_blocks - first
        return tuple(i for i in range(total) if i < first or i >= total - last)

    def local(self, total: int) -> Pattern:
        """Window and global blocks together, as a pattern between ``total`` blocks."""
        return union(window(self.window // 2), global_at(self.global_at(total)))

    def random(self, total: int, layer: int = 0, head: int = 0) -> Pattern:
        """The random blocks of one layer and head, as a pattern between ``total`` blocks (global rows have none)."""
        return random(total, self.random_blocks, (self.seed, layer, head), without=self.local(total))

    def pattern(self, n: int, layer: int = 0, head: int = 0) -> Pattern:
        """The whole pattern between ``n`` tokens as a predicate, the reference for tests of the computation."""
        total = self.count_blocks(n)
        return blocks(union(self.local(total), self.random(total, layer, head)), self.block_size)

    def kinds(self, n: int, layer: int = 0, head: int = 0) -> NDArray[np.uint8]:
        """The kind of each pair of blocks, shape (B, B): :data:`NONE`, :data:`WINDOW`, :data:`GLOBAL`, :data:`RANDOM`.

        Where window and global overlap the pair counts as global.
        """
        total = self.count_blocks(n)
        kinds = np.zeros((total, total), dtype=np.uint8)
        kinds[mask(self.random(total, layer, head), total)] = RANDOM
        kinds[mask(window(self.window // 2), total)] = WINDOW
        kinds[mask(global_at(self.global_at(total)), total)] = GLOBAL
        return kinds

    def table(self, n: int, layer: int = 0, head: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What the block-sparse computation gathers.

        Returns:
            rows: the R blocks of queries that are not global, shape (R,).
            attended: the blocks that each of them attends to, shape (R, M), padded with −1 where there are fewer.
        """
        kinds = self.kinds(n, layer, head)
        ends = set(self.global_at(len(kinds)))
        rows = [i for i in range(len(kinds)) if i not in ends]
        lists = [np.flatnonzero(kinds[row]) for row in rows]
        width = max((len(attended) for attended in lists), default=0)
        attended = np.full((len(rows), width), -1, dtype=np.int64)
        for i, row in enumerate(lists):
            attended[i, : len(row)] = row
        return np.asarray(rows, dtype=np.int64), attended


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
    """The cost at each of the lengths (layer 0, head 0: other heads sample other blocks, of nearly the same number)."""
    return tuple(cost(n, sparsity) for n in lengths)


def total_scores(n: int, layers: int, heads: int, sparsity: Sparsity | None) -> int:
    """Scores of a whole model: every layer and head, each with its own random blocks. None means full attention."""
    if sparsity is None:
        return n * n * layers * heads
    same = not sparsity.random_blocks or n % sparsity.block_size == 0
    if same:  # every head has equally many whole blocks
        return cost(n, sparsity).sparse * layers * heads
    return sum(cost(n, sparsity, layer, head).sparse for layer in range(layers) for head in range(heads))
