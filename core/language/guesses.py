"""Comparison of a visitor's guess with the original word.

Case, accents, punctuation, spaces and a leading article are ignored, and in words of at least five letters two swapped
adjacent letters or one doubled or undoubled letter. Any other letter counts: *house* is not *horse*, *dogs* is not
*dog*.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

import regex
from rapidfuzz.distance import OSA

MAX_CHARS = 60
"""The most characters of a guess; the rest is ignored."""
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)")
_NO_LETTER = regex.compile(r"[^\p{L}\p{M}\p{N}\s\u200c\u200d]")
_DOUBLED = re.compile(r"(.)\1+")
_LONG = 5


def plain_word(text: str) -> str:
    """``text`` normalized for comparison; may be empty."""
    flat = unicodedata.normalize("NFKD", text[: 4 * MAX_CHARS]).casefold()
    flat = "".join(c for c in flat if not unicodedata.combining(c))
    flat = " ".join(_NO_LETTER.sub("", flat).split())[:MAX_CHARS].strip()
    return _ARTICLE.sub("", flat)


def same_word(typed: str, word: str) -> bool:
    """Whether ``typed`` is ``word``, typing errors allowed."""
    guess, target = plain_word(typed), plain_word(word)
    if not guess or not target:
        # Punctuation has no normalized form: it must be equal.
        return bool(word.strip()) and typed.strip() == word.strip()
    if guess == target:
        return True
    if min(len(guess), len(target)) < _LONG:
        return False
    if OSA.distance(guess, target, score_cutoff=1) != 1:
        return False
    return sorted(guess) == sorted(target) or _DOUBLED.sub(r"\1", guess) == _DOUBLED.sub(r"\1", target)


def among(typed: str, words: Iterable[str]) -> int | None:
    """The index of the first of ``words`` that ``typed`` matches; None without a match."""
    return next((index for index, word in enumerate(words) if same_word(typed, word)), None)


def in_order(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words two texts share, in the same order."""
    return sum(block.size for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks())


def plain_words(text: str) -> list[str]:
    """The normalized words of ``text``, without punctuation."""
    return [word for part in text.split() if (word := plain_word(part))]
