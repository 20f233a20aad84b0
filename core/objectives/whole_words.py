r"""Whole-word masking: all tokens of a word are masked, or none of them.

In a word of several tokens the unmasked ones give the others away. Here words are sampled until 15% of the *tokens*
are masked; a word that would exceed that is skipped (`core.objectives.masked.mask_units`). Each token is still
predicted by itself, and is masked, replaced or unchanged (80, 10, 10%) by itself. The loss is that of
`core.objectives.masked`. Released with BERT's code in May 2019, without a paper.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Unpack

import numpy as np

from core.objectives import masked
from core.objectives.example import Example
from core.objectives.masked import Settings


def members(words: Sequence[int], fixed: Collection[int] = ()) -> list[tuple[int, ...]]:
    """The positions of each word, in the order of the text, from the word's number at each position."""
    positions: dict[int, list[int]] = {}
    for position in masked.ordinary(len(words), fixed):
        positions.setdefault(words[position], []).append(position)
    return [tuple(word) for word in positions.values()]


def corrupt(
    tokens: Sequence[str],
    words: Sequence[int],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    **settings: Unpack[Settings],
) -> Example:
    """As `core.objectives.masked.corrupt`; ``words`` has the number of the word at each position."""
    units = members(words, settings.get("fixed", ()))
    return masked.mask_units(tokens, units, vocabulary, rng, shared=False, **settings)
