"""Formulas and devices as data: what is shown beside a number, and where it was read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.catalogue.schema import EVIDENCE, Citation

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in LaTeX, what its letters mean, and its sources."""

    key: str
    name: str
    latex: str
    letters: str
    sources: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator. What no text of its vendor gave is None."""

    slug: str
    name: str
    memory: float
    """Gigabytes of 10⁹ bytes, as the vendor prints them."""
    teraflops: float | None
    """Dense peak in 16 bits, 10¹² operations a second."""
    watts: float | None
    sources: tuple[Citation, ...]
    note: str = ""


def _citations(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Citation]:
    known = {}
    for key, row in rows.items():
        if row["evidence"] not in EVIDENCE:
            raise ValueError(f"citation {key}: evidence {row['evidence']!r}")
        known[key] = Citation(
            key, row["title"], row.get("authors", ""), row.get("year"), row.get("url"), row["evidence"], row["read"]
        )
    return known


@lru_cache(maxsize=8)
def formulas(path: Path = DATA / "formulas.toml") -> dict[str, Formula]:
    """Every formula of a file by its key; without a file those of the costs."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    known = _citations(table["citations"])
    return {
        key: Formula(key, row["name"], row["latex"], row["letters"], tuple(known[name] for name in row["source"]))
        for key, row in table["formulas"].items()
    }


@lru_cache(maxsize=8)
def citations(path: Path = DATA / "formulas.toml") -> dict[str, Citation]:
    """Every text that a file of formulas names, by its key."""
    return _citations(tomllib.loads(path.read_text(encoding="utf-8"))["citations"])


@lru_cache(maxsize=1)
def devices() -> dict[str, Device]:
    """Every device by its slug, in the order of the file."""
    table = tomllib.loads((DATA / "devices.toml").read_text(encoding="utf-8"))
    known = _citations(table["citations"])
    return {
        row["slug"]: Device(
            row["slug"],
            row["name"],
            row["memory"],
            row.get("teraflops"),
            row.get("watts"),
            tuple(known[name] for name in row["source"]),
            row.get("note", ""),
        )
        for row in table["devices"]
    }
