"""The glossary's page: one term in full, and all terms by letter or by what one looks for."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core import links, search
from core.catalogue import glossary
from core.catalogue.glossary import Place, Term
from core.ui.glossary import href
from core.ui.links import PageState, open_page, page_link, take_up
from core.ui.notices import informed
from core.ui.page import base_path, header, plain
from core.ui.text_table import Cell, Link, Rich, Row, TextTable, text_table

ALL = "All"


def glossary_page() -> PageState:
    """Draw the page; returns its state."""
    known = glossary.terms()
    header(
        "Glossary",
        f"{len(known)} terms of the field in plain words, many with a formula and with a place where you can try them.",
    )
    letters = sorted({glossary.letter(found) for found in known})
    state = open_page("glossary", {"term": [found.slug for found in known], "letter": letters})
    chosen = glossary.term(state.text("term"))
    if chosen is not None:
        _card(chosen, state)
    _list(known, letters, state)
    return state


def _card(chosen: Term, state: PageState) -> None:
    """One term in full."""
    with st.container(border=True, key="atlas-term"):
        st.subheader(plain(chosen.name), anchor=False)
        if also := [name for name in (*chosen.aliases, *chosen.also) if name.lower() != chosen.name.lower()]:
            st.caption(plain(f"Also: {', '.join(also)}"))
        st.markdown(plain(chosen.text))
        if chosen.formula:
            st.latex(chosen.formula)
        related = [found for slug in chosen.see if (found := glossary.term(slug))]
        with st.container(horizontal=True, vertical_alignment="center"):
            if chosen.place and links.exists(chosen.place.page):
                _try(chosen.place)
            for found in related:
                page_link("glossary", plain(found.name), {"term": found.slug}, icon=":material/menu_book:")
            st.button("All terms", icon=":material/close:", key=state.key("close"), on_click=partial(_close, state))


def _try(place: Place) -> None:
    page_link(place.page, f"**Try:** {plain(place.label)}", dict(place.query), icon=":material/play_arrow:")


def _close(state: PageState) -> None:
    take_up("glossary", {**state.values, "term": None})


def _list(known: tuple[Term, ...], letters: list[str], state: PageState) -> None:
    """Search, letters and the table of what fits."""
    query = st.text_input(
        "Find a term",
        value=state.text("q")[: search.MAX_QUERY],
        key=state.key("q"),
        max_chars=search.MAX_QUERY,
        placeholder="mlm, rope, span …",
        icon=":material/search:",
        width=420,
    )
    letter = st.pills(
        "Letter",
        [ALL, *letters],
        default=state.text("letter", ALL),
        key=state.key("letter"),
        label_visibility="collapsed",
        required=True,
    )
    state.set(q=query.strip() or None, letter=None if letter == ALL else letter)
    shown = [found for found in known if letter in (ALL, glossary.letter(found))]
    if query.strip():
        order = search.fitting(query, "Term")
        shown = sorted((found for found in shown if found.name in order), key=lambda found: order.index(found.name))
    if not shown:
        informed("No term fits that. Try fewer letters, or choose All.")
        return
    rows: list[Row] = [(_name(found), _text(found), _ways(found)) for found in shown]
    text_table(TextTable(("Term", "What it means", "See also, and try"), rows, caption="Terms", widths=(22, 50, 28)))


def _name(found: Term) -> Cell:
    return (Link(found.name, href(found)), ", ".join(found.aliases))


def _text(found: Term) -> Cell:
    return found.text


def _ways(found: Term) -> Cell:
    """Related terms, and the place where it can be tried."""
    parts: list[str | Link] = []
    for other in filter(None, map(glossary.term, found.see)):
        parts += [", ", Link(other.name, href(other))] if parts else [Link(other.name, href(other))]
    place = found.place
    if place is None or not links.exists(place.page):
        return Rich(tuple(parts))
    values: dict[str, links.Value] = dict(place.query)
    way = Link(place.label, base_path() + links.url(place.page, values))
    return (Rich(tuple(parts)), Rich(("Try: ", way)))
