"""A choice of masks laid over axes: the matrix, what was changed by hand, how many scores, and its table.

Legend: Q queries, K keys. A cell's number is q K + k.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from core import patterns
from core.attention.masks.axes import Axes
from core.attention.masks.kinds import Choice
from core.patterns import Mask
from core.table import Table

MOST_EDITS = 256
"""Cells that may be changed by hand: as many as a link has room for."""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """A mask over its axes."""

    axes: Axes
    pattern: Mask  # (Q, K)
    """As the predicate says."""
    allowed: Mask  # (Q, K)
    """With the cells that were changed by hand."""
    flips: tuple[int, ...]
    """The cells that were changed, in order."""

    @property
    def count(self) -> int:
        """Pairs for which a score is computed."""
        return int(self.allowed.sum())

    @property
    def share(self) -> float:
        """Of all pairs, from 0 to 1."""
        return self.count / self.allowed.size

    @property
    def blind(self) -> tuple[int, ...]:
        """Queries without any allowed key: their softmax is undefined."""
        return tuple(np.flatnonzero(~self.allowed.any(axis=1)).tolist())


def lay(choice: Choice, axes: Axes, flips: Collection[int] = ()) -> Board:
    """The mask with the cells in ``flips`` turned over; cells that it does not have are passed over."""
    pattern = patterns.mask(choice.pattern(axes), len(axes.queries), len(axes.keys))
    kept = tuple(sorted({cell for cell in flips if 0 <= cell < pattern.size}))[:MOST_EDITS]
    allowed = pattern.copy()
    allowed.flat[list(kept)] ^= True
    for matrix in (pattern, allowed):
        matrix.setflags(write=False)
    return Board(axes, pattern, allowed, kept)


def count(choice: Choice, axes: Axes) -> int:
    """Scores of the predicate over axes of any length, pair by pair, without a matrix of all of them."""
    if not axes.square:
        return int(patterns.mask(choice.pattern(axes), len(axes.queries), len(axes.keys)).sum())
    return patterns.count(choice.pattern(axes), len(axes.keys))


def seen(row: Sequence[bool] | Mask, tokens: Sequence[str]) -> str:
    """The tokens of a row in words."""
    there = [token for token, is_there in zip(tokens, row, strict=True) if is_there]
    return "all" if len(there) == len(tokens) else ", ".join(there) or "none"


def mask_table(board: Board) -> Table:
    """1 where a query (row) may attend to a key (column). Names begin with the token's position."""
    rows = zip(board.axes.queries, board.allowed.astype(int).tolist(), strict=True)
    return Table(
        ("query / key", *(f"{position} {token}" for position, token in enumerate(board.axes.keys))),
        tuple((f"{position} {token}", *line) for position, (token, line) in enumerate(rows)),
    )
