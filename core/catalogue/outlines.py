"""The tables of contents of texts on the field, and what treats each part here: ``data/outlines.toml``."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated

from pydantic import Field

from core.catalogue.load import DATA, BadData, checked, load_all, read_text, shared
from core.catalogue.schema import Citation, Listed, Names, Record, Text


class Part(Record):
    """A section, slide or lecture; without lessons, systems and views, nothing here treats it."""

    title: Text
    lessons: Names = ()
    """The names of their files."""
    systems: Names = ()
    views: dict[str, str] = Field(default_factory=dict)
    """Addresses, such as ``/generation?tab=beam``, by what a link to one says."""


class Outline(Record):
    """A text's table of contents."""

    key: Text
    """Of its citation in ``shared.toml``."""
    name: Text
    parts: Annotated[tuple[Part, ...], Listed]

    @property
    def citation(self) -> Citation:
        """What was read of the text."""
        return shared()[0][self.key]


class _File(Record):
    outlines: Annotated[tuple[Outline, ...], Listed]


@lru_cache(maxsize=1)
def outlines() -> tuple[Outline, ...]:
    """All of them. Raises :class:`BadData`."""
    listed = checked(_File, read_text(DATA / "outlines.toml"), "outlines.toml").outlines
    if strange := {outline.key for outline in listed} - shared()[0].keys():
        raise BadData(f"outlines.toml: there is no citation {', '.join(sorted(strange))} in shared.toml")
    named = {slug for outline in listed for part in outline.parts for slug in part.systems}
    if strange := named - {system.slug for system in load_all()}:
        raise BadData(f"outlines.toml: there is no system {', '.join(sorted(strange))}")
    return listed
