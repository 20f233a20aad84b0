r"""The order of two sentences: ALBERT's question, and StructBERT's with a third answer.

Both read A and B and answer once, at [CLS]:

.. math:: L = -\log p(y \mid A, B)

ALBERT always takes two segments that follow each other and swaps them in half of the examples: the topic does not
help, as it does in next sentence. Lan et al. (2020), section 3.1. StructBERT asks whether B comes after A, before A,
or from another text, a third of the examples each. Wang et al. (2020), arXiv:1908.04577.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.objectives.example import Example, Label, pair

SHARE = 0.5
"""Of the examples in the text's own order."""
TWO = ("in the text's order", "swapped")
THREE = ("B comes after A", "B comes before A", "B is from another text")


def corrupt(
    first: Sequence[str],
    second: Sequence[str],
    rng: np.random.Generator,
    *,
    share: float = SHARE,
    cls: str = "[CLS]",
    sep: str = "[SEP]",
) -> Example:
    """Two neighboring segments, in their order with probability ``share``, else swapped."""
    answer = 0 if rng.random() < share else 1
    return _ordered(first, second, Label("sentence order", TWO, answer), cls, sep)


def three_way(
    first: Sequence[str],
    second: Sequence[str],
    other: Sequence[str],
    rng: np.random.Generator,
    *,
    cls: str = "[CLS]",
    sep: str = "[SEP]",
) -> Example:
    """Two neighboring segments in their order, swapped, or the first beside ``other``: equally likely."""
    answer = int(rng.integers(3))
    label = Label("sentence order", THREE, answer)
    return pair(first, other, label, cls=cls, sep=sep) if answer == 2 else _ordered(first, second, label, cls, sep)


def _ordered(first: Sequence[str], second: Sequence[str], label: Label, cls: str, sep: str) -> Example:
    if label.answer:
        return pair(second, first, label, cls=cls, sep=sep, first=len(first))
    return pair(first, second, label, cls=cls, sep=sep)
