"""The frame of the page that compares: title, section, and what its links may say."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core import catalogue
from core.anatomy.sheet import COLUMNS
from core.ui.links import PageState, open_page, sections
from core.ui.page import header
from core.ui.unbuilt import unbuilt

SECTIONS = {"table": "Table", "trees": "Two trees"}


@dataclass(frozen=True, slots=True)
class CompareView:
    """What the visitor chose in the frame."""

    state: PageState
    section: str


def compare_frame() -> CompareView:
    """Draw the title and the choice of a section."""
    header(
        "Compare",
        "Every system of the atlas in one table, property by property, each with the text it was read in. "
        "Or two networks side by side: what both have, what is new, what is gone.",
    )
    slugs = [system.slug for system in catalogue.systems()]
    built = [system.slug for system in catalogue.systems() if system.sizes]
    sizes = {size.name for system in catalogue.systems() for size in system.sizes}
    columns = [column.slug for column in COLUMNS]
    choices: dict[str, Collection[str]] = {
        "columns": columns,
        "sort": columns,
        "pins": slugs,
        "left": built,
        "right": built,
        "left-size": sizes,
        "right-size": sizes,
    }
    state = open_page("compare", choices)
    section = sections(state, SECTIONS, "table")
    unbuilt()
    return CompareView(state, section)
