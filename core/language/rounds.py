"""Rounds of ten questions that a person answers before a model does: a bank written here, drawn by a seed.

Four kinds: a hidden word, the next word, a replaced word, two sentences in an order to be told. A round is the first
`LENGTH` of a permutation of its kind's bank, drawn from ``default_rng([seed, number of the kind])``, so that a link
holds a round in two numbers. For two sentences the order in which they are shown is drawn as well.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from core.language.guesses import among
from core.settings import ASSETS

Kind = Literal["masked", "next", "replaced", "order"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LENGTH = 10
GAP = "___"
"""Where a word is hidden."""
FOLDER = ASSETS / "rounds"
_WORD = re.compile(r"[^\W_]+(?:[’'-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Question:
    """One question. ``answers`` and ``place`` are the secret of it."""

    kind: Kind
    text: str
    """What is shown: a sentence with `GAP`, a beginning, or a sentence with a wrong word; two sentences as one text."""
    answers: tuple[str, ...]
    """What counts as right, first what stood there. For two sentences the one that came first."""
    choices: tuple[str, ...] = ()
    """The words of a sentence, or the two sentences as shown; empty where the answer is typed."""
    place: int | None = None
    """The right one of ``choices``."""

    def right(self, given: str | int | None) -> bool:
        """Whether ``given``, typed or chosen, is right; None is a question that was given up."""
        if given is None:
            return False
        if self.choices:
            return given == self.place
        return among(str(given), self.answers) is not None


@cache
def bank(kind: Kind) -> tuple[Mapping[str, Any], ...]:
    """All questions of a kind as the file has them."""
    return tuple(tomllib.loads((FOLDER / f"{kind}.toml").read_text(encoding="utf-8"))["questions"])


def draw(kind: Kind, seed: int) -> tuple[Question, ...]:
    """The round of ``seed``: `LENGTH` questions, none twice."""
    rows = bank(kind)
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    order = rng.permutation(len(rows))[:LENGTH]
    turned = rng.random(LENGTH) < 0.5
    return tuple(_question(kind, rows[at], bool(turn)) for at, turn in zip(order, turned, strict=True))


def spans(text: str) -> tuple[tuple[int, int], ...]:
    """Where each word of ``text`` begins and ends, marks left out."""
    return tuple(found.span() for found in _WORD.finditer(text))


def _question(kind: Kind, row: Mapping[str, Any], turned: bool) -> Question:
    if kind == "order":
        pair = (str(row["first"]), str(row["second"]))
        shown = pair[::-1] if turned else pair
        return Question(kind, " ".join(shown), (pair[0],), shown, int(turned))
    text = str(row["text"])
    answers = (str(row["word"]), *map(str, row.get("also", ())))
    if kind != "replaced":
        return Question(kind, text, answers)
    words = tuple(text[start:end] for start, end in spans(text))
    return Question(kind, text, answers, words, words.index(str(row["written"])))
