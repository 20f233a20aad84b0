"""The frame of the page of sources: its title, the choice of a section, and what a link may ask for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core.catalogue import EVIDENCE
from core.catalogue.corrections import KINDS, OTHER, Found, corrections, documents
from core.ui.links import PageState, open_page, sections
from core.ui.page import header

SECTIONS = {"corrections": "Where they err", "documents": "The five sources", "citations": "Every citation"}
ALL_KINDS = KINDS | {OTHER: "Not sorted yet"}


@dataclass(frozen=True, slots=True)
class SourcesView:
    """What the visitor chose in the frame."""

    state: PageState
    section: str
    found: tuple[Found, ...]


def sources_frame() -> SourcesView:
    """Draw the title and the choice of a section."""
    header(
        "Sources",
        "This atlas grew from five documents. See where they err, are loose or disagree, with the sum or the paper "
        "that shows it, and in which text every other statement here was read.",
    )
    found = corrections()
    choices: dict[str, Collection[str]] = {
        "source": [number(one.key) for one in documents()],
        "system": {slug for entry in found for slug in entry.systems},
        "kind": ALL_KINDS,
        "evidence": EVIDENCE,
        "correction": {entry.id for entry in found},
    }
    state = open_page("sources", choices)
    section = sections(state, SECTIONS, "corrections")
    return SourcesView(state, section, found)


def number(key: str) -> str:
    """``004`` of ``source-004``."""
    return key.removeprefix("source-")
