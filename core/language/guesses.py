"""Whether two people mean the same word: a typed guess against the word that stood there.

Case, accents, marks, blanks and an article before the word do not count; nor, in words of five letters and more, two
neighboring letters that changed places or one that was doubled or left single. A different letter does: *house* is
not *horse*, and *dogs* is not *dog*.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

MAX_CHARS = 60
"""The longest guess that is read; what follows is passed over."""
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)")
_NO_LETTER = re.compile(r"[^\w\s]|_")
_LONG = 5


def plain_word(text: str) -> str:
    """``text`` as it is compared; empty where nothing in it can be read."""
    flat = unicodedata.normalize("NFKD", text[: 4 * MAX_CHARS]).casefold()
    flat = "".join(c for c in flat if not unicodedata.combining(c))
    flat = " ".join(_NO_LETTER.sub("", flat).split())[:MAX_CHARS].strip()
    return _ARTICLE.sub("", flat)


def same_word(typed: str, word: str) -> bool:
    """Whether ``typed`` is ``word``, slips forgiven."""
    guess, target = plain_word(typed), plain_word(word)
    if not guess or not target:
        # A mark has nothing left: it is itself or nothing.
        return bool(word.strip()) and typed.strip() == word.strip()
    if guess == target:
        return True
    if min(len(guess), len(target)) < _LONG:
        return False
    return _swapped(guess, target) or _doubled(guess, target)


def among(typed: str, words: Iterable[str]) -> int | None:
    """The index of the first of ``words`` that ``typed`` is; None where it is none of them."""
    return next((index for index, word in enumerate(words) if same_word(typed, word)), None)


def in_order(first: Sequence[str], second: Sequence[str]) -> int:
    """How many words of one text stand in the other, in their order."""
    return sum(block.size for block in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks())


def plain_words(text: str) -> list[str]:
    """The words of ``text`` as they are compared; marks alone are none."""
    return [word for part in text.split() if (word := plain_word(part))]


def _swapped(first: str, second: str) -> bool:
    if len(first) != len(second):
        return False
    differ = [i for i in range(len(first)) if first[i] != second[i]]
    return (
        len(differ) == 2
        and differ[1] == differ[0] + 1
        and first[differ[0]] == second[differ[1]]
        and (first[differ[1]] == second[differ[0]])
    )


def _doubled(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    return len(long) == len(short) + 1 and any(
        long[i] == long[i - 1] and long[:i] + long[i + 1 :] == short for i in range(1, len(long))
    )
