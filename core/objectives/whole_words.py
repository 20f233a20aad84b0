r"""Whole-word masking: all tokens of a word are masked, or none of them.

In a word of several tokens the unmasked ones give the others away. Here words are sampled until 15 % of the *tokens*
are masked; a word that would exceed that is skipped (`core.objectives.masked.hide_units`). Each token is still
predicted by itself, and is masked, replaced or unchanged (80, 10, 10 %) by itself. The loss is that of
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
    places: dict[int, list[int]] = {}
    for place in masked.ordinary(len(words), fixed):
        places.setdefault(words[place], []).append(place)
    return [tuple(word) for word in places.values()]


def corrupt(
    tokens: Sequence[str],
    words: Sequence[int],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    **settings: Unpack[Settings],
) -> Example:
    """As `core.objectives.masked.corrupt`; ``words`` has the number of the word at each position."""
    units = members(words, settings.get("fixed", ()))
    return masked.hide_units(tokens, units, vocabulary, rng, shared=False, **settings)
