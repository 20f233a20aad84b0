"""What each mask is for, in words, and at which lengths it was published. Data: ``descriptions.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from core.attention.masks.axes import Axes
from core.attention.masks.words import Choice, read

TEXTS = Path(__file__).with_name("descriptions.toml")


@dataclass(frozen=True, slots=True)
class Description:
    """One mask in words."""

    key: str
    purpose: str
    formula: str
    """The predicate in LaTeX: true where a query i may look at a key j."""
    symbols: tuple[tuple[str, str], ...]
    """(LaTeX, meaning) of every letter but i, j and n."""
    count: str
    """How many pairs it allows among n tokens, in LaTeX."""
    systems: tuple[str, ...]
    """Slugs of systems that use it."""
    others: str
    """Who else uses it, in words, or ""."""
    papers: tuple[str, ...]
    """Slugs of systems whose paper describes it."""
    paper: str
    """A paper of no system here, or ""."""
    url: str
    read: str
    """How that paper's rule was read."""
    attempt: str
    notice: str


@dataclass(frozen=True, slots=True)
class Published:
    """A mask at the length for which a system was published."""

    system: str
    choice: Choice
    tokens: int
    caption: int
    side: int
    evidence: str

    def axes(self) -> Axes:
        """Axes of the published length; their tokens have no names."""
        names = ("",) * self.tokens
        if self.side:
            return Axes("image", names, names, caption=self.caption, side=self.side)
        return Axes("text", names, names)


def lines(formula: str) -> str:
    """A formula of several lines as one that holds together."""
    return r"\begin{array}{l}" + formula + r"\end{array}" if r"\\" in formula else formula


def describe(key: str) -> Description:
    """The words for a mask; every key of `core.attention.masks.kinds` has them."""
    return _descriptions()[key]


@lru_cache(maxsize=1)
def published() -> tuple[Published, ...]:
    """Every mask with its published length."""
    return tuple(
        Published(
            entry["system"],
            read(entry["mask"]),
            entry.get("tokens", 0) or entry["caption"] + entry["side"] ** 2,
            entry.get("caption", 0),
            entry.get("side", 0),
            entry["evidence"],
        )
        for entry in _data()["published"]
    )


@lru_cache(maxsize=1)
def _descriptions() -> dict[str, Description]:
    return {
        entry["key"]: Description(
            entry["key"],
            entry["purpose"],
            entry["formula"],
            tuple((latex, meaning) for latex, meaning in entry.get("symbols", ())),
            entry["count"],
            tuple(entry["systems"]),
            entry.get("others", ""),
            tuple(entry["papers"]),
            entry.get("paper", ""),
            entry.get("url", ""),
            entry.get("read", ""),
            entry["attempt"],
            entry["notice"],
        )
        for entry in _data()["mask"]
    }


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    return tomllib.loads(TEXTS.read_text(encoding="utf-8"))
