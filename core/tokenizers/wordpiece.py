"""WordPiece on one word: from the left, always the longest piece of the vocabulary that fits, every try recorded.

From place i the pieces w[i:n], w[i:n-1], ..., w[i:i+1] are looked up in this order, with ``##`` before them where
i > 0; the first that is in the vocabulary is taken, and the search goes on at its end. Where none fits, the whole word
is unknown: nothing of it is kept. The vocabulary itself comes from Schuster & Nakajima (2012) and Wu et al. (2016); the
greedy search is BERT's. Words of more than 100 characters are unknown at once. Tests hold the result to the
`tokenizers` library's.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

PREFIX = "##"
MOST = 100


@dataclass(frozen=True, slots=True)
class Try:
    """One look into the vocabulary: the stretch of the word from ``start`` to ``end``."""

    start: int
    end: int
    piece: str
    """As the vocabulary would write it."""
    found: bool


@dataclass(frozen=True, slots=True)
class Match:
    """All tries for a word, and its pieces; None where the word is unknown."""

    word: str
    tries: tuple[Try, ...]
    pieces: tuple[str, ...] | None


def match(word: str, vocabulary: Container[str], prefix: str = PREFIX, most: int = MOST) -> Match:
    """Cut ``word`` greedily.

    Args:
        word: one word, as the tokeniser's own preparation leaves it (lower-cased, without blanks).
        vocabulary: the pieces; those that go on begin with ``prefix``.
        most: a longer word is unknown without a try.
    """
    if len(word) > most:
        return Match(word, (), None)
    tries: list[Try] = []
    pieces: list[str] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = (prefix if start else "") + word[start:end]
            found = piece in vocabulary
            tries.append(Try(start, end, piece, found))
            if found:
                pieces.append(piece)
                start = end
                break
        else:
            return Match(word, tuple(tries), None)
    return Match(word, tuple(tries), tuple(pieces))
