"""The lessons by another text's table of contents: a row for each part of a lecture, a book or a course."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core import catalogue, links
from core.catalogue.outlines import Outline, Part, outlines
from core.lessons import FOLDER
from core.lessons.lesson import Lesson
from core.ui.glossary import terms
from core.ui.page import base_path, plain
from core.ui.param import Choice
from core.ui.section import View
from core.ui.tables import Cell, Link, Rich, TextTable, text_table

ORDER = "order"
ARRANGED = Choice(
    name="by",
    label="By lecture, book or course",
    options={ORDER: "None: lessons in order"} | {outline.key: outline.name for outline in outlines()},
    width=420,
)


def draw_outline(view: View, key: str, lessons: Mapping[str, Lesson]) -> None:
    """Draw the table of the outline ``key``; a lesson that the host's files made unusable is left out."""
    outline = next(outline for outline in outlines() if outline.key == key)
    rows = [(part.title, _lessons(part, lessons), _views(part)) for part in outline.parts]
    text_table(TextTable(("Part", "Lessons", "Systems and views"), rows, caption=outline.name, widths=(30, 30, 40)))
    st.caption(terms(view.words.part("Outline", text=_text(outline), read=plain(outline.citation.read))))


def _text(outline: Outline) -> str:
    """The text as a link where it has an address."""
    text = outline.citation
    name = plain(", ".join(str(each) for each in (text.authors, text.title, text.year) if each))
    return f"[{name}]({text.url})" if text.url else name


def _lessons(part: Part, lessons: Mapping[str, Lesson]) -> Cell:
    here = [lessons[slug] for slug in part.lessons if slug in lessons]
    return _listed([Link(lesson.title, base_path() + links.url(FOLDER, {"lesson": lesson.slug})) for lesson in here])


def _views(part: Part) -> Cell:
    systems = [catalogue.get(slug) for slug in part.systems]
    found = [
        Link(system.name, base_path() + links.url(system.branch, {"system": system.slug}), system.name)
        for system in systems
    ]
    return _listed([*found, *(Link(label, base_path() + view) for label, view in part.views.items())])


def _listed(found: list[Link]) -> Cell:
    """The links with commas between them; a dash for none."""
    return Rich(tuple(piece for link in found for piece in (", ", link))[1:]) if found else "–"
