r"""Causal language model: every token is asked of the tokens before it.

.. math:: L = -\frac{1}{n} \sum_{i=1}^{n} \log p(x_i \mid x_0, \dots, x_{i-1})

with :math:`x_0` the token that begins a text. Radford et al. (2018), equation 1, for GPT. Nothing is damaged: the
causal mask alone keeps the answer from being read off.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.objectives import example
from core.objectives.example import Cell, Example


def corrupt(tokens: Sequence[str], begin: str | None = None) -> Example:
    """The input beside its targets, which are the input one place on.

    Args:
        tokens: the text as the tokeniser cuts it.
        begin: what the model reads before the first token. Without it the first token is never asked.

    Returns:
        ``source`` has as many places as there are targets: all tokens but the last, after ``begin``.
    """
    original = tuple(tokens)
    read = original if begin is None else (begin, *original)
    first = 0 if begin is None else -1
    cells = tuple(
        Cell(
            token,
            target=read[place + 1],
            change="special" if begin is not None and place == 0 else "kept",
            origin=None if place + first < 0 else place + first,
        )
        for place, token in enumerate(read[:-1])
    )
    return Example(original, cells, visible=(example.causal(cells),))
