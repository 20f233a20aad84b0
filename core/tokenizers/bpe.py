r"""Byte-pair encoding of one word, join by join.

A vocabulary of this kind is a list of joins (a, b) -> ab in the order in which they were learnt, and the place of a
join in that list is its rank r. A word begins as its letters (or its bytes). Then, as long as any neighboring pair is
in the list,

.. math:: (i^*) = \arg\min_i r(s_i, s_{i+1}), \qquad s_{i^*} s_{i^*+1} \to \text{one piece},

the earliest learnt first and, among equals, the leftmost. Sennrich et al. (2016), section 3.2, for letters; GPT-2
begins with the 256 bytes. Tests hold the result to the `tokenizers` library's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.language.tokens import byte_alphabet

Ranks = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Join:
    """One step: which pair became one piece."""

    at: int
    """Index of the left piece before the step."""
    left: str
    right: str
    rank: int
    """The join's place in the list, from 0."""
    pieces: tuple[str, ...]
    """All pieces after the step."""
    candidates: int
    """How many neighboring pairs of the list there were to choose from."""


def joins(symbols: Sequence[str], ranks: Ranks) -> tuple[Join, ...]:
    """Every step from ``symbols`` (letters, or bytes in their stand-ins) to the pieces of the word."""
    pieces = list(symbols)
    steps: list[Join] = []
    while True:
        known = [(ranks[pair], i) for i, pair in enumerate(pairwise(pieces)) if pair in ranks]
        if not known:
            return tuple(steps)
        rank, at = min(known)
        left, right = pieces[at], pieces[at + 1]
        pieces[at : at + 2] = [left + right]
        steps.append(Join(at, left, right, rank, tuple(pieces), len(known)))


def encode(symbols: Sequence[str], ranks: Ranks) -> tuple[str, ...]:
    """The pieces that are left when nothing can be joined any more."""
    steps = joins(symbols, ranks)
    return steps[-1].pieces if steps else tuple(symbols)


def symbols(word: str, end: str = "") -> tuple[str, ...]:
    """What the joins begin with: the signs of a prepared word, the last one with the mark ``end``."""
    return (*word[:-1], word[-1] + end) if word else ()


def bytes_of(text: str) -> tuple[str, ...]:
    """The bytes of ``text`` in UTF-8, each as byte-level BPE writes it: one printable character."""
    stand_ins = {byte: sign for sign, byte in byte_alphabet().items()}
    return tuple(stand_ins[byte] for byte in text.encode())
