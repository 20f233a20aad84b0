"""What there is to say of a tree: what a module computes, by its class, and how four trees differ from printed ones.

The texts are data, ``classes.toml`` and ``printed.toml``. No torch here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True, slots=True)
class Printed:
    """A tree that source 000 prints: its class, its configuration, and the differences from today's, in sentences."""

    cls: str
    config: str
    notes: tuple[str, ...]
    overrides: dict[str, Any] = field(default_factory=dict)


@lru_cache(maxsize=1)
def printed() -> dict[str, Printed]:
    """The four trees by system. A system's own tree may be another class (with a head) or begin at another size."""
    rows = tomllib.loads(TEXTS.with_name("printed.toml").read_text(encoding="utf-8"))
    return {slug: Printed(**row | {"notes": tuple(row["notes"])}) for slug, row in rows.items()}
