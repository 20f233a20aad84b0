"""Each step of a block in plain words, and what the letters of its formula stand for. Data: ``step_texts.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.attention.inside.steps import Step

TEXTS = Path(__file__).with_name("step_texts.toml")
SHARED = {
    r"\mathrm{softmax}": "makes weights of a row of scores: none is negative, and together they are one",
    r"\odot": "number by number",
}
"""What formulas have in common."""
_WORDS = re.compile(r"\\(mathrm|text)\{[^}]*\}")
_COMMANDS = re.compile(r"\\[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class StepText:
    """One step in words."""

    text: str
    symbols: tuple[tuple[str, str], ...]
    """(LaTeX, meaning) of every letter of the step's own formula."""


def step_text(step: Step) -> StepText:
    """The words for a step; every name that `core.attention.inside.steps` gives has them."""
    entry = _entries()[step.name]
    rest, met = step.formula, []
    for latex, meaning in (*entry["symbols"], *SHARED.items()):
        if stands(latex, rest):
            met.append((latex, meaning))
            rest = rest.replace(latex, " ") if len(latex) > 1 else rest
    return StepText(entry["text"], tuple(met))


def stands(latex: str, formula: str) -> bool:
    """Whether a symbol stands in a formula: a single letter counts where it is no part of a command or a word."""
    if len(latex) > 1:
        return latex in formula
    return latex in _COMMANDS.sub(" ", _WORDS.sub(" ", formula))


@lru_cache(maxsize=1)
def _entries() -> dict[str, dict[str, Any]]:
    """Every name with its entry. Raises ValueError where the data name one twice."""
    found: dict[str, dict[str, Any]] = {}
    for entry in tomllib.loads(TEXTS.read_text(encoding="utf-8"))["entry"]:
        for name in entry["names"]:
            if name in found:
                raise ValueError(f"{TEXTS.name} has {name} twice")
            found[name] = entry
    return found
