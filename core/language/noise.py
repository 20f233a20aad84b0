r"""Noise that ByT5 was tried on (Xue et al., 2022, section 5), and two everyday kinds of `core.language.damage`.

===========  ==========================================================================================================
typos        each letter is hit with probability ``rate``: dropped, doubled, swapped, or a neighbor on the keyboard
spaces       each space is dropped with probability ``rate``; each gap inside a word gains one with ``rate`` / 10
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
that its three ways are equally likely is from memory, and no model here was trained on it. Drop and mutate hit 10 % of
the characters there (read in a text about the paper), repetitions 20 % (read in the paper): :data:`PUBLISHED`. The
defaults of the others, and that of drop in training here, 8 %, are this project's own: :data:`RATES`.

Pure Python, no torch. The same text, kind, rate and seed give the same result on every machine.

How far two texts are apart is the fewest characters to insert, delete or replace (Levenshtein, 1966).

"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from random import Random
from typing import Literal, get_args

from rapidfuzz.distance.Levenshtein import distance

from core.errors import OutOfRange
from core.language.damage import damage

Noise = Literal["typos", "spaces", "drop", "repeat", "antspeak", "upper", "random-case", "mutate"]
KINDS: tuple[Noise, ...] = get_args(Noise)
NOISES: tuple[Noise, ...] = tuple(kind for kind in KINDS if kind != "mutate")
"""What a model here is trained on and measured with."""
RATES: dict[Noise, float] = {"typos": 0.08, "spaces": 0.15, "drop": 0.08, "repeat": 0.2, "mutate": 0.1}
"""The default rate of each kind that has one, as training here has it."""
PUBLISHED: dict[Noise, float] = {"drop": 0.1, "repeat": 0.2, "mutate": 0.1}
"""The rate of each kind of the paper that has one."""
MOST = 2
"""A rate may be this many times its default: so far goes what a model is trained on."""


def noisy(text: str, kind: Noise, rate: float | None = None, seed: int = 0) -> str:
    """``text`` with noise of the given kind.

    Args:
        kind: one of :data:`KINDS`.
        rate: probability from 0 to 1; None takes the kind's own of :data:`RATES`. Kinds without one ignore it.
        seed: the random generator's seed.

    Raises:
        OutOfRange: when the kind is unknown or the rate is not a probability.
    """
    if kind not in KINDS:
        raise OutOfRange(f"There is no noise called {str(kind)[:40]!r}. Choose one of: {', '.join(KINDS)}.")
    chance = RATES.get(kind, 1.0) if rate is None else rate
    if not 0.0 <= chance <= 1.0:
        raise OutOfRange(f"The rate of the noise is a probability from 0 to 1, not {chance}.")
    if kind in ("typos", "spaces"):
        return damage(text, "letters" if kind == "typos" else "spaces", chance, seed)
    return _WAYS[kind](text, chance, Random(seed))


def drawn(text: str, seed: int, *, kinds: tuple[Noise, ...] = NOISES) -> tuple[str, Noise]:
    """Noise as a model is trained on it, and its kind: drawn evenly, its rate from 0 to :data:`MOST` times its own."""
    random = Random(seed)
    kind = kinds[int(random.random() * len(kinds))]
    rate = MOST * random.random() * RATES[kind] if kind in RATES else None
    return noisy(text, kind, rate, seed), kind


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
    "drop": _drop,
    "repeat": _repeat,
    "antspeak": _antspeak,
    "upper": _upper,
    "random-case": _random_case,
    "mutate": _mutate,
}


def error_rate(texts: Sequence[str], clean: Sequence[str]) -> float:
    """Character error rate in percent: edits over all pairs for a hundred characters of the clean texts."""
    edits = sum(distance(text, right) for text, right in zip(texts, clean, strict=True))
    return 100 * edits / max(1, sum(map(len, clean)))


def changed(before: str, after: str) -> tuple[tuple[str, bool], ...]:
    """``after`` in stretches, each with whether it is new or other than in ``before``; what is gone is not marked."""
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
