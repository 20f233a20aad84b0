"""WordPiece on one word: greedy longest-match-first tokenization from the left, with every lookup recorded.

From position i the substrings w[i:n], w[i:n-1], ..., w[i:i+1] are looked up in this order, with the prefix ``##`` if
i > 0; the first that is in the vocabulary becomes a token, and the search continues at its end. If none matches, the
whole word is unknown. The vocabulary comes from Schuster & Nakajima (2012) and Wu et al. (2016); the greedy search is
BERT's. Words of more than 100 characters are unknown. Tests compare the result with the `tokenizers` library's.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

PREFIX = "##"
MOST = 100


@dataclass(frozen=True, slots=True)
class Try:
    """One vocabulary lookup: the substring of the word from ``start`` to ``end``."""

    start: int
    end: int
    piece: str
    """As the vocabulary would write it."""
    found: bool


@dataclass(frozen=True, slots=True)
class Match:
    """All lookups for a word, and its tokens; None where the word is unknown."""

    word: str
    tries: tuple[Try, ...]
    pieces: tuple[str, ...] | None


def match(word: str, vocabulary: Container[str]) -> Match:
    """Tokenize ``word`` greedily.

    Args:
        word: one normalized and pre-tokenized word (lowercase, without spaces).
        vocabulary: the tokens; those that continue a word begin with ``##``.
    """
    if len(word) > MOST:
        return Match(word, (), None)
    tries: list[Try] = []
    pieces: list[str] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = (PREFIX if start else "") + word[start:end]
            matched = piece in vocabulary
            tries.append(Try(start, end, piece, matched))
            if matched:
                pieces.append(piece)
                start = end
                break
        else:
            return Match(word, tuple(tries), None)
    return Match(word, tuple(tries), tuple(pieces))
