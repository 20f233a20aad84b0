"""Cleaning and splitting of visitors' texts.

:func:`clean` removes what no tokenizer can use (NUL, control characters, unpaired surrogates, marks of text direction),
normalizes to NFC, and keeps the rest: right-to-left scripts, emoji, Markdown, LaTeX and markup are ordinary text. An
empty or too long text is an error.

:func:`sentences` and :func:`two_parts` split a text by punctuation, in any language.

:func:`window` returns the part of a long text that fits a model, from a chosen token on. It is split between words (a
word of more than `LONGEST` characters also inside). Tokens are counted word by word, without special tokens.
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
# Embeddings, overrides and isolates of the bidirectional algorithm: they affect the text that follows.
_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str, limit: int | None = None, *, newlines: bool = False) -> str:
    """``text`` without unusable characters, with runs of white space collapsed.

    :param limit: the most characters after cleaning, besides the limit of the settings.
    :param newlines: keep line breaks (at most one empty line in a row); otherwise they become spaces.
    :raises InputEmpty: nothing readable is left.
    :raises InputTooLong: more than ``limit`` characters are left.
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


def clean_prompt(text: str, limit: int | None = None) -> str:
    """``text`` cleaned, with its line breaks, and with a blank at its end: a token, after which other words follow.

    Raises:
        InputEmpty, InputTooLong: as :func:`clean`.
    """
    return clean(text, limit, newlines=True) + (" " if text.endswith(" ") else "")


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
    """Whether a tokenizer can use ``character``; line breaks count."""
    if character == "\n":
        return True
    if character in _DIRECTION or (ord(character) & 0xFFFE) == 0xFFFE or 0xFDD0 <= ord(character) <= 0xFDEF:
        return False
    return unicodedata.category(character) not in ("Cc", "Cs")


_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？]+[”’」』]*|[؟۔।]+(?=\s)|\n+")
_CLAUSE = re.compile(r"[,;:،、，；：](?=\s|$)|[、，；：]|\s[–—-]\s")


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of ``text``: split after terminal punctuation, and at line breaks."""
    parts: list[str] = []
    start = 0
    for match in _END.finditer(text):
        parts.append(text[start : match.end()].strip())
        start = match.end()
    parts.append(text[start:].strip())
    return tuple(part for part in parts if part)


def two_parts(text: str) -> tuple[str, str, str]:
    """Two consecutive segments of ``text``, and a note on how it was split ("" between sentences).

    Several sentences are split into halves. A single sentence is split at the punctuation nearest to its middle, else
    between words.

    :raises InputUnusable: a text of one word.
    """
    parts = sentences(text)
    if len(parts) > 1:
        half = (len(parts) + 1) // 2
        return " ".join(parts[:half]), " ".join(parts[half:]), ""
    sentence = parts[0] if parts else ""
    middle = len(sentence) / 2
    cuts = [match.end() for match in _CLAUSE.finditer(sentence) if 0 < match.end() < len(sentence.rstrip())]
    words = [match.start() for match in re.finditer(r"(?<=\S)\s+(?=\S)", sentence)]
    central = [cut for cut in cuts if len(sentence) / 5 < cut < 4 * len(sentence) / 5] or words
    if not central:
        raise InputUnusable("This objective needs two parts of a text. Type two sentences, or one of a few words.")
    cut = min(central, key=lambda at: abs(at - middle))
    return sentence[:cut].strip(), sentence[cut:].strip(), content("objectives").part("Halves")


LONGEST = 16
_WORD = re.compile(rf"\s*\S{{1,{LONGEST}}}")
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Window:
    text: str
    first: int
    """Its first token, from 1."""
    last: int
    """Its last token, inclusive."""
    total: int
    """Tokens of the whole text."""


def window(
    text: str, count_input: Count, count_text: Count, most: int, first: int | None = None, last: int | None = None
) -> Window:
    """The part of ``text`` from about token ``first`` to at most ``last``, ``most`` tokens at most by ``count_input``.

    Args:
        count_input: the tokens of a text in a model's input, special ones included.
        count_text: the tokens of the text alone.
        first: the first token, from 1; the part starts with the word of that token. By default 1.
        last: the last token; by default, and if it does not fit, as many as fit.
    """
    words = [(match.start(), match.end()) for match in _WORD.finditer(text)]
    ends = list(accumulate(max(1, count_text(text[start:end])) for start, end in words))
    total = ends[-1] if ends else 0
    if total == 0 or count_input(text) <= most:
        return Window(text, 1, total, total)
    target = min(max(first or 1, 1), total)
    begin = next(i for i, end in enumerate(ends) if end >= target)
    before = ends[begin - 1] if begin else 0
    stop = begin + 1
    while stop < len(words) and ends[stop] - before <= most and (last is None or last <= before or ends[stop] <= last):
        stop += 1

    def span() -> str:
        return text[words[begin][0] : words[stop - 1][1]].strip()

    while stop > begin + 1 and count_input(span()) > most:
        stop -= 1
    return Window(span(), before + 1, ends[stop - 1], total)


def last_window(text: str, count_input: Count, count_text: Count, most: int) -> Window:
    """The longest suffix of ``text`` that fits."""
    words = [match.start() for match in _WORD.finditer(text)]
    low, high = 0, max(0, len(words) - 1)
    while low < high:  # the first word whose suffix fits
        middle = (low + high) // 2
        if count_input(text[words[middle] :].strip()) <= most:
            high = middle
        else:
            low = middle + 1
    before = count_text(text[: words[low]]) if words else 0
    return (
        window(text, count_input, count_text, most, before + 1)
        if before
        else window(text, count_input, count_text, most)
    )
