r"""Replaced token detection: a generator fills masked positions, a discriminator classifies every token.

.. math:: L = L_{MLM} + 50 \cdot \frac{1}{n} \sum_t -\big[r_t \log D_t + (1 - r_t) \log (1 - D_t)\big]

with :math:`L_{MLM}` the loss of the masked tokens for the generator, :math:`D_t` the discriminator's
probability that token :math:`t` was replaced, and :math:`r_t = 1` where it differs from the original one: a sample that
equals it counts as original. 15% of the tokens are masked. Clark et al. (2020), arXiv:2003.10555; the weight of 50 and
25% for the large model are those of the released configuration.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from core.objectives import example, masked
from core.objectives.example import Cell, Example
from core.objectives.masked import RATE

WEIGHT = 50.0
"""Of the discriminator's loss relative to the generator's."""
ORIGINAL, REPLACED = "original", "replaced"


def mask_tokens(
    tokens: Sequence[str],
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    mask: str = "[MASK]",
    fixed: Collection[int] = (),
) -> Example:
    """Input and targets of the generator: every chosen token is masked."""
    chosen = np.flatnonzero(masked.choose(masked.free(len(tokens), fixed), rng, rate=rate)).tolist()
    return masked.mask_tokens(tokens, dict.fromkeys(chosen, "masked"), (), rng, mask=mask, fixed=fixed)


def corrupt(tokens: Sequence[str], samples: Mapping[int, str], fixed: Collection[int] = ()) -> Example:
    """Input and targets of the discriminator, at every position but the ``fixed`` ones.

    Args:
        samples: the generator's tokens, by position.
    """
    cells = tuple(
        Cell(token, change="special", origin=position)
        if position in fixed
        else Cell(
            written := samples.get(position, token),
            REPLACED if written != token else ORIGINAL,
            "replaced" if written != token else "unchanged" if position in samples else "none",
            position,
        )
        for position, token in enumerate(tokens)
    )
    return Example(tuple(tokens), cells, visible=(example.full(cells),))
