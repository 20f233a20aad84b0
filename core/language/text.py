"""The gate that every text from a visitor passes first.

It takes away what no tokeniser can use (NUL, control characters, halves of surrogate pairs, marks that turn the page's
own writing direction round), composes accents (Unicode's form NFC), and keeps the rest as it was typed: right-to-left
scripts, emoji, Markdown, LaTeX and markup are text like any other. What remains is checked: empty or too long is an
error whose sentence says what would work.
"""

from __future__ import annotations

import re
import unicodedata

from core.errors import InputEmpty, InputTooLong
from core.settings import MAX_TEXT_CHARS

_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_BLANKS = re.compile(r"[^\S\n]+")
_MANY_LINES = re.compile(r"\n{3,}")
# Embeddings, overrides and isolates of the bidirectional algorithm: they leak out of a text into what stands after it.
_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def clean(text: str, limit: int = MAX_TEXT_CHARS, *, newlines: bool = False) -> str:
    """``text`` without what no model can read, its blanks run together.

    :param limit: the longest text accepted, in characters, after cleaning.
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
    if len(text) > limit:
        raise InputTooLong(
            f"This text has {len(text):,} characters; at most {limit:,} are taken here. A shorter passage works."
        )
    return text


def _readable(character: str) -> bool:
    """Whether a tokeniser can use ``character`` (line ends count as readable)."""
    if character == "\n":
        return True
    if character in _DIRECTION or (ord(character) & 0xFFFE) == 0xFFFE or 0xFDD0 <= ord(character) <= 0xFDEF:
        return False
    return unicodedata.category(character) not in ("Cc", "Cs")
