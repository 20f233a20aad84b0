"""A part of a text that is too long for a model or a picture: as many tokens as fit, from a token of one's choice on.

The text is cut between words (a word of more than `LONGEST` characters also inside), so that the part reads as the text
does. Tokens are counted word by word, without those that a tokeniser puts around a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

LONGEST = 16
_WORD = re.compile(rf"\s*\S{{1,{LONGEST}}}")
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text."""

    text: str
    first: int
    """Its first token, from 1."""
    last: int
    total: int
    """Tokens of the whole text."""


def window(text: str, read: Count, own: Count, most: int, first: int | None = None, last: int | None = None) -> Window:
    """The part of ``text`` from about token ``first`` to ``last`` at most, which ``read`` counts as ``most`` or fewer.

    Args:
        read: how many tokens a model reads for a text, everything that is put around it included.
        own: how many tokens the text itself has.
        first: the token to begin with, from 1; where a word is, it begins with the word. By default the first.
        last: by default, and where it is out of reach, as far as fits.
    """
    words = [(found.start(), found.end()) for found in _WORD.finditer(text)]
    ends = list(accumulate(max(1, own(text[start:end])) for start, end in words))
    total = ends[-1] if ends else 0
    if total == 0 or read(text) <= most:
        return Window(text, 1, total, total)
    wanted = min(max(first or 1, 1), total)
    begin = next(i for i, end in enumerate(ends) if end >= wanted)
    before = ends[begin - 1] if begin else 0
    stop = begin + 1
    while stop < len(words) and ends[stop] - before <= most and (last is None or last <= before or ends[stop] <= last):
        stop += 1

    def part() -> str:
        return text[words[begin][0] : words[stop - 1][1]].strip()

    while stop > begin + 1 and read(part()) > most:
        stop -= 1
    return Window(part(), before + 1, ends[stop - 1], total)


def last_window(text: str, read: Count, own: Count, most: int) -> Window:
    """The last part of ``text`` that fits."""
    words = [found.start() for found in _WORD.finditer(text)]
    low, high = 0, max(0, len(words) - 1)
    while low < high:  # the earliest word from which on the rest fits
        middle = (low + high) // 2
        if read(text[words[middle] :].strip()) <= most:
            high = middle
        else:
            low = middle + 1
    before = own(text[: words[low]]) if words else 0
    return window(text, read, own, most, before + 1) if before else window(text, read, own, most)
