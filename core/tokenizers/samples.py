"""Sample texts in several languages, and the check of texts whose exact characters matter.

:mod:`core.language.text` composes accents and collapses spaces, which suits a language model. Here the tokenizer must
get exactly the characters that were typed; only lone surrogates are replaced, since UTF-8 cannot encode them.
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
"""Formulas and sentences."""
_TEXTS = tomllib.loads((DATA / "samples.toml").read_text(encoding="utf-8"))
SAMPLES: dict[str, str] = _TEXTS["samples"]
DEFAULT = next(iter(SAMPLES.values()))
TALE: str = _TEXTS["training"]["text"]
"""The default training text of a small tokenizer."""
TALE_TEST: str = _TEXTS["training"]["test"]
MOST = 4_000
"""Characters of a text that is tokenized."""
REPLACEMENT = "\ufffd"
_HALVES = re.compile("[\ud800-\udfff]")


def whole(text: str, limit: int = MOST) -> str:
    """``text`` unchanged, except that lone surrogates become U+FFFD.

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
    """A language with the same two sentences as every other."""

    slug: str
    name: str
    script: str
    text: str


@lru_cache(maxsize=1)
def languages() -> tuple[Language, ...]:
    """All languages; English first."""
    rows = tomllib.loads((DATA / "languages.toml").read_text(encoding="utf-8"))["languages"]
    return tuple(Language(**row) for row in rows)
