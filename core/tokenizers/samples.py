"""Texts to begin with, in several languages, and the gate for texts whose very blanks and signs are the question.

:mod:`core.language.text` composes accents and collapses blanks, because a model should answer to what was meant. A
tokenizer is asked what it makes of exactly these characters. Only halves of surrogate pairs are replaced, since no
UTF-8 can hold them.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core.errors import InputEmpty
from core.language.text import check_chars

DATA = Path(__file__).parent / "data"
"""Formulas and sentences as data."""
_TEXTS = tomllib.loads((DATA / "samples.toml").read_text(encoding="utf-8"))
SAMPLES: dict[str, str] = _TEXTS["samples"]
DEFAULT = next(iter(SAMPLES.values()))
TALE: str = _TEXTS["training"]["text"]
"""What a small tokenizer learns from, until somebody pastes a text."""
TALE_TEST: str = _TEXTS["training"]["test"]
MOST = 4_000
"""Characters of a text that is tokenized."""
REPLACEMENT = "\ufffd"
_HALVES = re.compile("[\ud800-\udfff]")


def whole(text: str, limit: int = MOST) -> str:
    """``text`` as it is, with the sign for something unreadable in place of every half of a surrogate pair.

    Raises:
        InputEmpty: there is no character at all.
        InputTooLong: more than ``limit`` characters.
    """
    if not text:
        raise InputEmpty("There is no text to tokenize. Type a few words, or choose a sample.")
    check_chars(text, limit)
    return _HALVES.sub(REPLACEMENT, text)


@dataclass(frozen=True, slots=True)
class Language:
    """One language with its text: the same two sentences in each."""

    slug: str
    name: str
    script: str
    text: str


@lru_cache(maxsize=1)
def languages() -> tuple[Language, ...]:
    """All languages; English first."""
    rows = tomllib.loads((DATA / "languages.toml").read_text(encoding="utf-8"))["languages"]
    return tuple(Language(**row) for row in rows)
