"""The gate that every text from a visitor passes first.

It takes away what no tokeniser can use (NUL, control characters, halves of surrogate pairs, marks that turn the page's
own writing direction round), composes accents (Unicode's form NFC), and keeps the rest as it was typed: right-to-left
scripts, emoji, Markdown, LaTeX and markup are text like any other. What remains is checked: empty or too long is an
error whose sentence says what would work.

A text cut into sentences, and into two parts that follow each other, by a plain rule that needs no language.

A part of a text that is too long for a model or a picture: as many tokens as fit, from a token of one's choice on.

The text is cut between words (a word of more than `LONGEST` characters also inside), so that the part reads as the text
does. Tokens are counted word by word, without those that a tokeniser puts around a text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from core.content import content
from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.settings import raised_with, settings

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANKS = re.compile(r"[^\S\n]+")
_MANY_LINES = re.compile(r"\n{3,}")
# Embeddings, overrides and isolates of the bidirectional algorithm: they leak out of a text into what stands after it.
_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str, limit: int | None = None, *, newlines: bool = False) -> str:
    """``text`` without what no model can read, its blanks run together.

    :param limit: the longest text accepted, in characters, after cleaning; at most that of the settings.
    :param newlines: keep line ends (at most one empty line in a row); otherwise they become spaces.
    :raises InputEmpty: when nothing readable is left.
    :raises InputTooLong: when more than ``limit`` characters are left.
    """
    text = unicodedata.normalize("NFC", _LINE_ENDS.sub("\n", text).replace("\t", " "))
    if not (text.isascii() and text.isprintable()):
        text = "".join(c for c in text if _readable(c))
    text = _BLANKS.sub(" ", text if newlines else text.replace("\n", " "))
    if newlines:
        text = _MANY_LINES.sub("\n\n", text.replace(" \n", "\n"))
    text = text.strip()
    if not text:
        raise InputEmpty("There is no text to work on. Type a sentence of a few words, or choose a sample.")
    check_chars(text, limit)
    return text


def check_chars(text: str, limit: int | None = None) -> None:
    """Raise :class:`InputTooLong` for more than ``limit`` characters, or more than the settings allow."""
    most = settings().max_chars
    if len(text) > min(most, limit or most):
        host = raised_with("max_chars") if limit is None or limit > most else ""
        raise InputTooLong(
            f"This text has {len(text):,} characters; at most {min(most, limit or most):,} are taken here. "
            f"A shorter passage works. {host}".rstrip()
        )


def _readable(character: str) -> bool:
    """Whether a tokeniser can use ``character`` (line ends count as readable)."""
    if character == "\n":
        return True
    if character in _DIRECTION or (ord(character) & 0xFFFE) == 0xFFFE or 0xFDD0 <= ord(character) <= 0xFDEF:
        return False
    return unicodedata.category(character) not in ("Cc", "Cs")


_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[”’」』]*|[؟۔।]+(?=\s)|\n+")
_CLAUSE = re.compile(r"[,;:،、，；：](?=\s|$)|[、，；：]|\s[–—-]\s")


def sentences(text: str) -> tuple[str, ...]:
    """``text`` cut after marks that end a sentence, and at line ends."""
    parts: list[str] = []
    start = 0
    for match in _END.finditer(text):
        parts.append(text[start : match.end()].strip())
        start = match.end()
    parts.append(text[start:].strip())
    return tuple(part for part in parts if part)


def two_parts(text: str) -> tuple[str, str, str]:
    """Two segments of ``text`` that follow each other, and a sentence that says how they were found ("" for plainly).

    Two sentences are the segments; of more, the first half and the second. One sentence is cut at the mark nearest to
    its middle, else between its words.

    :raises InputUnusable: a text of one word.
    """
    parts = sentences(text)
    if len(parts) > 1:
        half = (len(parts) + 1) // 2
        return " ".join(parts[:half]), " ".join(parts[half:]), ""
    whole = parts[0] if parts else ""
    middle = len(whole) / 2
    cuts = [match.end() for match in _CLAUSE.finditer(whole) if 0 < match.end() < len(whole.rstrip())]
    words = [match.start() for match in re.finditer(r"(?<=\S)\s+(?=\S)", whole)]
    central = [cut for cut in cuts if len(whole) / 5 < cut < 4 * len(whole) / 5] or words
    if not central:
        raise InputUnusable("This objective needs two parts of a text. Type two sentences, or one of a few words.")
    cut = min(central, key=lambda at: abs(at - middle))
    return whole[:cut].strip(), whole[cut:].strip(), content("objectives").part("Halves")


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
    words = [(match.start(), match.end()) for match in _WORD.finditer(text)]
    ends = list(accumulate(max(1, own(text[start:end])) for start, end in words))
    total = ends[-1] if ends else 0
    if total == 0 or read(text) <= most:
        return Window(text, 1, total, total)
    target = min(max(first or 1, 1), total)
    begin = next(i for i, end in enumerate(ends) if end >= target)
    before = ends[begin - 1] if begin else 0
    stop = begin + 1
    while stop < len(words) and ends[stop] - before <= most and (last is None or last <= before or ends[stop] <= last):
        stop += 1

    def span() -> str:
        return text[words[begin][0] : words[stop - 1][1]].strip()

    while stop > begin + 1 and read(span()) > most:
        stop -= 1
    return Window(span(), before + 1, ends[stop - 1], total)


def last_window(text: str, read: Count, own: Count, most: int) -> Window:
    """The last part of ``text`` that fits."""
    words = [match.start() for match in _WORD.finditer(text)]
    low, high = 0, max(0, len(words) - 1)
    while low < high:  # the earliest word from which on the rest fits
        middle = (low + high) // 2
        if read(text[words[middle] :].strip()) <= most:
            high = middle
        else:
            low = middle + 1
    before = own(text[: words[low]]) if words else 0
    return window(text, read, own, most, before + 1) if before else window(text, read, own, most)
