r"""Permutation language model: tokens predicted in a random order (XLNet: Yang et al., 2019, arXiv 1906.08237).

.. math:: \max_\theta \; \mathbb{E}_{z} \Big[ \sum_{t=c+1}^{n}
          \log p_\theta(x_{z_t} \mid x_{z_1}, \dots, x_{z_{t-1}}) \Big]

z is an order of the n positions; the text itself keeps its own. Only the last :math:`n - c` positions of the order are
predicted (partial prediction), one in K: by then there is enough context. Two streams go through the layers. The
content stream of a position encodes its token; the query stream, from which the token is predicted, only its position.
`core.patterns` has the masks of both; like the released code, it lets the first c positions attend to each other in any
order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from core import patterns
from core.errors import InputUnusable
from core.objectives.example import Cell, Example, Visible

K = 6.0
"""One in K tokens is predicted, as in the paper."""


def target_count(length: int, k: float = K) -> int:
    """How many of ``length`` tokens are predicted: one in ``k``, rounded, at least one and at most all."""
    return min(length, max(1, int(length / k + 0.5)))


def last(positions: patterns.Positions, k: float, rng: np.random.Generator) -> patterns.Positions:
    """The predicted end of a random order of the positions, in that order; none where there is no position."""
    order = rng.permutation(positions)
    return np.asarray(order[len(order) - target_count(len(order), k) :], dtype=np.int64)


def corrupt(tokens: Sequence[str], order: Sequence[int], k: float = K, special: Collection[int] = ()) -> Example:
    """The text as it is, each predicted position with its own token as target.

    Args:
        tokens: n tokens, special ones included.
        order: all ordinary positions, in the order of prediction.
        k: one in so many is predicted.
        special: positions of special tokens, which are context from the start.

    Returns:
        ``visible`` has the content stream as ``encoder`` and the query stream as ``query``; ``order`` the predicted
        positions.

    Raises:
        InputUnusable: no ordinary token.
    """
    if not order:
        raise InputUnusable("There is no token to predict. Type a sentence of a few words.")
    names, predicted = tuple(tokens), tuple(order[len(order) - target_count(len(order), k) :])
    query = ~patterns.perm_mask(patterns.ranks(predicted, len(names)))
    content = query | np.eye(len(names), dtype=np.bool_)
    cells = tuple(
        Cell(
            token,
            target=token if position in predicted else None,
            change="special" if position in special else "none",
            origin=position,
        )
        for position, token in enumerate(names)
    )
    visible = (Visible("encoder", names, names, content), Visible("query", names, names, query))
    return Example(names, cells, visible=visible, order=predicted)
