"""Texts to begin with, written for this project.

The gate for texts whose very blanks and signs are the question: nothing is tidied up.

:mod:`core.language.text` composes accents and runs blanks together, because a model should answer to what was meant. A
tokeniser is asked what it makes of exactly these characters. Only halves of surrogate pairs are replaced, since no
UTF-8 can hold them.

The same two sentences in twelve languages, and how long each is for a tokeniser.

Characters a token say how much a tokeniser has learnt of a language, bytes a token how much of its writing: a Chinese
character is three bytes in UTF-8, a Latin letter one. Only the tokens of parallel texts compare what it costs to say
the same.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from core.errors import InputEmpty, InputTooLong
from core.tokenizers.cut import Cut

DATA = Path(__file__).parent / "data"
"""Formulas and sentences as data."""

SAMPLES: dict[str, str] = {
    "words of all kinds": "The blacksmith’s unbelievable story: 3 naïve owls learned tokenization.",
    "French": "Où sont les œufs que Zoé a achetés hier à l’épicerie ?",
    "German": "Der Donaudampfschiffskapitän übersetzt heute ein Märchen.",
    "Greek": "Η γάτα κοιμάται πάνω στο τραπέζι.",
    "Russian": "Старый рыбак рассказал детям длинную сказку.",
    "Arabic": "القطة تنام على الكرسي قرب النافذة.",
    "Hindi": "बिल्ली खिड़की के पास सो रही है।",
    "Chinese": "猫在窗边的椅子上睡觉。",
    "Japanese": "猫は窓のそばの椅子で眠っています。",
    "emoji joined of several": "The family 👩‍👩‍👧 waved 👋🏽 and left 🚀.",
    "code": "def area(r):\n    return 3.14159 * r**2  # πr²",
    "numbers": "1234567 + 89 = 1234656; 3.14159; 2,000; 1e-5; 07:45",
    "blanks and signs": "two  blanks,\ta tab,\n\na new line — and [MASK] </s>",
}
DEFAULT = next(iter(SAMPLES.values()))

TALE = """\
There was once a lighthouse keeper who lived alone above the sea. Every evening he lit the lamp, and every morning \
he put it out. The lighthouse was old, older than the harbour, and the keeper was older than anyone in the village \
below. The fishermen called him the lightest sleeper of the coast, because he woke whenever the wind turned.

One winter night the wind blew stronger than ever before. The waves rose higher and higher, and the highest of them \
reached the lowest window of the tower. The keeper climbed the stairs, lower stairs and higher stairs, and found \
that the lamp had gone out. He lit it again. The wind put it out again. Three times he lit it, and three times it \
was put out.

Then the keeper remembered the small lantern that his mother had given him. Its light was weaker than the light of \
the lamp, but its glass was thicker and no wind could put it out. He hung the lantern in the highest window and sat \
beside it and waited. The longest hour of the night was the last one.

In the morning the fishermen came up the stairs with bread and fish. They had been out on the sea in the darkest \
hours, they said, and had seen a small light, a very small light, lower than a star and higher than a wave. They had \
rowed towards it. It had been the only light on the coast, and so it had been the brightest.

From then on the keeper lit both every evening: the lamp for the ships that were far, and the lantern for those that \
were near. And whenever someone asked him which of the two was the better light, he said that the better light was \
the one that was still burning in the morning.
"""
"""What a small tokeniser learns from, until somebody pastes a text."""
TALE_TEST = "The youngest astronomer wandered farther and slept longer."


MOST = 4_000
"""Characters of a text that is cut."""
REPLACEMENT = "\ufffd"

_HALVES = re.compile("[\ud800-\udfff]")


def whole(text: str, limit: int = MOST) -> str:
    """``text`` as it is, with the sign for something unreadable in place of every half of a surrogate pair.

    Raises:
        InputEmpty: there is no character at all.
        InputTooLong: more than ``limit`` characters.
    """
    if not text:
        raise InputEmpty("There is no text to cut. Type a few words, or choose a sample.")
    if len(text) > limit:
        raise InputTooLong(
            f"This text has {len(text):,} characters; at most {limit:,} are cut here. A shorter passage works."
        )
    return _HALVES.sub(REPLACEMENT, text)


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
