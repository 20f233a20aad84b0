r"""Causal language model: each token is predicted from the tokens before it.

.. math:: L = -\frac{1}{n} \sum_{i=1}^{n} \log p(x_i \mid x_0, \dots, x_{i-1})

with :math:`x_0` the token that begins a text. Radford et al. (2018), equation 1, for GPT. The input is not corrupted:
the causal mask alone hides the targets.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.objectives import example
from core.objectives.example import Cell, Example


def corrupt(tokens: Sequence[str], begin: str | None = None) -> Example:
    """The input with its targets, which are the input shifted by one position.

    Args:
        tokens: the text as tokens.
        begin: the token before the first. Without it the first token is never predicted.

    Returns:
        ``source`` has as many positions as there are targets: all tokens but the last, after ``begin``.
    """
    original = tuple(tokens)
    first = [] if begin is None or not original else [Cell(begin, tokens[0], "special")]
    cells = (*first, *(Cell(token, original[at + 1], origin=at) for at, token in enumerate(original[:-1])))
    return Example(original, cells, visible=(example.causal(cells),))
