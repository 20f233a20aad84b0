r"""The attention mask of a pattern: the matrix, manual edits, and its table.

The receptive field after a number of layers follows from boolean powers of the mask.

With residual connections, the output at i after l layers can depend on the input at j exactly where

.. math:: R_l = (M \vee I)^l, \qquad R_l = R_{l-1} \vee M R_{l-1}, \qquad R_0 = I

with "or" for a sum and "and" for a product, M the mask (rows are queries) and I the identity. The *level* of a pair is
the smallest l for which it is in :math:`R_l`. A window of w keys to each side reaches :math:`l w` to each side after l
layers; Beltagy et al. 2020 (arXiv 2004.05150, section 3.1) count both sides together and give :math:`l \times w`, and
:math:`l \times d \times w` for a window dilated by d.

Two streams (Yang et al. 2019, arXiv 1906.08237): the query stream starts from a vector that is the same for every token
and attends to the content stream of the layer below. With C and Q the two masks,

.. math:: G_0 = \emptyset, \qquad G_l = G_{l-1} \vee Q\,(C \vee I)^{l-1}

Cross-attention: decoder positions exchange by self-attention (mask S) what each read from the source text (mask X),
:math:`X_0 = \emptyset,\ X_l = X_{l-1} \vee S X_{l-1} \vee X`.

Legend: n tokens, Q queries, K keys. A cell's number is q K + k; a level of -1 means never.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core import patterns
from core.attention.masks.axes import Axes
from core.attention.masks.kinds import ChosenMask
from core.patterns import Mask
from core.table import Table

MOST_EDITS = 256
"""Cells that a visitor may edit, limited by the length of a URL."""


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """A mask over its axes."""

    axes: Axes
    pattern: Mask  # (Q, K)
    """The pattern of the predicate."""
    allowed: Mask  # (Q, K)
    """The pattern with the edited cells."""
    flips: tuple[int, ...]
    """The edited cells, in order."""

    @property
    def count(self) -> int:
        """Pairs for which a score is computed."""
        return int(self.allowed.sum())

    @property
    def share(self) -> float:
        """The allowed share of all pairs, from 0 to 1."""
        return self.count / self.allowed.size

    @property
    def empty_rows(self) -> tuple[int, ...]:
        """Queries without any allowed key: their softmax is undefined."""
        return tuple(np.flatnonzero(~self.allowed.any(axis=1)).tolist())


def build_board(choice: ChosenMask, axes: Axes, flips: Collection[int] = ()) -> Board:
    """The mask with the cells in ``flips`` toggled; cells out of range are ignored."""
    pattern = patterns.mask(choice.pattern(axes), len(axes.queries), len(axes.keys))
    valid = tuple(sorted({cell for cell in flips if 0 <= cell < pattern.size}))[:MOST_EDITS]
    allowed = pattern.copy()
    allowed.flat[list(valid)] ^= True
    for matrix in (pattern, allowed):
        matrix.setflags(write=False)
    return Board(axes, pattern, allowed, valid)


def attended(row: Sequence[bool] | Mask, tokens: Sequence[str]) -> str:
    """The tokens that a row attends to, as a list in words."""
    keys = [token for token, allowed in zip(tokens, row, strict=True) if allowed]
    return "all" if len(keys) == len(tokens) else ", ".join(keys) or "none"


def mask_table(board: Board) -> Table:
    """1 where a query (row) may attend to a key (column). Names begin with the token's position."""
    rows = zip(board.axes.queries, board.allowed.astype(int).tolist(), strict=True)
    return Table(
        ("query / key", *(f"{position} {token}" for position, token in enumerate(board.axes.keys))),
        tuple((f"{position} {token}", *line) for position, (token, line) in enumerate(rows)),
    )


NEVER = -1
Levels = NDArray[np.int16]


def levels(allowed: Mask) -> Levels:
    """(n, n) layers after which a key's input can reach a query's output; 0 for a token itself."""
    return _spread(np.eye(len(allowed), dtype=np.bool_), lambda now: _times(allowed, now))


def query_stream_levels(query: Mask, content: Mask) -> Levels:
    """(n, n) :func:`levels` of the query stream over a content stream; XLNet's query mask excludes the token itself."""
    below = levels(content)
    levels_of_query = np.full(query.shape, NEVER, dtype=np.int16)
    for layer in range(1, int(below.max()) + 2):
        reached = _times(query, (below != NEVER) & (below < layer))
        levels_of_query[reached & (levels_of_query == NEVER)] = layer
    return levels_of_query


def cross_levels(cross: Mask, self_mask: Mask) -> Levels:
    """(Q, K) layers after which a source key can reach a query, with the self-attention mask ``self_mask``."""
    return _spread(np.zeros(cross.shape, dtype=np.bool_), lambda now: _times(self_mask, now) | cross)


def _spread(now: Mask, layer: Callable[[Mask], Mask]) -> Levels:
    """The first layer after which each pair is reached; ``layer`` extends the pairs reached so far by one layer."""
    levels = np.where(now, 0, NEVER).astype(np.int16)
    for number in itertools.count(1):
        added = layer(now) & ~now
        if not added.any():
            return levels
        levels[added] = number
        now = now | added
    raise AssertionError("the receptive field only grows")


def layers_needed(levels: Levels) -> int:
    """The number of layers after which the receptive field no longer grows."""
    return max(0, int(levels.max(initial=0)))


def receptive_field(levels: Levels, layers: int) -> Mask:
    """True where a key can influence a query after ``layers`` layers."""
    return np.asarray((levels != NEVER) & (levels <= layers))


def _times(left: Mask, right: Mask) -> Mask:
    """The product with "or" for a sum; float32 counts to 2^24 exactly."""
    return np.asarray(left.astype(np.float32) @ right.astype(np.float32) > 0)
