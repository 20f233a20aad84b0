"""Damage a text on purpose, so that a model can repair it.

One definition for both sides: the training recipe makes its repair pairs with it, and the page damages a visitor's
sentence with it. The noise is of the everyday kind (slips of the typing hand), unlike the masks of T5 and BART, and
nothing that would have to be guessed is taken away: every damaged text still says what it said.

Kinds and what ``rate`` means for each of them:

==========  =====================================================================================================
letters     each letter is hit with probability ``rate``: dropped, doubled, swapped with the next, or replaced
            by a neighbor on the keyboard, equally likely
spaces      each space is dropped with probability ``rate``; each gap inside a word gains one with ``rate`` / 10
order       each pair of neighboring words is swapped with probability ``rate``; pairs do not overlap
case        each word loses its capital, and each punctuation mark is dropped, with probability ``rate``
mixed       case, order, letters, spaces, one after the other, each at ``rate``
==========  =====================================================================================================

Pure Python, no torch. The same text, kind, rate and seed give the same result on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Literal, get_args

from core.errors import OutOfRange

Kind = Literal["letters", "spaces", "order", "case", "mixed"]
KINDS: tuple[Kind, ...] = get_args(Kind)

DEFAULT_RATE: dict[Kind, float] = {"letters": 0.08, "spaces": 0.15, "order": 0.15, "case": 0.7, "mixed": 0.08}
"""A rate for each kind at which a person can still read the sentence without effort."""

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEIGHBOURS: dict[str, str] = {
    letter: row[max(0, i - 1) : i] + row[i + 1 : i + 2] for row in _ROWS for i, letter in enumerate(row)
}
_MARKS = frozenset('.,;:!?"«»…')


def damage(text: str, kind: Kind = "mixed", rate: float | None = None, seed: int = 0) -> str:
    """``text`` after damage of the given kind.

    Args:
        text: any text; line breaks count as spaces for ``order`` and are kept by the other kinds.
        kind: one of :data:`KINDS`.
        rate: probability from 0 to 1, see the table above; None takes the kind's :data:`DEFAULT_RATE`.
        seed: the random generator's seed.

    Raises:
        OutOfRange: when the kind is unknown or the rate is not a probability.
    """
    if kind not in KINDS:
        raise OutOfRange(f"There is no corruption called {str(kind)[:40]!r}. Choose one of: {', '.join(KINDS)}.")
    chance = DEFAULT_RATE[kind] if rate is None else rate
    if not 0.0 <= chance <= 1.0:
        raise OutOfRange(f"The corruption rate is a probability from 0 to 1, not {chance}.")
    random = Random(seed)
    if kind != "mixed":
        return _STEPS[kind](text, chance, random)
    for step in ("case", "order", "letters", "spaces"):
        text = _STEPS[step](text, chance, random)
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
        hit = int(random.random() * 4)
        if hit == 0:
            continue
        if hit == 1:
            out.append(letter * 2)
        elif hit == 2 and i < len(text) and text[i].isalpha():
            out.append(text[i] + letter)
            i += 1
        else:
            out.append(_neighbour(letter, random))
    return "".join(out)


def _neighbour(letter: str, random: Random) -> str:
    """A key beside ``letter`` in the same case; the letter doubled where no key is known (é, ß, other scripts)."""
    near = _NEIGHBOURS.get(letter.lower())
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


def _order(text: str, rate: float, random: Random) -> str:
    words = text.split()
    i = 0
    while i + 1 < len(words):
        if random.random() < rate:
            words[i], words[i + 1] = words[i + 1], words[i]
            i += 2
        else:
            i += 1
    return " ".join(words)


def _case(text: str, rate: float, random: Random) -> str:
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


_STEPS: dict[str, Callable[[str, float, Random], str]] = {
    "letters": _letters,
    "spaces": _spaces,
    "order": _order,
    "case": _case,
}
