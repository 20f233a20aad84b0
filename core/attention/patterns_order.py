"""Patterns of a factorisation order: XLNet's two streams as predicates (Yang et al. 2019, arXiv 1906.08237).

The rule is that of :mod:`core.language.orders`, where it is explained: ranks say when a token is found (0: known from
the start). The query stream, which has to find a token, sees what is known and what was found before; the content
stream, which knows the token, sees itself, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.attention.patterns import Mask, Pattern, Positions, union, window
from core.language import orders


def query_stream(order: Sequence[int], n: int) -> Pattern:
    """A token that is found sees the known ones and those found before it; never itself.

    Args:
        order: places in the order in which they are found; those of the ``n`` places that are not in it are known.
    """
    seen = ~orders.blind(orders.ranks(order, n))

    def allows(query: Positions, key: Positions) -> Mask:
        return np.asarray(seen[query, key])

    return allows


def content_stream(order: Sequence[int], n: int) -> Pattern:
    """As :func:`query_stream`, and every token sees itself."""
    return union(query_stream(order, n), window(0))


def drawn(n: int, seed: int) -> tuple[int, ...]:
    """An order of all ``n`` places; seed 0 is from left to right, the others are drawn with numpy's PCG64."""
    if seed == 0:
        return tuple(range(n))
    return tuple(np.random.Generator(np.random.PCG64(seed)).permutation(n).tolist())
