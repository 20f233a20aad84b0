"""Texts, weights and scripts by others that this project uses, with what their licences ask to be shown."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache

from core.catalogue.load import DATA


@dataclass(frozen=True, slots=True)
class Work:
    """Something made by others (or, for some texts and weights, by this project)."""

    name: str
    licence: str
    by: str
    use: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Attribution:
    """All works, by kind."""

    texts: tuple[Work, ...]
    weights: tuple[Work, ...]
    scripts: tuple[Work, ...]


@lru_cache(maxsize=1)
def attribution() -> Attribution:
    """What has to be shown, read once from ``data/attribution.toml``."""
    table = tomllib.loads((DATA / "attribution.toml").read_text(encoding="utf-8"))
    return Attribution(**{kind: tuple(Work(**row) for row in table[kind]) for kind in ("texts", "weights", "scripts")})
