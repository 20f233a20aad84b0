"""Token labels of rows and columns, and attention between words.

In labels, ``␣`` is a space before the token (``Ġ`` and ``▁`` in vocabularies); a WordPiece continuation has its ``##``.

Clark et al. 2019 (arXiv 1906.04341, section 4.1): attention *to* a split word is the sum over its pieces, attention
*from* a split word the mean over its pieces,

    W[i, j] = 1/|i| Σ_{q in word i} Σ_{k in word j} A[q, k]

so that a row sums to one minus the weight on special tokens, which belong to no word.

A token belongs to the word that it starts in. So each token's weight counts once where the tokenizer and the treebank
split differently ("do" + "n't" against "don", "'", "t"); a word in which no token starts has no weights.

Legend: L layers, H heads, T tokens, n words.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.attention.roles.treebank import Sentence
from core.language.types import Token
from core.words import visible


def token_of(label: str, *, special: bool = False) -> Token:
    """The token of a label, without id and place in the text (-1)."""
    mark = "" if special else "␣" if label[0] == "␣" else "##" if label.startswith("##") else ""
    text = label.removeprefix(mark)
    return Token(-1, label, text, -1, -1, special, continuation=mark == "##", leading_space=mark == "␣")


def short(token: str, most: int) -> str:
    """``token`` truncated to ``most`` columns (a wide character takes two), with unprintable characters made visible.

    Among these are the marks of text direction, which would affect the text beside them.
    """
    # A token of a pathological text can have any length.
    shown = visible(token[: most + 1])
    room = most
    for at, character in enumerate(shown):
        room -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if room < (at + 1 < len(shown)):  # the last column is for the ellipsis
            return shown[:at] + "…"
    return shown


Membership = NDArray[np.float32]  # (n, T)


def align(sentence: Sentence, tokens: Sequence[Token]) -> Membership:
    """(n, T) 1 where a token of ``sentence.text`` starts in a word; special tokens are in none."""
    return belonging([start for start, _ in sentence.spans], tokens)


def belonging(starts: Sequence[int], tokens: Sequence[Token]) -> Membership:
    """:func:`align` for words of any text with these ``starts``; tokens before the first are in none."""
    membership = np.zeros((len(starts), len(tokens)), dtype=np.float32)
    for index, token in enumerate(tokens):
        if starts and token.start >= starts[0] and not token.special:
            membership[bisect_right(starts, token.start) - 1, index] = 1
    return membership


def word_weights(
    weights: NDArray[np.float32], belongs: Membership, key_membership: Membership | None = None
) -> NDArray[np.float32]:
    """Word weights (L, H, n, n) from token weights (L, H, T, T); rows of words without a token are zero.

    ``key_membership`` is the membership of the keys where they are of another text: (L, H, n, m) from (L, H, T, S).
    """
    pieces = belongs.sum(1, keepdims=True)
    keys = belongs if key_membership is None else key_membership
    by_word: NDArray[np.float32] = (belongs / np.maximum(pieces, 1)) @ weights @ keys.T
    return by_word
