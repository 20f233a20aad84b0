"""A page and its sections: what a page file declares, and the frame around it.

A section is a name, its parameters, its content and a function that draws it. The frame does what all share: title,
the row of sections, reading and writing the link, errors as sentences, Why, Try and Notice below the picture, *How it
works* and the misreading, and the foot: one menu (Copy link, Present, Reset, all downloads and tables, the room), the
next step.
``assets/content/<page>/page.md`` and ``<page>/<section>.md`` hold the words; ``next`` in the front matter of either is
where to go from here.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.catalogue import systems
from core.catalogue.load import BadData
from core.content import Content, content
from core.errors import SettingUnusable
from core.links import register
from core.links.parameters import Choice, Parameter
from core.settings import ROOT, settings
from core.ui.export import begin_downloads
from core.ui.glossary import begin_page, error, markdown, sentences, terms
from core.ui.links import (
    PageState,
    close_page,
    copy_button,
    keep_address,
    mode_button,
    open_page,
    page_link,
    present,
    read_mode,
    reset_button,
    sections,
)
from core.ui.page import accent, alone, bare, css, presenting, theme, through_page_table
from core.ui.panel import figure_menus
from core.ui.param import Param
from core.ui.room import door

_MENU, _DOTS = "More", ":material/more_vert:"
_COLUMN = 560
"""Pixels of a column of prose: about 70 characters."""
_BARE = css("bare")
_PRESENTED = css("presented")


def header(title: str, sentence: str, branch: str | None = None, *, later: bool = False) -> DeltaGenerator:
    """Draw a page's title over a bar in the branch's color, and one sentence on what the page offers, if there is one.

    ``later`` leaves the title to the caller, who knows more of it: it belongs into the container that is returned.

    Both are the app's. The sentence's terms are linked to the glossary; from here on, the page links each term once.
    """
    through_page_table()
    begin_page()
    # the color comes from the theme, never from a visitor
    bar = f"--atlas-bar: {accent(branch)};" if branch else ""
    st.html(f"<style>:root {{ {bar}{theme().css} }}</style>")
    if alone():
        st.html(_BARE + _PRESENTED * presenting())
    row = {"horizontal": True, "vertical_alignment": "center", "key": "atlas-heading"} if later else {}
    heading = st.container(**row)  # type: ignore[arg-type]
    if not later:
        heading.title(title, anchor=False)
    if sentence and not alone():
        markdown(sentence)
    try:
        settings()
    except SettingUnusable as fault:
        if later:
            heading.title(title, anchor=False)
        # Nothing below could find its models; the frame stands, so that the other pages say the same.
        error(str(fault), icon=":material/settings:")
        st.stop()
    try:
        systems()
    except BadData as fault:
        if later:
            heading.title(title, anchor=False)
        error(str(fault).replace("\n", "\n\n"), icon=":material/rule:")  # a line each
        st.stop()
    return heading


_DISPLAY = re.compile(r"^\$\$(.+)\$\$$", re.MULTILINE)
"""A formula on a line of its own; Streamlit centers it only where its marks have lines of their own, too."""

_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)
"""A heading, to which Markdown would give an anchor that no link of the app uses."""


def tab_row() -> DeltaGenerator:
    """A row for a page's sections and controls, which wraps on a narrow screen."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="small")


@dataclass(frozen=True, slots=True)
class View:
    """The page's state and the section's content, passed to the function that draws it."""

    state: PageState
    words: Content
    later: list[Callable[[], None]] = field(default_factory=list)
    """A slow task, run after the whole page is drawn, its link included."""
    heading: DeltaGenerator | None = None
    """The row of the page's title, on a page that draws it with its common controls."""
    row: DeltaGenerator | None = None
    """The row of the page's sections, with room for controls."""

    @property
    def title(self) -> str:
        """The section's title, as Markdown: shown in a presentation, and read by screen readers."""
        return self.words.title

    def controls(self) -> DeltaGenerator:
        """The row of the controls: the one that has the page's sections, or another."""
        return self.row or tab_row()

    def say(self, part: str, /, **values: str | int | float) -> None:
        """Show a part of the content as Markdown with links of terms; ``values`` are numbers or names of the app."""
        text = terms(_DISPLAY.sub(r"$$\n\1\n$$", self.words.part(part, **values)))
        for number, piece in enumerate(_HEADING.split(text)):
            if number % 2:
                st.subheader(piece, anchor=False)
            elif piece.strip():
                st.markdown(piece)

    def note(self, part: str, /, **values: str | int | float) -> None:
        """Show a part of the content as a caption."""
        st.caption(terms(self.words.part(part, **values)))

    def how_it_works(self, *parts: str, notes: Sequence[str] = (), **values: str | int | float) -> DeltaGenerator:
        """Draw what is computed, in a closed expander that ``how`` may label, then the misreading.

        The frame draws both at the end of a section that does not. Returns the expander's column, for more.
        """
        self.state.drawn.add("How it works")
        column = st.expander(self.words.front.get("how", "How it works")).container(width=_COLUMN)
        with column:
            for part in parts or ("How it works",):
                self.say(part, **values)
            for note in (*notes, *(["Paper"] if self.words.has("Paper") else [])):
                self.note(note)
        if self.words.has("Misreading") and self._due("Misreading"):
            self._argue("A common misreading", "Misreading", **values)
        return column

    def try_and_notice(self, variant: str = "", /, **values: str | int | float) -> None:
        """Draw Why, and beside it Try and Notice. ``variant``: of "Notice: variant"."""
        shown = {
            name: self.words.part(part, **values)
            for name in ("Try", "Notice")
            if self.words.has(part := f"{name}: {variant}") or self.words.has(part := name)
        }
        self.say_why(shown, **values)

    def say_why(self, beside: Mapping[str, str], /, **values: str | int | float) -> None:
        """Draw Why, unless it is drawn, and ``beside`` it Markdown by its lead, such as Try.

        Nothing in another page's frame: that page says what to look at.
        """
        if bare():
            return
        if self.words.has("Why") and self._due("Why"):
            left, right = st.columns([1.25, 1], gap="large")
            with left:
                self._argue("Why", "Why", **values)
            columns = [right] * len(beside)
        else:
            columns = st.columns(len(beside) or 1, gap="large")
        for column, (lead, text) in zip(columns, beside.items(), strict=False):
            column.markdown(terms(f"**{lead}** {text}"))

    def finish(self) -> None:
        """Draw what the content has and the section has not drawn: Why, How it works, the misreading."""
        if self.words.stands("Why") and self._due("Why"):
            self._argue("Why", "Why")
        if self.words.stands("How it works") and self._due("How it works"):
            self.how_it_works()
        if self.words.stands("Misreading") and self._due("Misreading"):
            self._argue("A common misreading", "Misreading")

    def _argue(self, lead: str, part: str, /, **values: str | int | float) -> None:
        """Draw a paragraph that argues, in a column; not in a lecture hall, where somebody says it."""
        if not alone():
            st.markdown(terms(f"**{lead}** {self.words.part(part, **values)}"), width=_COLUMN)

    def _due(self, part: str) -> bool:
        """Whether no section of this run has drawn ``part`` yet; from now on one has."""
        due = part not in self.state.drawn
        self.state.drawn.add(part)
        return due


@dataclass(frozen=True)
class Section:
    """A section of a page. Its title is in its content file."""

    slug: str
    draw: Callable[[Any], None]
    """A function of the page's :class:`View`."""
    params: tuple[Param[Any], ...] = ()
    """The parameters in its URL, besides those that the page's sections share."""
    folder: str = ""
    """The folder of its content, if several pages share it."""

    def words(self, page: str) -> Content:
        return content(self.folder or page, self.slug)


def by_name(params: Iterable[Param[Any]]) -> dict[str, Param[Any]]:
    """Parameters by their name in the link. Sections may share one name: a value goes with a visitor to the next.

    Raises:
        TypeError: two of one name have values of different types.
    """
    named: dict[str, Param[Any]] = {}
    for param in params:
        kinds = [type(named.setdefault(param.name, param).carried), type(param.carried)]
        if kinds[0] is not kinds[1]:
            listed = " and ".join(kind.__name__ for kind in kinds)
            raise TypeError(f"Two parameters of one page are called “{param.name}”, of types {listed}: rename one.")
        named[param.name] = param
    return named


@dataclass(frozen=True)
class Page:
    """A page: ``slug`` is its path and the folder of its content; the first section is the default."""

    slug: str
    sections: Sequence[Section]
    params: tuple[Param[Any], ...] = ()
    """Parameters that several sections share."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The group of each section, whose title is in ``[groups]`` of the page's content; without any, one row has all."""
    branch: str | None = None
    unavailable: Callable[[], bool] = field(default=lambda: False)
    """Draws why nothing can be shown here, if so, and returns whether it did."""
    above: Callable[[View], View] = field(default=lambda view: view)
    """Draws the common controls above the row of sections; returns the view that they get."""
    titled: bool = False
    """Whether ``above`` also draws the title, into the view's ``heading``, and the sentence below it."""

    def __post_init__(self) -> None:
        slugs = [section.slug for section in self.sections]
        if repeated := {slug for slug in slugs if slugs.count(slug) > 1}:
            raise TypeError(f"The page {self.slug} has two sections {', '.join(sorted(repeated))}: rename one.")
        register(self.slug, self.carried())

    def carried(self) -> dict[str, Parameter]:
        """All URL parameters of the page, by name."""
        every = by_name([*self.params, *(param for section in self.sections for param in section.params)])
        tab = Choice(None, tuple(section.slug for section in self.sections))
        return ({"tab": tab} if len(self.sections) > 1 else {}) | {name: param.carried for name, param in every.items()}

    def run(self) -> None:
        words = content(self.slug)
        read_mode(self.slug)
        heading = header(words.title, "" if self.titled else words.label("line"), self.branch, later=self.titled)
        state, files = open_page(self.slug), begin_downloads()
        later: list[Callable[[], None]] = []
        chosen, step = "", words.front.get("next")
        if not self.unavailable():
            with st.container(key="atlas-above") if alone() else nullcontext():
                view = self.above(View(state, words, heading=heading))
                first = self.sections[0].slug
                titles = {section.slug: section.words(self.slug).title for section in self.sections}
                groups = {slug: words.front["groups"][group] for slug, group in self.groups.items()}
                row = view.controls()
                with row, st.container(horizontal=True, width="content", key="atlas-tabs"):
                    chosen = sections(state, titles, first, groups) if len(titles) > 1 else first
            state.set(tab=None if chosen == first else chosen)
            section = next(section for section in self.sections if section.slug == chosen)
            # alone, what stands in the row of sections is hidden, unless a section draws it
            row = tab_row() if alone() and not view.row else row
            view = replace(view, words=section.words(self.slug), row=row)
            with st.container(key="atlas-title"):
                st.header(view.title, anchor=False)
            state.helps = words.front.get("help", {}) | view.words.front.get("help", {})
            with sentences():
                section.draw(view)
                view.finish()
            later, step = view.later, view.words.front.get("next", step)
        if not bare():  # in the frame of a presented lesson, that has keys and button
            mode_button()
        foot = st.container(horizontal=True, vertical_alignment="center")
        if step and not alone():
            with foot:
                label, query = f"Next: {step['label']}", step.get("query", {})
                page_link(step["page"], label, query, icon=":material/arrow_forward:", width="content")
        lists = None if alone() else self._menu(foot, state, chosen)
        close_page(state)
        for do in later:
            do()
        if not presenting():
            # the last of all: what comes later may be a figure
            if lists is None and (state.offers or files):
                lists = foot.popover(_MENU, icon=_DOTS, key=state.key("menu"))
            with lists or nullcontext():
                figure_menus(state, files)

    def _menu(self, foot: DeltaGenerator, state: PageState, section: str) -> DeltaGenerator:
        """Draw the menu at the foot of the page; return the place of its lists of files and tables."""
        linkable = bool(self.carried())
        with foot:
            if linkable:
                keep_address(state, section)
            with st.popover(_MENU, icon=_DOTS, key=state.key("menu")):
                with st.container(horizontal=True, gap="small"):
                    st.button("Present (P)", key=state.key("present"), on_click=present)
                    if linkable:
                        reset_button(state)
                        copy_button(state)
                lists = st.container(gap="small")
                door(self.slug)
        return lists


def grouped(slug: str, groups: Mapping[str, Sequence[Section]]) -> Page:
    """A page whose sections stand in groups, by their names in ``[groups]`` of its content."""
    of = {section.slug: group for group, members in groups.items() for section in members}
    return Page(slug, tuple(chain(*groups.values())), groups=of)


@lru_cache(maxsize=1)
def pages() -> dict[str, Page]:
    """Every page by slug. A page file declares ``PAGE`` and draws it only when run as a script."""
    by_slug = {}
    for path in sorted((ROOT / "pages").glob("*.py")):
        if "\nPAGE = " in path.read_text(encoding="utf-8"):
            page = runpy.run_path(str(path), run_name="page")["PAGE"]
            by_slug[page.slug] = page
    return by_slug
