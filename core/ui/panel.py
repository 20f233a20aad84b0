"""A chart with its text alternative, its numbers as a table, and both as downloads; the foot of a page has all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.figures.plot import least_height
from core.lazy import go
from core.table import Table
from core.ui.export import MENU, component_data, download_csv
from core.ui.glossary import terms
from core.ui.links import PageState
from core.ui.page import HALL, NEWS, plain, presenting
from core.ui.tables import data_table


def chart(figure: go.Figure, *, key: str, alt: str, config: dict[str, Any] | None = None, **select: Any) -> Any:
    """Draw ``figure``; return its selection, if ``on_select`` is given.

    Args:
        alt: the text alternative.
        config: plotly's; by default without its toolbar.
    """
    st.session_state.setdefault(NEWS, alt)
    if presenting() and figure.layout.height:
        select["height"] = min(int(figure.layout.height), max(HALL, least_height(figure)))
    return st.plotly_chart(figure, theme=None, key=key, alt=alt, config=config or {"displayModeBar": False}, **select)


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart and its numbers."""

    slug: str
    """Unique on its page; names the files, unless ``file`` does."""
    title: str
    """The title: plain text, for the files, the table and, with ``heading``, the page."""
    figure: go.Figure
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
        """Draw heading, figure and note; return the selection, if ``on_select`` is given.

        Its downloads and its table are in the menu at the foot of the page.
        """
        key = self.key(state)
        if self.heading:
            st.subheader(self.title, anchor=False)
        with st.container() if self.width is None else _scrolling(self.slug):
            selected = chart(self.figure, width=self.width or "stretch", key=key, alt=self.alt, **select)
        if self.note:
            st.caption(terms(self.note))
        store(state, self.slug, Offer(self.title, self.table, self.file or self.slug, key, self.alt))
        return selected


def _scrolling(slug: str) -> DeltaGenerator:
    """A container that scrolls sideways; Streamlit would otherwise shrink a wide figure to the screen."""
    key = f"scrolling-{slug}"
    st.html(f"<style>.st-key-{key} > .stElementContainer {{ max-width: none; }}</style>")
    return st.container(horizontal=True, wrap=False, key=key)


@dataclass(frozen=True, slots=True)
class Offer:
    """What the foot of the page offers of a figure."""

    title: str
    table: Table | Callable[[], Table] | None
    file: str
    chart: str = ""
    """The key of its chart; the table of one that has none is a file of its own."""
    alt: str = ""
    drawing: tuple[str, ...] = ()
    """The kinds of files that a component or a framed page makes of its own drawing."""
    mirrored: bool = False
    """Whether the component itself has the rows of the table."""

    def rows(self) -> Table | None:
        return self.table() if callable(self.table) else self.table


def offer_table(state: PageState, table: Table, title: str, slug: str, file: str = "") -> None:
    """Offer the table of figures that are no `Panel`, and its download, at the foot of the page."""
    store(state, slug, Offer(title, table, file or slug))


def offer_chart(state: PageState, key: str, title: str, file: str, alt: str, table: Table | None = None) -> None:
    """Offer the files of a chart that is one of several in a picture, and so no `Panel`, at the foot of the page."""
    store(state, key, Offer(title, table, file, key, alt))


def offer_drawing(state: PageState, key: str, title: str, *kinds: str, table: bool = False) -> None:
    """Offer what the component, or the page in the container, of a key draws: it has a hidden button for each kind.

    ``table``: it also keeps the rows of what it shows, in a hidden element of the class ``rows``.
    """
    store(state, key, Offer(title, None, "", key, drawing=kinds, mirrored=table))


def store(state: PageState, slug: str, offer: Offer) -> None:
    """Keep an offer for the foot of the page; tests draw its table at once."""
    state.offers[slug] = offer


def figure_menus(state: PageState, files: Mapping[str, Callable[[], object]]) -> None:
    """Draw the two lists of the page's menu: all downloads, and all tables of figures; each is created when opened."""
    offers = state.offers.values()
    if offers or files:
        listed = st.expander("Download", icon=":material/download:", on_change="rerun", key=state.key("files"))
        if listed.open:
            with listed, st.container(key="atlas-menu-files"):
                for slug, offer in state.offers.items():
                    if not offer.chart:
                        download_csv(offer.rows, offer.file, state.key(f"table.{slug}.csv"), of=offer.title)  # type: ignore[arg-type]
                        continue
                    st.markdown(f"**{plain(offer.title)}**")
                    data = (
                        {"chart": offer.chart, "kinds": offer.drawing}
                        if offer.drawing
                        else component_data(offer.chart, offer.file, offer.title, offer.alt, offer.rows())
                    )
                    MENU.draw(f"{offer.chart}--export", data)
                for button in files.values():
                    button()
    if any(offer.table is not None or offer.mirrored for offer in offers):
        listed = st.expander("As a table", icon=":material/table:", on_change="rerun", key=state.key("tables"))
        if listed.open:
            with listed, st.container(key="atlas-menu-tables"):
                draw_tables(state)


def draw_tables(state: PageState) -> None:
    """Draw the tables of all figures on the page, each below its title."""
    for slug, offer in state.offers.items():
        if (table := offer.rows()) is not None:
            st.markdown(f"**{plain(offer.title)}**")
            data_table(table, None, alt=offer.title, key=state.key(f"table.{slug}"))
        elif offer.mirrored:
            st.markdown(f"**{plain(offer.title)}**")
            MENU.draw(f"{offer.chart}--rows", {"chart": offer.chart, "kinds": (), "rows": offer.title})
