r"""Noise in a text, so that a model can correct it, and what it costs readers of bytes and of subwords.

One definition for both sides: training recipes make their pairs with it, and pages corrupt a visitor's sentence with
it. `EVERYDAY` noise is that of a typing hand; nothing is taken away that would have to be guessed. `NOISES` are two of
those kinds and five that ByT5 was tried on (Xue et al., 2022, section 5).

===========  ==========================================================================================================
letters      each letter is hit with probability ``rate``: dropped, doubled, swapped with the next, or replaced by a
             neighbor on the keyboard, equally likely; ``typos`` is another name of it
spaces       each space is dropped with probability ``rate``; each gap inside a word gains one with ``rate`` / 10
order        each pair of neighboring words is swapped with probability ``rate``; pairs do not overlap
case         each word loses its capital, and each punctuation mark is dropped, with probability ``rate``
mixed        case, order, letters, spaces, one after the other, each at ``rate``
drop         each character is dropped with probability ``rate``
repeat       each character is followed by one to three copies of itself with probability ``rate``
antspeak     capitals with one space between them, and nothing to tell where a word ends: A N O W L
upper        ALL CAPITALS
random-case  each letter is a capital or none, by chance
mutate       at each character with probability ``rate`` one of three, equally likely: another character of the text
             comes before it, it is dropped, or another character of the text takes its place
===========  ==========================================================================================================

Antspeak and both kinds of capitals have no rate: they change every letter. The paper names five kinds: drop,
repetitions, antspeak, uppercase and random case. A sixth, add/drop/mutate, stands in its first version on arXiv alone;
that its three ways are equally likely is from memory, and no model here was trained on it. Drop and mutate hit 10% of
the characters there (read in a text about the paper), repetitions 20% (read in the paper): :data:`PUBLISHED`. The
defaults of the others, and that of drop in training here, 8%, are this project's own: :data:`RATES`.

A subword vocabulary has whole pieces for frequent spellings; a wrong letter breaks them up into shorter and rarer ones,
or into the unknown token. Bytes have no such pieces to lose.

Pure Python, no torch. The same text, kind, rate and seed give the same result on every machine.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from random import Random
from typing import Any, Literal

from rapidfuzz.distance.Levenshtein import distance

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
"""The slips of a typing hand, which the task of repair corrects."""
NOISES: tuple[Noise, ...] = ("typos", "spaces", "drop", "repeat", "antspeak", "upper", "random-case")
"""What the task of spelling corrects: its models are trained on it and measured with it."""
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
"""The default rate of each kind that has one; a person can still read the sentence without effort."""
PUBLISHED: dict[Noise, float] = {"drop": 0.1, "repeat": 0.2, "mutate": 0.1}
"""The rate of each kind of the paper that has one."""
MOST = 2
"""A rate may be this many times its default: so far goes what a model is trained on."""

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBORS: dict[str, str] = {
    letter: row[max(0, i - 1) : i] + row[i + 1 : i + 2] for row in _ROWS for i, letter in enumerate(row)
}
_MARKS = frozenset('.,;:!?"«»…')


def noisy(text: str, kind: Noise, rate: float | None = None, seed: int = 0) -> str:
    """``text`` with noise of the given kind.

    Args:
        text: any text; line breaks count as spaces for ``order`` and ``antspeak``.
        rate: probability from 0 to 1; None takes the kind's own of :data:`RATES`. Kinds without one ignore it.
        seed: the random generator's seed.

    Raises:
        OutOfRange: when the kind is unknown or the rate is not a probability.
    """
    if kind != "mixed" and kind not in _WAYS:
        raise OutOfRange(f"There is no noise called {str(kind)[:40]!r}. Choose one of: {', '.join(_WAYS)}, mixed.")
    chance = RATES.get(kind, 1.0) if rate is None else rate
    if not 0.0 <= chance <= 1.0:
        raise OutOfRange(f"The rate of the noise is a probability from 0 to 1, not {chance}.")
    random = Random(seed)
    for step in ("case", "order", "letters", "spaces") if kind == "mixed" else (kind,):
        text = _WAYS[step](text, chance, random)
    return text


def drawn(text: str, seed: int, *, kinds: tuple[Noise, ...] = NOISES) -> tuple[str, Noise]:
    """Noise as a model is trained on it, and its kind: drawn evenly, its rate from 0 to :data:`MOST` times its own."""
    random = Random(seed)
    kind = kinds[int(random.random() * len(kinds))]
    rate = MOST * random.random() * RATES[kind] if kind in RATES else None
    return noisy(text, kind, rate, seed), kind


def _letters(text: str, rate: float, random: Random) -> str:
    out: list[str] = []
    i = 0
    while i < len(text):
        letter = text[i]
        i += 1
        if not letter.isalpha() or random.random() >= rate:
            out.append(letter)
            continue
        hit = int(random.random() * 4)
        if hit == 0:
            continue
        if hit == 1:
            out.append(letter * 2)
        elif hit == 2 and i < len(text) and text[i].isalpha():
            out.append(text[i] + letter)
            i += 1
        else:
            out.append(_neighbor(letter, random))
    return "".join(out)


def _neighbor(letter: str, random: Random) -> str:
    """A key beside ``letter`` in the same case; the letter doubled where no key is known (é, ß, other scripts)."""
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
        way, other = int(random.random() * 3), text[int(random.random() * len(text))]
        out.append((other + character, "", other)[way])
    return "".join(out)


_WAYS: dict[str, Callable[[str, float, Random], str]] = {
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


def error_rate(texts: Sequence[str], clean: Sequence[str]) -> float:
    """Character error rate in percent: edits (Levenshtein, 1966) over all pairs per 100 clean characters."""
    edits = sum(distance(text, right) for text, right in zip(texts, clean, strict=True))
    return 100 * edits / max(1, sum(map(len, clean)))


def changed(before: str, after: str) -> tuple[tuple[str, bool], ...]:
    """``after`` in spans, each with whether it is new or other than in ``before``; what is gone is not marked."""
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
    """One character of a text."""

    text: str
    name: str
    """Its name in Unicode, or ``U+....`` where it has none."""
    bytes: tuple[int, ...]
    """In UTF-8; one to four."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A clean and a noisy text as one tokenizer splits them, special tokens left out."""

    reader: str
    """The model whose tokenizer it is."""
    clean: tuple[str, ...]
    noisy: tuple[str, ...]
    unknown: int
    """How many tokens of the noisy text are the unknown one."""

    @property
    def growth(self) -> float:
        """Tokens of the noisy text for each of the clean one."""
        return len(self.noisy) / max(1, len(self.clean))


def characters(text: str) -> tuple[Character, ...]:
    """The characters of ``text`` with their bytes."""
    return tuple(
        Character(c, unicodedata.name(c, f"U+{ord(c):04X}"), tuple(c.encode("utf-8", errors="replace"))) for c in text
    )


def cut(checkpoint: Checkpoint, clean: str, noisy: str) -> TokenizedText:
    """Both texts by the checkpoint's tokenizer."""
    tokenizer: Any = checkpoint.tokenizer
    before, after = tokenizer([clean, noisy], add_special_tokens=False, verbose=False)["input_ids"]
    clean_labels, noisy_labels = (tuple(label(tokenizer, i) for i in ids) for ids in (before, after))
    return TokenizedText(checkpoint.spec.name, clean_labels, noisy_labels, after.count(tokenizer.unk_token_id))
