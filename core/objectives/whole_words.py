r"""Whole words hidden: all pieces of a word, or none of them.

A word of several pieces is half given away by the pieces that stay. Here words are drawn until 15 % of the *tokens*
are hidden; what would exceed that is passed over. Each piece is still guessed by itself, and meets its own fate of
80, 10 and 10 %. The loss is that of `core.objectives.masked`. Released with BERT's code in May 2019, without a paper.

Where even the shortest drawn word would exceed the number, the first one drawn is hidden all the same: a text that asks
nothing teaches nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Unpack

import numpy as np

from core.objectives import masked
from core.objectives.example import Example
from core.objectives.masked import RATE, Settings


def members(words: Sequence[int], fixed: Collection[int] = ()) -> list[tuple[int, ...]]:
    """The places of each word, in the order of the text, from the word's number at each place."""
    found: dict[int, list[int]] = {}
    for place in masked.ordinary(len(words), fixed):
        found.setdefault(words[place], []).append(place)
    return [tuple(places) for places in found.values()]


def choose(
    words: Sequence[int], rng: np.random.Generator, *, rate: float = RATE, fixed: Collection[int] = ()
) -> tuple[tuple[int, ...], ...]:
    """The words to hide, each as its places, in the order of the text."""
    all_words = members(words, fixed)
    if not all_words:
        return ()
    room = masked.budget(sum(map(len, all_words)), rate, rng)
    chosen: list[tuple[int, ...]] = []
    order = rng.permutation(len(all_words))
    for index in order:
        if len(all_words[index]) <= room:
            chosen.append(all_words[index])
            room -= len(all_words[index])
    return tuple(sorted(chosen or [all_words[order[0]]]))


def corrupt(
    tokens: Sequence[str],
    words: Sequence[int],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    **settings: Unpack[Settings],
) -> Example:
    """As `core.objectives.masked.corrupt`; ``words`` has the number of the word at each place."""
    chosen = choose(words, rng, rate=settings.get("rate", RATE), fixed=settings.get("fixed", ()))
    return masked.hide_groups(tokens, chosen, vocabulary, rng, shared=False, **settings)
