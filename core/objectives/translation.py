r"""Translation language model: masked tokens in a sentence and its translation (XLM: Lample & Conneau, 2019, arXiv
1901.07291).

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(w_i \mid \tilde x, \tilde y)

with x a sentence, y its translation, both corrupted as in a masked language model (15% of the tokens chosen; 80% of
them masked, 10% random, 10% unchanged), and M the chosen positions of both. Every token has a language embedding, and
positions start from 0 again in the second sentence, so that a word and its translation have similar positions.
`core.language.bilingual` has the same layout for the model's numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from core.errors import InputUnusable
from core.objectives import masked
from core.objectives.example import Example
from core.objectives.masked import Settings


def corrupt(
    first: Sequence[str],
    second: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    *,
    end: str = "</s>",
    special: Collection[str] = (),
    **settings: Unpack[Settings],
) -> Example:
    """Both sentences in one row, each between two ``end`` tokens; ``segment`` is the language, 0 or 1.

    Args:
        first, second: the sentence and its translation as tokens.
        vocabulary: what a random token is sampled from.
        special: special tokens, which stay unchanged where a visitor typed them.

    Raises:
        InputUnusable: no token in the first sentence.
    """
    if not first:
        raise InputUnusable("There is no token to mask. Type a sentence and its translation.")
    row = (end, *first, end, end, *second, end)
    start = len(first) + 2
    settings["fixed"] = {0, start - 1, start, len(row) - 1} | {at for at, token in enumerate(row) if token in special}
    example = masked.corrupt(row, vocabulary, rng, **settings)
    cells = (
        replace(cell, segment=int(at >= start), position=at if at < start else at - start)
        for at, cell in enumerate(example.source)
    )
    return replace(example, source=tuple(cells))


def alone(example: Example, language: int) -> Example:
    """One sentence of a pair with the same masks."""
    positions = [at for at, cell in enumerate(example.source) if cell.segment == language]
    return Example(tuple(example.original[at] for at in positions), tuple(example.source[at] for at in positions))
