"""Formulas and devices as data, each with its sources."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core.catalogue.schema import Citation

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula in LaTeX, its symbols, and its sources."""

    key: str
    name: str
    latex: str
    letters: str
    sources: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator. None: no text of its vendor states the value."""

    slug: str
    name: str
    memory: float
    """Gigabytes of 10⁹ bytes, as the vendor prints them."""
    sources: tuple[Citation, ...]
    note: str = ""


@lru_cache(maxsize=8)
def formulas(path: Path = DATA / "formulas.toml") -> dict[str, Formula]:
    """The formulas of a file by key; without a file those of the costs."""
    table, by_name = tomllib.loads(path.read_text(encoding="utf-8")), citations(path)
    return {
        key: Formula(key, sources=tuple(by_name[name] for name in row.pop("source")), **row)
        for key, row in table["formulas"].items()
    }


@lru_cache(maxsize=8)
def citations(path: Path = DATA / "formulas.toml") -> dict[str, Citation]:
    """The sources that a file of formulas cites, by key."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["citations"]
    return {key: Citation.model_validate(row | {"key": key}) for key, row in rows.items()}


@lru_cache(maxsize=1)
def devices() -> dict[str, Device]:
    """The devices by slug, in the order of the file."""
    path = DATA / "devices.toml"
    table, by_name = tomllib.loads(path.read_text(encoding="utf-8")), citations(path)
    return {
        row["slug"]: Device(sources=tuple(by_name[name] for name in row.pop("source")), **row)
        for row in table["devices"]
    }
