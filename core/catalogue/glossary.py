"""The terms of the field in plain words, read from ``data/glossary.toml``: each with its names and where to try it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from core.catalogue.load import DATA, BadData

_FIELDS = {"slug", "name", "text", "aliases", "also", "formula", "see", "try", "link"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the app a thing can be seen: a page, what stands in its link, and the words of the link."""

    page: str
    query: tuple[tuple[str, str], ...]
    label: str


@dataclass(frozen=True, slots=True)
class Term:
    """A term with one to three sentences about it."""

    slug: str
    name: str
    text: str
    aliases: tuple[str, ...]
    """Other names; they are linked in texts as the name is."""
    also: tuple[str, ...]
    """Words by which it is found, too common or too vague to be linked."""
    formula: str
    """LaTeX, or "" where none helps."""
    see: tuple[str, ...]
    """Slugs of related terms."""
    place: Place | None
    linked: bool
    """False for words so common that a link on each page would only be in the way."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names under which it may be linked, the main one first."""
        return (self.name, *self.aliases)


@lru_cache(maxsize=1)
def terms() -> tuple[Term, ...]:
    """All terms by name. Raises :class:`core.catalogue.load.BadData` where the file does not fit."""
    rows = tomllib.loads((DATA / "glossary.toml").read_text(encoding="utf-8"))["terms"]
    found = tuple(sorted((_term(row) for row in rows), key=_by_name))
    known = {term.slug for term in found}
    if len(known) < len(found):
        raise BadData("glossary.toml: two terms share a slug")
    for term in found:
        if strange := set(term.see) - known:
            raise BadData(f"glossary.toml: {term.slug} points to unknown terms {', '.join(sorted(strange))}")
    return found


def term(slug: str) -> Term | None:
    """The term of that slug, or None."""
    return next((found for found in terms() if found.slug == slug), None)


def letter(found: Term) -> str:
    """The letter under which a term stands; ``#`` for signs and digits."""
    first = _by_name(found)[:1].upper()
    return first if first.isalpha() else "#"


def _by_name(found: Term) -> str:
    return found.name.lower().lstrip("[")


def _term(row: dict[str, Any]) -> Term:
    if strange := row.keys() - _FIELDS:
        raise BadData(f"glossary.toml: {row.get('slug', '?')} has unknown fields {', '.join(sorted(strange))}")
    try:
        return Term(
            slug=row["slug"],
            name=row["name"],
            text=row["text"],
            aliases=tuple(row.get("aliases", ())),
            also=tuple(row.get("also", ())),
            formula=row.get("formula", ""),
            see=tuple(row.get("see", ())),
            place=place(row["try"]) if "try" in row else None,
            linked=row.get("link", True),
        )
    except KeyError as error:
        raise BadData(f"glossary.toml: {row.get('slug', '?')} lacks {error}") from error


def place(row: dict[str, str]) -> Place:
    """A place from its table: ``page`` and ``label``; everything else is what its link carries."""
    query = {name: value for name, value in row.items() if name not in ("page", "label")}
    return Place(row["page"], tuple(query.items()), row["label"])
