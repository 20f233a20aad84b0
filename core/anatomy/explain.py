"""What a module computes, by its class: a plain sentence, a formula where it helps, its letters. No torch here."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

TEXTS = Path(__file__).with_name("classes.toml")


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one class computes."""

    text: str
    formula: str | None
    """LaTeX, without dollar signs; ``\\\\`` begins a new line."""
    where: str | None
    """What the formula's letters stand for."""


def explain(cls: str) -> Explanation | None:
    """What modules of this class compute; None for a class that no text was written for."""
    return explanations().get(cls)


@lru_cache(maxsize=1)
def explanations() -> dict[str, Explanation]:
    """Every explained class. Raises ValueError when the data file explains a class twice."""
    found: dict[str, Explanation] = {}
    for entry in tomllib.loads(TEXTS.read_text(encoding="utf-8"))["entry"]:
        for cls in entry["classes"]:
            if cls in found:
                raise ValueError(f"{TEXTS.name} explains {cls} twice")
            found[cls] = Explanation(entry["text"], entry.get("formula"), entry.get("where"))
    return found
