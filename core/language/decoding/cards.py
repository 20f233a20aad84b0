"""Decoding strategies in links: ``greedy``, ``sample-0.7``, ``top_p-0.9``, ``top_p-0.9-1.5``, ``beam-4``.

The first number is the strategy's own (for ``sample`` the temperature), the second the temperature, 1 by default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.language.decoding.rules import Rule
from core.language.types import Decoding
from core.settings import settings

StrategyKind = Literal["greedy", "sample", "top_k", "top_p", "min_p", "typical", "beam"]


@dataclass(frozen=True, slots=True)
class Number:
    """The parameter of a strategy: its name, range, default and step."""

    name: str
    low: float
    high: float
    start: float
    step: float
    whole: bool = False
    symbol: str = ""
    """Its symbol in the short name of the rule."""

    def allows(self, value: float) -> bool:
        """Whether ``value`` is in the range, and whole if it must be."""
        return self.low <= value <= self.high and (not self.whole or value == int(value))


TEMPERATURE = Number("Temperature", 0.1, 3.0, 0.7, 0.1, symbol="T")
NUMBERS: dict[StrategyKind, Number] = {
    "sample": TEMPERATURE,
    "top_k": Number("k", 1, 1000, 40, 1, True, "k"),
    "top_p": Number("p", 0.05, 1.0, 0.9, 0.05, symbol="p"),
    "min_p": Number("Share of max p", 0.01, 1.0, 0.1, 0.05, symbol="m"),
    "typical": Number("Mass", 0.05, 1.0, 0.9, 0.05, symbol="mass"),
    "beam": Number("Beams", 1, 8, 4, 1, True, "B"),
}
NAMES: dict[StrategyKind, str] = {
    "greedy": "Greedy",
    "sample": "Sampling",
    "top_k": "Top-k",
    "top_p": "Top-p",
    "min_p": "Min-p",
    "typical": "Typical",
    "beam": "Beam search",
}
PROCESSORS: dict[Rule, tuple[str, Number]] = {
    "temperature": ("Temperature", TEMPERATURE),
    "top_k": ("Top-k", NUMBERS["top_k"]),
    "top_p": ("Top-p", NUMBERS["top_p"]),
    "min_p": ("Min-p", NUMBERS["min_p"]),
    "typical": ("Typical", NUMBERS["typical"]),
    "penalty": ("Repetition penalty", Number("Penalty", 0.5, 3.0, 1.3, 0.1)),
    "no_repeat": ("No repeated n-grams", Number("n", 1, 10, 2, 1, True)),
}
"""Name and parameter of each rule, in the order of the menu."""
TRUNCATIONS: tuple[StrategyKind, ...] = ("top_k", "top_p", "min_p", "typical")
MOST = 8


@dataclass(frozen=True, slots=True)
class Card:
    """A decoding strategy with its parameters."""

    kind: StrategyKind
    value: float = 0.0
    """The value of its parameter; 0 for greedy decoding, which has none."""
    temperature: float = 1.0
    """Applied before truncation."""

    @property
    def name(self) -> str:
        """A short name: ``Top-p, p = 0.9, T = 0.7``."""
        parts = [NAMES[self.kind]]
        if self.kind in NUMBERS:
            parts.append(f"{NUMBERS[self.kind].symbol} = {self.value:g}")
        if self.kind in TRUNCATIONS and self.temperature != 1:
            parts.append(f"T = {self.temperature:g}")
        return ", ".join(parts)


def number_of(kind: StrategyKind) -> Number | None:
    """The number of a kind of card, as the installation bounds it; None for one without."""
    number = NUMBERS.get(kind)
    if kind != "beam" or number is None:
        return number
    most = min(number.high, settings().max_beams)
    return replace(number, high=most, start=min(number.start, most))


def default_cards() -> tuple[Card, ...]:
    """The cards that the page opens with."""
    return Card("greedy"), Card("sample", 1.0), Card("top_p", 0.9, 0.7), new_card("beam")


def new_card(kind: StrategyKind) -> Card:
    number = number_of(kind)
    return Card(kind, number.start if number else 0.0)


def format_card(card: Card) -> str:
    """The word of a card in a link."""
    parts: list[str] = [card.kind]
    if card.kind in NUMBERS:
        parts.append(f"{card.value:g}")
    if card.kind in TRUNCATIONS and card.temperature != 1:
        parts.append(f"{card.temperature:g}")
    return "-".join(parts)


def parse_card(word: str) -> Card:
    """The card of a word in a link. Raises ValueError, whose message says what is allowed and ends a sentence."""
    kind, *numbers = word.split("-")
    if kind not in NAMES:
        raise ValueError(f"a rule begins with one of: {', '.join(NAMES)}")
    number = number_of(kind)  # type: ignore[arg-type]
    expected = [number] if number else []
    if kind in TRUNCATIONS:
        expected.append(TEMPERATURE)
    if len(numbers) > len(expected):
        raise ValueError(f"{kind} takes {len(expected) or 'no'} number{'' if len(expected) == 1 else 's'} at most")
    values = [_number(raw, number) for raw, number in zip(numbers, expected, strict=False)]
    card = new_card(kind)  # type: ignore[arg-type]
    return Card(card.kind, values[0] if values else card.value, values[1] if len(values) > 1 else card.temperature)


def _number(raw: str, number: Number) -> float:
    try:
        value = float(raw)
    except ValueError:
        raise ValueError(f"{number.name} must be a number") from None
    if not math.isfinite(value) or not number.low <= value <= number.high:
        raise ValueError(f"{number.name} must lie from {number.low:g} to {number.high:g}")
    if number.whole and value != int(value):
        raise ValueError(f"{number.name} must be a whole number")
    return value


def parse_cards(words: Sequence[str] | None) -> tuple[tuple[Card, ...], tuple[str, ...]]:
    """The cards of a link, and a sentence for each invalid word; the default cards where none is valid."""
    cards: list[Card] = []
    refused: list[str] = []
    for word in words or ():
        try:
            cards.append(parse_card(word))
        except ValueError as error:
            shown = word if len(word) <= 40 else word[:39] + "…"
            refused.append(f"The link asks for the rule “{shown}”, but {error}.")
    return tuple(cards) or default_cards(), tuple(refused)


def decoding_of(card: Card, common: Decoding) -> Decoding:
    """``common`` (length, seed, penalties, stop texts) with the strategy of a card."""
    if card.kind == "greedy":
        return replace(common, strategy="greedy", seed=0, length_penalty=None)
    if card.kind == "beam":
        return replace(common, strategy="beam", beams=int(card.value), seed=0)
    number = NUMBERS[card.kind]
    field = "temperature" if card.kind == "sample" else card.kind
    parameters: dict[str, Any] = {"temperature": card.temperature} | {
        field: int(card.value) if number.whole else card.value
    }
    return replace(common, strategy="sample", length_penalty=None, **parameters)
