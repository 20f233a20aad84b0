r"""Byte-pair encoding of one word, merge by merge.

A BPE vocabulary is a list of merges (a, b) -> ab in the order in which they were learned; the index of a merge in the
list is its rank r. A word starts as its characters (or its bytes). Then, as long as any adjacent pair is in the list,

.. math:: (i^*) = \arg\min_i r(s_i, s_{i+1}), \qquad s_{i^*} s_{i^*+1} \to \text{one token},

the pair with the lowest rank is merged and, among equals, the leftmost. Sennrich et al. (2016), section 3.2, for
characters; GPT-2 starts from the 256 bytes. Tests compare the result with the `tokenizers` library's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Ranks = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Merge:
    """One step: which pair became one token."""

    at: int
    """Index of the left token before the step."""
    left: str
    right: str
    rank: int
    """The merge's index in the list, from 0."""
    pieces: tuple[str, ...]
    """All tokens after the step."""
    candidates: int
    """How many adjacent pairs are in the list before the step."""


def merges(symbols: Sequence[str], ranks: Ranks) -> tuple[Merge, ...]:
    """Every step from ``symbols`` (characters, or bytes as printable characters) to the tokens of the word."""
    pieces = list(symbols)
    steps: list[Merge] = []
    while True:
        candidates = [(ranks[pair], i) for i, pair in enumerate(pairwise(pieces)) if pair in ranks]
        if not candidates:
            return tuple(steps)
        rank, at = min(candidates)
        left, right = pieces[at], pieces[at + 1]
        pieces[at : at + 2] = [left + right]
        steps.append(Merge(at, left, right, rank, tuple(pieces), len(candidates)))


def encode(symbols: Sequence[str], ranks: Ranks) -> tuple[str, ...]:
    """The tokens of a word after all merges."""
    steps = merges(symbols, ranks)
    return steps[-1].pieces if steps else tuple(symbols)


def symbols(word: str, end: str = "") -> tuple[str, ...]:
    """The initial symbols: the characters of a pre-tokenized word, the last one with the suffix ``end``."""
    return (*word[:-1], word[-1] + end) if word else ()
