r"""Permutation language model: tokens found in an order drawn at random (XLNet: Yang et al., 2019, arXiv 1906.08237).

.. math:: \max_\theta \; \mathbb{E}_{z} \Big[ \sum_{t=c+1}^{n}
          \log p_\theta(x_{z_t} \mid x_{z_1}, \dots, x_{z_{t-1}}) \Big]

z is an order of the n places; the text itself keeps its own. Only the last :math:`n - c` places of the order are asked
(partial prediction), one in K: by then enough is known. Two streams go through the layers. The content stream of a
place knows what stands there; the query stream, which has to find it, knows only where it is. `core.patterns`
has the masks of both; like the released code, it takes the first c places as known to each other in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core import patterns
from core.errors import InputUnusable, OutOfRange
from core.objectives.example import Cell, Example, Visible

K = 6.0
"""One token in so many is asked, as in the paper's runs."""


def asked(length: int, k: float = K) -> int:
    """How many of ``length`` tokens are asked: one in ``k``, rounded, at least one and at most all."""
    return min(length, max(1, int(length / k + 0.5)))


def last(places: patterns.Positions, k: float, rng: np.random.Generator) -> patterns.Positions:
    """The asked end of a random order of the places, in that order; none where there is no place."""
    drawn = rng.permutation(places)
    return np.asarray(drawn[len(drawn) - asked(len(drawn), k) :], dtype=np.int64)


def corrupt(
    tokens: Sequence[str],
    rng: np.random.Generator,
    *,
    k: float = K,
    order: Sequence[int] | None = None,
    special: Sequence[int] = (),
) -> Example:
    """The text as it is, each asked place with its own token as target.

    Args:
        tokens: n tokens as the tokeniser cuts the text, its frame included.
        k: one in so many is asked.
        order: all ordinary places, in the order in which they are found; drawn where it is None.
        special: places of the tokeniser's frame, which are known and never asked.

    Returns:
        ``visible`` has the content stream as ``encoder`` and the query stream as ``query``; ``order`` the asked places.

    Raises:
        InputUnusable: no ordinary token.
        OutOfRange: an order that does not name every ordinary place once.
    """
    original = tuple(tokens)
    ordinary = [place for place in range(len(original)) if place not in special]
    if not ordinary:
        raise InputUnusable("There is no token to predict. Type a sentence of a few words.")
    if order is None:
        found = tuple(last(np.array(ordinary), k, rng).tolist())
    elif sorted(order) == ordinary:
        found = tuple(int(place) for place in order[len(order) - asked(len(order), k) :])
    else:
        raise OutOfRange(f"An order of this text names each of its {len(ordinary)} tokens once.")
    query = ~patterns.blind(patterns.ranks(found, len(original)))
    content = query | np.eye(len(original), dtype=np.bool_)
    cells = tuple(
        Cell(
            token,
            target=token if place in found else None,
            change="special" if place in special else "kept",
            origin=place,
        )
        for place, token in enumerate(original)
    )
    visible = (Visible("encoder", original, original, content), Visible("query", original, original, query))
    return Example(original, cells, visible=visible, order=found)
