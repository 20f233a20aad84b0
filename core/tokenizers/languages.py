"""The same two sentences in twelve languages, and how long each is for a tokeniser.

Characters a token say how much a tokeniser has learnt of a language, bytes a token how much of its writing: a Chinese
character is three bytes in UTF-8, a Latin letter one. Only the tokens of parallel texts compare what it costs to say
the same.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from core.tokenizers.cut import Cut
from core.tokenizers.samples import DATA

Measure = Literal["characters", "bytes", "tokens"]
MEASURES: dict[Measure, str] = {
    "characters": "characters a token",
    "bytes": "bytes a token",
    "tokens": "tokens, English = 1",
}


@dataclass(frozen=True, slots=True)
class Language:
    """One language with its text."""

    slug: str
    name: str
    script: str
    text: str


@lru_cache(maxsize=1)
def languages() -> tuple[Language, ...]:
    """All languages; English first."""
    rows = tomllib.loads((DATA / "languages.toml").read_text(encoding="utf-8"))["languages"]
    return tuple(Language(row["slug"], row["name"], row["script"], row["text"]) for row in rows)


def measured(cut: Cut, measure: Measure, english: Cut) -> float:
    """The measure of one text; ``english`` is the same text in English by the same tokeniser."""
    if measure == "characters":
        return cut.characters
    if measure == "bytes":
        return cut.bytes
    return cut.count / max(1, english.count)
