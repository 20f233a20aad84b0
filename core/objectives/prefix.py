r"""Prefix language model: the first part of a text is given, the rest is written (Raffel et al., 2019, section 3.2).

.. math:: L = -\frac{1}{n - c} \sum_{i=c+1}^{n} \log p(x_i \mid x_1, \dots, x_{i-1})

where the first c tokens, the prefix, look at each other in both directions, and the others only back. One stack does
what an encoder and a decoder do: the mask is full over the prefix and causal after it. No loss is taken on the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.errors import InputUnusable, OutOfRange
from core.objectives.example import Bools, Cell, Example, Visible


def sees(length: int, prefix: int) -> Bools:
    """(length, length) True where the row's place may look at the column's: before it, or in the prefix."""
    return np.asarray(np.tri(length, dtype=np.bool_) | (np.arange(length) < prefix), dtype=np.bool_)


def corrupt(tokens: Sequence[str], rng: np.random.Generator, prefix: int | None = None) -> Example:
    """All tokens but the last as input; targets are those after the prefix.

    Args:
        tokens: n tokens.
        prefix: how many of them are given, 1 to n - 1; drawn evenly where it is None.

    Raises:
        InputUnusable: fewer than two tokens.
        OutOfRange: a prefix that leaves nothing to read or to write.
    """
    original = tuple(tokens)
    if len(original) < 2:
        raise InputUnusable("A single token leaves no continuation to predict. Type a sentence of a few words.")
    given = int(rng.integers(1, len(original))) if prefix is None else prefix
    if not 1 <= given < len(original):
        raise OutOfRange(f"A prefix of this text has 1 to {len(original) - 1} tokens, not {given}.")
    cells = tuple(
        Cell(token, original[at + 1] if at + 1 >= given else None, origin=at, segment=int(at >= given))
        for at, token in enumerate(original[:-1])
    )
    names = original[:-1]
    return Example(original, cells, visible=(Visible("decoder", names, names, sees(len(names), given)),))
