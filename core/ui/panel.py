"""A chart with its text alternative, its numbers as a table, and both as downloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.figures.enlarge import enlarged
from core.lazy import go
from core.table import Table
from core.ui.data_table import data_table
from core.ui.export import chart_menu
from core.ui.glossary import terms
from core.ui.links import PageState
from core.ui.page import MAIN_PICTURE, NEWS, presenting


def chart(figure: go.Figure, *, key: str, alt: str, config: dict[str, Any] | None = None, **select: Any) -> Any:
    """Draw ``figure``; return its selection, if ``on_select`` is given.

    Args:
        alt: the text alternative.
        config: plotly's; by default without its toolbar.
    """
    st.session_state.setdefault(NEWS, alt)
    if presenting():
        figure = enlarged(figure)
    return st.plotly_chart(figure, theme=None, key=key, alt=alt, config=config or {"displayModeBar": False}, **select)


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart and its numbers."""

    slug: str
    """Unique on its page; names the files, unless ``file`` does."""
    title: str
    """The title: plain text of the app, for the files, the table and, with ``heading``, the page."""
    figure: Any
    """A plotly figure."""
    alt: str
    """The text alternative; plain text."""
    table: Table | Callable[[], Table] | None = None
    """Its numbers, or a function that creates them on request; None if another download has them."""
    note: str = ""
    """Markdown of the app below the figure."""
    heading: bool = False
    width: int | None = None
    """The minimum width in pixels; on a narrower screen the figure scrolls. None for any width."""
    file: str = ""
    """The name of its files, if it depends on what is shown."""

    def key(self, state: PageState) -> str:
        """The figure's widget key, for callbacks of a selection."""
        return state.key(f"panel.{self.slug}")

    def draw(self, state: PageState, **select: Any) -> Any:
        """Draw heading, figure, note, downloads and the table; return the selection, if ``on_select`` is given."""
        key = self.key(state)
        if presenting():
            # A fragment that runs again draws the section's main picture, or another, as the whole run did.
            main = st.session_state.setdefault(MAIN_PICTURE, self.slug) == self.slug
            with st.container(key=f"atlas-{'main' if main else 'rest'}-{self.slug}"):
                return chart(self.figure, width="stretch", key=key, alt=self.alt, **select)
        if self.heading:
            st.subheader(self.title, anchor=False)
        with st.container() if self.width is None else _scrolling(self.slug):
            selected = chart(self.figure, width=self.width or "stretch", key=key, alt=self.alt, **select)
        if self.note:
            st.caption(terms(self.note))
        table = self.table
        make = (lambda: table) if isinstance(table, Table) else table
        with st.container(horizontal=True):
            chart_menu(key, self.file or self.slug, title=self.title, alt=self.alt, table=make)
            if table is not None:
                table_menu(table, self.title, state.key(f"table.{self.slug}"))
        return selected


def _scrolling(slug: str) -> DeltaGenerator:
    """A container that scrolls sideways; Streamlit would otherwise shrink a wide figure to the screen."""
    key = f"scrolling-{slug}"
    st.html(f'<style>.st-key-{key} > [data-testid="stElementContainer"] {{ max-width: none; }}</style>')
    return st.container(horizontal=True, wrap=False, key=key)


def table_menu(table: Table | Callable[[], Table], title: str, key: str, file: str | None = None) -> None:
    """A table on request: created and sent to the browser when a visitor opens it.

    Args:
        file: names its download, if no figure beside it offers one.
    """
    if presenting():
        return
    menu = st.popover("As a table", icon=":material/table:", type="tertiary", on_change="rerun", key=key)
    if menu.open:
        with menu:
            data_table(table if isinstance(table, Table) else table(), file, alt=title)
