r"""Word order: three neighboring tokens are shuffled and have to be put back, beside the masked ones.

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)
          - \frac{1}{|S|} \sum_{i \in S} \log p(x_i \mid \tilde x)

with :math:`M` the masked places as in `core.objectives.masked`, and :math:`S` the places of the shuffled trigrams: 5
% of the trigrams without a chosen token. A head like that of the masked tokens names the token that stood at each
place. Wang et al. (2020), arXiv:1908.04577, with K = 3; the 5 % were read in notes on the paper.

Trigrams do not overlap here, a drawn one changes its order for certain wherever its tokens differ, and one at least is
drawn where there is any.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Unpack

import numpy as np

from core.objectives import masked
from core.objectives.example import Cell, Example
from core.objectives.masked import RATE, Settings

SHARE = 0.05
SIZE = 3


def windows(count: int, closed: Collection[int], size: int = SIZE) -> tuple[int, ...]:
    """Where runs of ``size`` places begin that have none of the ``closed`` ones."""
    barred = set(closed)
    return tuple(start for start in range(count - size + 1) if not barred.intersection(range(start, start + size)))


def corrupt(
    tokens: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    share: float = SHARE,
    size: int = SIZE,
    **settings: Unpack[Settings],
) -> Example:
    """Masked tokens as BERT has them, or none where ``rate`` is 0, and runs of ``size`` others shuffled.

    The cells of a run share a ``group``; ``origin`` says where a cell's token stood.
    """
    fixed = settings.get("fixed", ())
    if settings.get("rate", RATE) > 0:
        example = masked.corrupt(tokens, vocabulary, rng, **settings)
    else:
        example = masked.hide(tokens, {}, vocabulary, rng, fixed=fixed)
    cells = list(example.source)
    closed = {*example.asked, *fixed}
    free = windows(len(cells), closed, size)
    wanted = masked.budget(len(free), share, rng) if free else 0
    for number in range(wanted):
        free = windows(len(cells), closed, size)
        if not free:
            break
        start = int(rng.choice(free))
        cells[start : start + size] = _shuffled(cells[start : start + size], number, rng)
        closed.update(range(start, start + size))
    return replace(example, source=tuple(cells))


def _shuffled(run: Sequence[Cell], number: int, rng: np.random.Generator) -> list[Cell]:
    orders = [order for order in permutations(run) if any(a.token != b.token for a, b in zip(order, run, strict=True))]
    drawn = orders[int(rng.integers(len(orders)))] if orders else tuple(run)
    return [
        Cell(
            new.token,
            target=old.token,
            change="moved" if new.token != old.token else "unchanged",
            origin=new.origin,
            group=number,
        )
        for new, old in zip(drawn, run, strict=True)
    ]
