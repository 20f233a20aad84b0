"""The glossary: the field's terms from ``data/glossary.toml``, with their names and a link to try each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from core.catalogue.load import DATA, checked, read_text
from core.catalogue.schema import Listed, Names, Record, Sentence, Slug, Text, once


@dataclass(frozen=True, slots=True)
class TryLink:
    """A link into the app: a page, its query, and the text of the link."""

    page: str
    query: tuple[tuple[str, str], ...]
    label: str


def _read_link(row: object) -> object:
    """A link from its table: ``page`` and ``label``; all other entries are the query."""
    if not isinstance(row, dict) or not {"page", "label"} <= row.keys():
        raise ValueError("must be a table with a page and a label")
    query = {name: value for name, value in row.items() if name not in ("page", "label")}
    return TryLink(row["page"], tuple(query.items()), row["label"])


class Term(Record):
    """A term with one to three sentences about it."""

    slug: Slug
    name: Text
    text: Sentence
    aliases: Names = ()
    """Other names, linked in texts as the name is."""
    also: Names = ()
    """Further search words, too common or too vague to be linked."""
    formula: str = ""
    """LaTeX, or "" where none helps."""
    see: Names = ()
    """Slugs of related terms."""
    try_link: Annotated[TryLink | None, BeforeValidator(_read_link), Field(alias="try")] = None
    linked: bool = Field(True, alias="link")
    """False for words too common to be linked."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names under which it may be linked, the main one first."""
        return (self.name, *self.aliases)


class _File(Record):
    """``glossary.toml``."""

    terms: Annotated[tuple[Term, ...], Listed]

    @field_validator("terms")
    @classmethod
    def _known(cls, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        once("slugs", [term.slug for term in terms])
        slugs = {term.slug for term in terms}
        for term in terms:
            if strange := set(term.see) - slugs:
                raise ValueError(f"{term.slug} points to unknown terms {', '.join(sorted(strange))}")
        return terms


@lru_cache(maxsize=1)
def terms() -> tuple[Term, ...]:
    """All terms, sorted by name. Raises :class:`core.catalogue.load.BadData` for an invalid file."""
    file = checked(_File, read_text(DATA / "glossary.toml"), "glossary.toml")
    return tuple(sorted(file.terms, key=_by_name))


@lru_cache(maxsize=1024)
def term(slug: str) -> Term | None:
    """The term of that slug, or None."""
    return next((entry for entry in terms() if entry.slug == slug), None)


def letter(entry: Term) -> str:
    """The letter that lists a term; ``#`` for signs and digits."""
    first = _by_name(entry)[:1].upper()
    return first if first.isalpha() else "#"


def _by_name(entry: Term) -> str:
    return entry.name.lower().lstrip("[")
