"""A page and its sections: what a page file declares, and all that follows from it.

A section is a name, its parameters, its words and a function that draws it from top to bottom. The frame does what all
share: title, the row of sections, reading and writing the link, errors as sentences, Try and Notice below the picture,
*How it works*, Copy link and Reset. ``assets/content/<page>/page.md`` and ``<page>/<section>.md`` hold the words.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import streamlit as st

from core.content import Content, content
from core.links import register
from core.links.parameters import Choice, Parameter
from core.settings import ROOT
from core.ui.glossary import terms
from core.ui.header import header
from core.ui.links import PageState, close_page, link_row, open_page, sections
from core.ui.notices import sentences
from core.ui.param import Param

_DISPLAY = re.compile(r"^\$\$(.+)\$\$$", re.MULTILINE)
"""A formula on a line of its own; Streamlit centers it only where its marks have lines of their own, too."""

_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
"""A heading, which Markdown would give an anchor that no link of ours knows."""


@dataclass(frozen=True, slots=True)
class View:
    """What a section draws with: the page's state and its own words."""

    state: PageState
    words: Content
    later: list[Callable[[], None]] = field(default_factory=list)
    """What takes long and is done when the whole page stands, its link included."""

    def say(self, part: str, /, **values: str | int | float) -> None:
        """Show a part of the words as Markdown, its terms linked; ``values`` are a run's numbers and names of ours."""
        text = terms(_DISPLAY.sub(r"$$\n\1\n$$", self.words.part(part, **values)))
        for number, piece in enumerate(_HEADING.split(text)):
            if number % 2:
                st.subheader(piece, anchor=False)
            elif piece.strip():
                st.markdown(piece)

    def note(self, part: str, /, **values: str | int | float) -> None:
        """Show a part of the words as a small note."""
        st.caption(terms(self.words.part(part, **values)))

    def how_it_works(self, *parts: str, notes: Sequence[str] = (), **values: str | int | float) -> None:
        """The formulas with their symbols, and the paper, in a box that is closed at first; ``how`` may label it."""
        with st.expander(self.words.front.get("how", "How it works")):
            for part in parts or ("How it works",):
                self.say(part, **values)
            for note in (*notes, *(["Paper"] if self.words.has("Paper") else [])):
                self.note(note)

    def try_and_notice(self, variant: str = "", /, **values: str | int | float) -> None:
        """What to try and what it shows, side by side where there is room. ``variant``: of "Notice: variant"."""
        shown = [
            (name, part)
            for name in ("Try", "Notice")
            if self.words.has(part := f"{name}: {variant}") or self.words.has(part := name)
        ]
        for column, (name, part) in zip(st.columns(len(shown) or 1, gap="large"), shown, strict=False):
            column.markdown(terms(f"**{name}** {self.words.part(part, **values)}"))


@dataclass(frozen=True)
class Section:
    """One section of a page. Its title is in its words."""

    slug: str
    draw: Callable[[Any], None]
    """Given the page's :class:`View`."""
    params: tuple[Param[Any], ...] = ()
    """All that its link carries, beside what the page's sections share."""
    folder: str = ""
    """Of its words, where several pages share them."""

    def words(self, page: str) -> Content:
        """Its words on a page."""
        return content(self.folder or page, self.slug)


@dataclass(frozen=True)
class Page:
    """One page: ``slug`` is its path and the folder of its words; the first section is the one it opens with."""

    slug: str
    sections: Sequence[Section]
    params: tuple[Param[Any], ...] = ()
    """What several sections share."""
    branch: str | None = None
    opens: Callable[[PageState], str] | None = None
    """The section of a link that names none, where that depends on what else it carries."""
    unavailable: Callable[[], bool] = field(default=lambda: False)
    """Draws why nothing can be shown here, and says so."""
    above: Callable[[View], View] = field(default=lambda view: view)
    """Draws what all sections are about, above the row of them; the view that they get."""
    below: Callable[[View, Section], None] | None = None
    """Draws what stands under every section, above Copy link, also where the section could not be drawn."""

    def __post_init__(self) -> None:
        register(self.slug, self.carried())

    def carried(self) -> dict[str, Parameter]:
        """All that a link to this page can carry, by name."""
        every = (*self.params, *(param for section in self.sections for param in section.params))
        tab = Choice(None, tuple(section.slug for section in self.sections))
        return ({"tab": tab} if len(self.sections) > 1 else {}) | {param.name: param.carried for param in every}

    def run(self) -> None:
        """Draw the page for this run."""
        words = content(self.slug)
        header(words.title, words.label("line"), self.branch)
        state = open_page(self.slug)
        later: list[Callable[[], None]] = []
        if not self.unavailable():
            view = self.above(View(state, words))
            first = self.opens(state) if self.opens else self.sections[0].slug
            titles = {section.slug: section.words(self.slug).title for section in self.sections}
            chosen = sections(state, titles, first) if len(titles) > 1 else first
            state.set(tab=None if chosen == first else chosen)
            section = next(section for section in self.sections if section.slug == chosen)
            view = replace(view, words=section.words(self.slug))
            state.helps = words.front.get("help", {}) | view.words.front.get("help", {})
            with sentences():
                section.draw(view)
            if self.below is not None:
                self.below(view, section)
            later = view.later
        if self.carried():
            link_row(state)
        close_page(state)
        for do in later:
            do()


@lru_cache(maxsize=1)
def pages() -> dict[str, Page]:
    """Every page by its slug. A page file declares ``PAGE`` and draws it only when it is run as a script."""
    found = {}
    for path in sorted((ROOT / "pages").glob("*.py")):
        if "\nPAGE = " in path.read_text(encoding="utf-8"):
            page = runpy.run_path(str(path), run_name="page")["PAGE"]
            found[page.slug] = page
    return found
