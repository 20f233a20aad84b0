r"""Prefix language model: the first part of a text is context, the rest predicted (Raffel et al., 2019, section 3.2).

.. math:: L = -\frac{1}{n - c} \sum_{i=c+1}^{n} \log p(x_i \mid x_1, \dots, x_{i-1})

where the first c tokens, the prefix, attend to each other in both directions, and the others only to what precedes. One
stack does what an encoder and a decoder do: the mask is full over the prefix and causal after it. The prefix has no
loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.errors import InputUnusable
from core.objectives.example import Cell, Example, Visible


def corrupt(tokens: Sequence[str], rng: np.random.Generator, prefix: int | None = None) -> Example:
    """All tokens but the last as input; targets are those after the prefix.

    Args:
        tokens: n tokens.
        prefix: length of the prefix, 1 to n - 1; sampled uniformly where it is None.

    Raises:
        InputUnusable: fewer than two tokens.
    """
    original = tuple(tokens)
    if len(original) < 2:
        raise InputUnusable("A single token leaves no continuation to predict. Type a sentence of a few words.")
    length = prefix or int(rng.integers(1, len(original)))
    names = original[:-1]
    cells = tuple(
        Cell(token, original[at + 1] if at + 1 >= length else None, origin=at, segment=int(at >= length))
        for at, token in enumerate(names)
    )
    allowed = np.tri(len(names), dtype=np.bool_) | (np.arange(len(names)) < length)
    return Example(original, cells, visible=(Visible("decoder", names, names, np.asarray(allowed)),))
