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

from collections.abc import Collection, Iterator, Sequence
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
    shut = set(closed)
    return tuple(start for start in range(count - SIZE + 1) if shut.isdisjoint(range(start, start + SIZE)))


def sample(starts: Sequence[int], rng: np.random.Generator, share: float = SHARE) -> Iterator[int]:
    """Where the sampled trigrams begin: ``share`` of the ``starts``, one at least, none that overlaps another."""
    free = np.asarray(starts, dtype=np.int64)
    for _ in range(masked.budget(len(free), share, rng) if len(free) else 0):
        if not len(free):
            return
        start = int(rng.choice(free))
        yield start
        free = free[abs(free - start) >= SIZE]


def order(trigram: Sequence[object], rng: np.random.Generator) -> tuple[int, ...]:
    """The order that three tokens get: another one, unless all are equal."""
    orders = [o for o in permutations(range(SIZE)) if any(trigram[i] != trigram[at] for at, i in enumerate(o))]
    return orders[int(rng.integers(len(orders)))] if orders else tuple(range(SIZE))


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
    free = windows(len(cells), {*example.targets, *fixed})
    for number, start in enumerate(sample(free, rng)):
        cells[start : start + SIZE] = _shuffled(cells[start : start + SIZE], number, rng)
    return replace(example, source=tuple(cells))


def _shuffled(trigram: Sequence[Cell], number: int, rng: np.random.Generator) -> list[Cell]:
    return [
        Cell(
            new.token,
            target=old.token,
            change="moved" if new.token != old.token else "unchanged",
            origin=new.origin,
            group=number,
        )
        for new, old in zip((trigram[i] for i in order([c.token for c in trigram], rng)), trigram, strict=True)
    ]
