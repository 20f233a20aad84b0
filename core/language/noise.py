r"""Noise in texts for denoising models, and its effect on byte-level and subword tokenization.

Training recipes make their pairs with it, and pages corrupt a visitor's sentence with it. `EVERYDAY` noise imitates
typing errors. `NOISES` are two of those kinds and five that ByT5 was evaluated on (Xue et al., 2022, section 5).

===========  ==========================================================================================================
letters      each letter is, with probability ``rate``, dropped, doubled, swapped with the next, or replaced by a
             neighbor on the keyboard, equally likely; ``typos`` is another name of it
spaces       each space is dropped with probability ``rate``; each gap inside a word gains one with ``rate`` / 10
order        each pair of neighboring words is swapped with probability ``rate``; pairs do not overlap
case         each word loses its capital, and each punctuation mark is dropped, with probability ``rate``
mixed        case, order, letters, spaces, one after the other, each at ``rate``
drop         each character is dropped with probability ``rate``
repeat       each character is followed by one to three copies of itself with probability ``rate``
antspeak     capitals separated by single spaces, without word boundaries: A N O W L
upper        ALL CAPITALS
random-case  each letter is upper or lower case, equally likely
mutate       with probability ``rate``, a random character of the text is inserted before a character or replaces it, or
             it is dropped, equally likely
===========  ==========================================================================================================

Antspeak, upper and random-case have no rate: they change every letter. The paper has five kinds: drop, repetitions,
antspeak, uppercase and random case. A sixth, add/drop/mutate, is in its first arXiv version alone; that its three
operations are equally likely is from memory, and no model here was trained on it. The paper's rates are 10% for drop
and mutate (read in a text about the paper) and 20% for repetitions (read in the paper): :data:`PUBLISHED`. The other
defaults, and 8% for drop in training here, are our own: :data:`RATES`.

Pure Python, no torch. The result is a function of text, kind, rate and seed on every machine.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from random import Random
from typing import Literal

from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language.tokens import label

Noise = Literal[
    "letters",
    "typos",
    "spaces",
    "order",
    "case",
    "mixed",
    "drop",
    "repeat",
    "antspeak",
    "upper",
    "random-case",
    "mutate",
]
EVERYDAY: tuple[Noise, ...] = ("letters", "spaces", "order", "case", "mixed")
"""Typing errors, the noise of the repair task."""
NOISES: tuple[Noise, ...] = ("typos", "spaces", "drop", "repeat", "antspeak", "upper", "random-case")
"""The noise that spelling-correction models are trained and evaluated on."""
RATES: dict[Noise, float] = {
    "letters": 0.08,
    "typos": 0.08,
    "spaces": 0.15,
    "order": 0.15,
    "case": 0.7,
    "mixed": 0.08,
    "drop": 0.08,
    "repeat": 0.2,
    "mutate": 0.1,
}
"""The default rate of each kind that has one; sentences stay easy to read."""
PUBLISHED: dict[Noise, float] = {"drop": 0.1, "repeat": 0.2, "mutate": 0.1}
"""The rates of the paper."""

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBORS: dict[str, str] = {
    letter: row[max(0, i - 1) : i] + row[i + 1 : i + 2] for row in _ROWS for i, letter in enumerate(row)
}
_MARKS = frozenset('.,;:!?"«»…')


def noisy(text: str, kind: Noise, rate: float | None = None, seed: int = 0) -> str:
    """``text`` with noise of the given kind.

    Args:
        text: any text; line breaks count as spaces for ``order`` and ``antspeak``.
        rate: probability from 0 to 1, by default that of :data:`RATES`. Kinds without one ignore it.
        seed: the random seed.

    Raises:
        OutOfRange: the kind is unknown or the rate is not a probability.
    """
    if kind != "mixed" and kind not in _CORRUPT:
        raise OutOfRange(f"There is no noise called {str(kind)[:40]!r}. Choose one of: {', '.join(_CORRUPT)}, mixed.")
    chance = RATES.get(kind, 1.0) if rate is None else rate
    if not 0.0 <= chance <= 1.0:
        raise OutOfRange(f"The rate of the noise is a probability from 0 to 1, not {chance}.")
    random = Random(seed)
    for step in ("case", "order", "letters", "spaces") if kind == "mixed" else (kind,):
        text = _CORRUPT[step](text, chance, random)
    return text


def _letters(text: str, rate: float, random: Random) -> str:
    out: list[str] = []
    i = 0
    while i < len(text):
        letter = text[i]
        i += 1
        if not letter.isalpha() or random.random() >= rate:
            out.append(letter)
            continue
        operation = int(random.random() * 4)
        if operation == 0:
            continue
        if operation == 1:
            out.append(letter * 2)
        elif operation == 2 and i < len(text) and text[i].isalpha():
            out.append(text[i] + letter)
            i += 1
        else:
            out.append(_neighbor(letter, random))
    return "".join(out)


def _neighbor(letter: str, random: Random) -> str:
    """A neighbor key of ``letter`` in the same case; a doubled letter where none is known (é, ß, other scripts)."""
    near = _NEIGHBORS.get(letter.lower())
    if not near:
        return letter * 2
    chosen = near[int(random.random() * len(near))]
    return chosen.upper() if letter.isupper() else chosen


def _spaces(text: str, rate: float, random: Random) -> str:
    out: list[str] = []
    for i, letter in enumerate(text):
        if letter == " ":
            if random.random() >= rate:
                out.append(letter)
            continue
        inside = i > 0 and letter.isalpha() and text[i - 1].isalpha()
        if inside and random.random() < rate / 10:
            out.append(" ")
        out.append(letter)
    return "".join(out)


def _swap_words(text: str, rate: float, random: Random) -> str:
    words = text.split()
    i = 0
    while i + 1 < len(words):
        if random.random() < rate:
            words[i], words[i + 1] = words[i + 1], words[i]
            i += 2
        else:
            i += 1
    return " ".join(words)


def _lose_case(text: str, rate: float, random: Random) -> str:
    out: list[str] = []
    for i, letter in enumerate(text):
        starts_word = letter.isupper() and (i == 0 or not text[i - 1].isalpha())
        if starts_word and random.random() < rate:
            out.append(letter.lower())
        elif letter in _MARKS and random.random() < rate:
            continue
        else:
            out.append(letter)
    return "".join(out)


def _drop(text: str, rate: float, random: Random) -> str:
    return "".join(c for c in text if random.random() >= rate)


def _repeat(text: str, rate: float, random: Random) -> str:
    return "".join(c * (2 + int(random.random() * 3)) if random.random() < rate else c for c in text)


def _antspeak(text: str, _: float, __: Random) -> str:
    return " ".join(c.upper() for c in text if not c.isspace())


def _upper(text: str, _: float, __: Random) -> str:
    return text.upper()


def _random_case(text: str, _: float, random: Random) -> str:
    return "".join(c.upper() if random.random() < 0.5 else c.lower() for c in text)


def _mutate(text: str, rate: float, random: Random) -> str:
    out = []
    for character in text:
        if random.random() >= rate:
            out.append(character)
            continue
        operation, other = int(random.random() * 3), text[int(random.random() * len(text))]
        out.append((other + character, "", other)[operation])
    return "".join(out)


_CORRUPT: dict[str, Callable[[str, float, Random], str]] = {
    "letters": _letters,
    "typos": _letters,
    "spaces": _spaces,
    "order": _swap_words,
    "case": _lose_case,
    "drop": _drop,
    "repeat": _repeat,
    "antspeak": _antspeak,
    "upper": _upper,
    "random-case": _random_case,
    "mutate": _mutate,
}


def changed(before: str, after: str) -> tuple[tuple[str, bool], ...]:
    """``after`` in spans, each with whether it differs from ``before``; deletions are not marked."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    parts: list[tuple[str, bool]] = []
    for what, _, _, start, end in blocks:
        if start == end:
            continue
        if parts and parts[-1][1] == (what != "equal"):
            parts[-1] = (parts[-1][0] + after[start:end], parts[-1][1])
        else:
            parts.append((after[start:end], what != "equal"))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class Character:
    text: str
    name: str
    """Its name in Unicode, or ``U+....`` where it has none."""
    bytes: tuple[int, ...]
    """In UTF-8; one to four."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """The tokens of a clean and a noisy text, without special tokens."""

    reader: str
    """The name of the tokenizer's model."""
    clean: tuple[str, ...]
    noisy: tuple[str, ...]
    unknown: int
    """The number of unknown tokens in the noisy text."""


def characters(text: str) -> tuple[Character, ...]:
    """The characters of ``text`` with their bytes."""
    return tuple(
        Character(c, unicodedata.name(c, f"U+{ord(c):04X}"), tuple(c.encode("utf-8", errors="replace"))) for c in text
    )


def tokenize_both(checkpoint: Checkpoint, clean: str, noisy: str) -> TokenizedText:
    """Both texts, tokenized by the checkpoint's tokenizer."""
    tokenizer = checkpoint.tokenizer
    before, after = tokenizer([clean, noisy], add_special_tokens=False, verbose=False)["input_ids"]
    clean_labels, noisy_labels = (tuple(label(tokenizer, i) for i in ids) for ids in (before, after))
    return TokenizedText(checkpoint.spec.name, clean_labels, noisy_labels, after.count(tokenizer.unk_token_id))
