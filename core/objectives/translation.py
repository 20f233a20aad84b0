r"""Translation language model: masked tokens in a sentence and its translation (XLM: Lample & Conneau, 2019, arXiv
1901.07291).

.. math:: L = -\frac{1}{|M|} \sum_{i \in M} \log p(w_i \mid \tilde x, \tilde y)

with x a sentence, y its translation, both damaged as in a masked language model (15 % of the tokens chosen; 80 % of
them masked, 10 % random, 10 % as they were), and M the chosen places of both. Every token carries its language, and
places count from 0 again in the second sentence, so that a word and its counterpart stand close to each other.
`core.language.bilingual` has the same layout for the model's numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
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
    """Both sentences in one row, each in a frame of ``end``; ``segment`` is the language, 0 or 1.

    Args:
        first, second: the sentence and its translation as tokens; ``second`` may be empty: then the first stands alone.
        vocabulary: what a random token is drawn from.
        special: tokens of the format, which are left alone where somebody typed them.

    Raises:
        InputUnusable: no token in the first sentence.
    """
    if not first:
        raise InputUnusable("There is no token to mask. Type a sentence and its translation.")
    sides = [side for side in (first, second) if side]
    row = tuple(token for side in sides for token in (end, *side, end))
    starts = np.cumsum([0, *(len(side) + 2 for side in sides)]).tolist()
    ends = {at for start, stop in pairwise(starts) for at in (start, stop - 1)}
    settings["fixed"] = ends | {at for at, token in enumerate(row) if token in special}
    made = masked.corrupt(row, vocabulary, rng, **settings)
    second_from = starts[1]
    cells = tuple(
        replace(cell, segment=int(at >= second_from), position=at - (second_from if at >= second_from else 0))
        for at, cell in enumerate(made.source)
    )
    return replace(made, source=cells)


def alone(example: Example, language: int) -> tuple[Example, int]:
    """One sentence of a pair with the same damage and nothing beside it, and where it began in the pair.

    Raises:
        InputUnusable: the pair has no sentence in this language.
    """
    places = [at for at, cell in enumerate(example.source) if cell.segment == language]
    if not places:
        raise InputUnusable("There is no sentence in that language. Type a sentence and its translation.")
    cells = tuple(example.source[at] for at in places)
    return Example(tuple(example.original[at] for at in places), cells), places[0]
