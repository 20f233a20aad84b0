"""The page Glossary, search: one term in full, all terms by letter, and all that fits a query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core import links, search
from core.catalogue import glossary
from core.catalogue.glossary import Term, TryLink
from core.links.parameters import Value
from core.ui.glossary import href, info
from core.ui.links import PageState, page_link, take_up
from core.ui.page import base_path, css, plain
from core.ui.param import Choice, Text
from core.ui.search import KINDS, by_kind, hit_link
from core.ui.section import Section, View
from core.ui.tables import Cell, Link, Rich, TableRow, TextTable, text_table

ALL = "All"
_MOST = 120
"""Results that are drawn, besides terms."""
_INDEX = 60
"""Rows of which a phone shows only the terms: a tap on one opens it. With all texts it would be 50 screens high."""
_STYLE = css("glossary")
TERM = Choice(name="term", label="Term", options={})
"""Without a widget: set by the rows of the table and by links from other pages."""
LETTER = Choice(name="letter", label="Letter", options={}, style="pills", hide_label=True)
QUERY = Text(
    name="q",
    label="Find a term, system or demo",
    placeholder="bert, sop, rotary, translate",
    most=search.MAX_QUERY,
    icon=":material/search:",
    width=420,
)


def terms(view: View) -> None:
    """Draw the term that the link names, the search box, the letters, and the terms or all matches by kind."""
    state, all_terms = view.state, glossary.terms()
    slug = TERM.with_(options={"": ALL} | {term.slug: term.name for term in all_terms}).value(state)
    chosen = glossary.term(slug)
    if chosen is not None:
        _card(chosen, state)
    query = QUERY.draw(state)[: search.MAX_QUERY].strip()
    letters = sorted({glossary.letter(term) for term in all_terms})
    letter = LETTER.with_(options={entry: entry for entry in (ALL, *letters)}).draw(state)
    if not query:
        _table(view, [term for term in all_terms if letter in (ALL, glossary.letter(term))])
        return
    hits = search.find(query, _MOST)
    if not hits:
        info(view.words.part("No match"))
        return
    view.note("Results" if len(hits) < _MOST else "Too many", count=len(hits))
    order = search.fitting(query, "Term")
    for kind, group in by_kind(hits):
        st.subheader(KINDS.get(kind, kind), anchor=False)
        if kind == "Term":
            fits = (term for term in all_terms if letter in (ALL, glossary.letter(term)) and term.name in order)
            _table(view, sorted(fits, key=lambda term: order.index(term.name)))
            continue
        with st.container(gap=None, key=f"atlas-found-{kind}"):
            for hit in group:
                hit_link(hit, hit.line, "glossary", 200)


def _table(view: View, shown: Sequence[Term]) -> None:
    if not shown:
        info(view.words.part("No term"))
        return
    view.note("Count", shown=len(shown), every=len(glossary.terms()))
    rows: list[TableRow] = [
        ((Link(entry.name, href(entry)), ", ".join(entry.aliases)), entry.text, _links_of(entry)) for entry in shown
    ]
    many = len(shown) > _INDEX
    if many:
        st.html(_STYLE)
    with st.container(key="atlas-index" if many else None):
        text_table(TextTable(("Term", "Meaning", "See also, try"), rows, caption="Terms", widths=(22, 50, 28)))


def _card(chosen: Term, state: PageState) -> None:
    with st.container(border=True, key="atlas-term"):
        st.subheader(plain(chosen.name), anchor=False)
        if also := [name for name in (*chosen.aliases, *chosen.also) if name.lower() != chosen.name.lower()]:
            st.caption(plain(f"Also: {', '.join(also)}"))
        st.markdown(plain(chosen.text))
        if chosen.formula:
            st.latex(chosen.formula)
        related = [term for slug in chosen.see if (term := glossary.term(slug))]
        with st.container(horizontal=True, vertical_alignment="center"):
            if chosen.try_link and links.exists(chosen.try_link.page):
                _try(chosen.try_link)
            for term in related:
                page_link("glossary", plain(term.name), {"term": term.slug}, icon=":material/menu_book:")
            st.button("All terms", icon=":material/close:", key=state.key("close"), on_click=partial(_close, state))


def _try(link: TryLink) -> None:
    page_link(link.page, f"**Try:** {plain(link.label)}", dict(link.query), icon=":material/play_arrow:")


def _close(state: PageState) -> None:
    take_up("glossary", {**state.values, "term": None})


def _links_of(entry: Term) -> Cell:
    """Related terms, and the link to try it."""
    parts: list[str | Link] = []
    for other in filter(None, map(glossary.term, entry.see)):
        parts += [", ", Link(other.name, href(other))] if parts else [Link(other.name, href(other))]
    link = entry.try_link
    if link is None or not links.exists(link.page):
        return Rich(tuple(parts))
    values: dict[str, Value] = dict(link.query)
    try_link = Link(link.label, base_path() + links.url(link.page, values))
    return (Rich(tuple(parts)), Rich(("Try: ", try_link)))


TERMS = Section("terms", terms, (TERM, LETTER, QUERY))
