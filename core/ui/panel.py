"""A picture with all that it owes a visitor: a description, its numbers as a table, and both as files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.table import Table
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.export import chart_menu
from core.ui.glossary import terms
from core.ui.links import PageState

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart and its numbers."""

    slug: str
    """Unique on its page; names the files."""
    title: str
    """What the picture is: plain text of ours, for the files, the table and, with ``heading``, the page."""
    figure: Any
    """A plotly figure."""
    alt: str
    """What it shows, for those who cannot see it; plain text."""
    table: Table | None = None
    """Its numbers."""
    note: str = ""
    """Markdown of ours under the picture."""
    heading: bool = False
    width: int | None = None
    """Pixels that the picture needs; on a narrower screen it scrolls in its own box. None where any screen will do."""

    def draw(self, state: PageState) -> None:
        """Draw heading, picture, note, downloads and the table."""
        if self.heading:
            st.markdown(f"**{self.title}**")
        key = state.key(f"panel.{self.slug}")
        with st.container() if self.width is None else _scrolling(self.slug):
            chart(self.figure, width=self.width or "stretch", key=key, alt=self.alt)
        if self.note:
            st.caption(terms(self.note))
        table = self.table
        with st.container(horizontal=True):
            chart_menu(key, self.slug, title=self.title, alt=self.alt, table=None if table is None else lambda: table)
            if table is not None:
                table_menu(table, self.title, state.key(f"table.{self.slug}"))


def _scrolling(slug: str) -> DeltaGenerator:
    """A container that scrolls sideways; Streamlit would squeeze what is wider than the screen into it."""
    key = f"scrolling-{slug}"
    st.html(f'<style>.st-key-{key} > [data-testid="stElementContainer"] {{ max-width: none; }}</style>')
    return st.container(horizontal=True, wrap=False, key=key)


def table_menu(table: Table, title: str, key: str, file: str | None = None) -> None:
    """A table on request: it is sent to the browser when somebody opens it.

    Args:
        file: names its download, where no picture beside it offers one.
    """
    menu = st.popover("As a table", icon=":material/table:", type="tertiary", on_change="rerun", key=key)
    if menu.open:
        with menu:
            data_table(table, file, alt=title)
