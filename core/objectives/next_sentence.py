r"""Next sentence: does B follow A, or does it come from another text?

.. math:: L = -\log p(y \mid A, B)

with :math:`y` one of the two answers, read off the last vector of [CLS]. In half of the examples B is what follows A,
in the other half it is drawn from another text. BERT adds this loss to that of the masked tokens. Devlin et al.
(2019), section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.objectives.example import Example, Label, pair

SHARE = 0.5
"""Of the examples whose B follows A."""
CHOICES = ("B follows A", "B is from another text")


def corrupt(
    first: Sequence[str],
    second: Sequence[str],
    other: Sequence[str],
    rng: np.random.Generator,
    *,
    share: float = SHARE,
    cls: str = "[CLS]",
    sep: str = "[SEP]",
) -> Example:
    """A pair that belongs together, or does not.

    Args:
        first, second: two segments that follow each other in one text.
        other: a segment of another text.
        share: probability that B is ``second``.
    """
    answer = 0 if rng.random() < share else 1
    return pair(first, (second, other)[answer], Label("next sentence", CHOICES, answer), cls=cls, sep=sep)
