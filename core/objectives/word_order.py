r"""Word order: three neighboring tokens are shuffled and reconstructed, beside the masked ones.

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)
          - \frac{1}{|S|} \sum_{i \in S} \log p(x_i \mid \tilde x)

with :math:`M` the masked positions as in `core.objectives.masked`, and :math:`S` those of the shuffled trigrams: 5% of
the trigrams without a chosen token. A head like that of the masked tokens predicts the original token at each position.
Wang et al. (2020), arXiv:1908.04577, with K = 3; the 5% were read in notes on the paper.

Trigrams do not overlap here, a sampled one changes its order whenever its tokens differ, and at least one is sampled
where there is any.
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


def windows(count: int, closed: Collection[int]) -> tuple[int, ...]:
    """Where trigrams begin that contain none of the ``closed`` positions."""
    return tuple(start for start in range(count - SIZE + 1) if not set(closed) & set(range(start, start + SIZE)))


def corrupt(
    tokens: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    **settings: Unpack[Settings],
) -> Example:
    """Masked tokens as in BERT, or none where ``rate`` is 0, and trigrams of others shuffled.

    The cells of a trigram share a ``group``; ``origin`` is the position that a cell's token comes from.
    """
    fixed = settings.get("fixed", ())
    if settings.get("rate", RATE) > 0:
        example = masked.corrupt(tokens, vocabulary, rng, **settings)
    else:
        example = masked.mask_tokens(tokens, {}, vocabulary, rng, fixed=fixed)
    cells = list(example.source)
    closed = {*example.targets, *fixed}
    free = windows(len(cells), closed)
    for number in range(masked.budget(len(free), SHARE, rng) if free else 0):
        if not (free := windows(len(cells), closed)):
            break
        start = int(rng.choice(free))
        cells[start : start + SIZE] = _shuffled(cells[start : start + SIZE], number, rng)
        closed.update(range(start, start + SIZE))
    return replace(example, source=tuple(cells))


def _shuffled(trigram: Sequence[Cell], number: int, rng: np.random.Generator) -> list[Cell]:
    orders = [
        order for order in permutations(trigram) if any(a.token != b.token for a, b in zip(order, trigram, strict=True))
    ]
    order_chosen = orders[int(rng.integers(len(orders)))] if orders else tuple(trigram)
    return [
        Cell(
            new.token,
            target=old.token,
            change="moved" if new.token != old.token else "unchanged",
            origin=new.origin,
            group=number,
        )
        for new, old in zip(order_chosen, trigram, strict=True)
    ]
