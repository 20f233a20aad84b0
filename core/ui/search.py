"""Search: a box in the sidebar of every page, and a page with all matches.

The box is a fragment: a query reruns the box alone and leaves the page as it is. Results are links of the
app, so a click keeps the session. A query is a visitor's text: it is looked up, never drawn as Markdown or HTML.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import streamlit as st

from core.content import content
from core.errors import AtlasError
from core.search import MAX_QUERY, Hit, find
from core.ui.glossary import info
from core.ui.links import page_link
from core.ui.page import css, plain
from core.ui.param import Text
from core.ui.section import Section, View

MOST = 8
_MOST_ON_PAGE = 120
_LINE = 100
_KINDS = {
    "System": "Systems",
    "Term": "Terms",
    "Demo": "Demos",
    "Page": "Pages",
    "Lesson": "Lessons",
    "Table": "Tables",
    "Model": "Live models",
    "Correction": "Corrections",
}
QUERY = Text(
    name="q",
    label="Search the Atlas",
    placeholder="bert, sop, rotary, translate",
    most=MAX_QUERY,
    icon=":material/search:",
)
_STYLE = css("search")


def search_box(page: str) -> None:
    """Draw the box in the sidebar; called once for all pages, before ``page`` runs."""
    with st.sidebar:
        with st.container(key="atlas-search-style"):  # hidden: a style is no part of what is on screen
            st.html(_STYLE)
        _box(page)


@st.fragment
def _box(page: str) -> None:
    query = st.text_input(
        "Search the Atlas",
        key="atlas.search",
        placeholder="Search: bert, sop, rotary",
        max_chars=MAX_QUERY,
        icon=":material/search:",
        label_visibility="collapsed",
    )
    if not query or not query.strip():
        return
    try:
        hits = find(query, MOST + 1)
    except AtlasError as error:
        # A file of the catalogue does not fit; the page says so, too. No links: here the page has not begun, and the
        # file may be the glossary.
        st.warning(plain(str(error)))
        return
    if not hits:
        st.caption(content("search", "search").part("No match"))
        return
    with st.container(gap=None, key="atlas-hits"):
        for hit in hits[:MOST]:
            _link(hit, f"{hit.kind} · {hit.line}", page)
        if len(hits) > MOST:
            rest = {"q": query[:MAX_QUERY]}
            page_link("search", "All results", rest, icon=":material/more_horiz:", here=page)


def search_page(view: View) -> None:
    """Draw the page: a box, and all matches by kind."""
    query = QUERY.draw(view.state)[:MAX_QUERY]
    if not query.strip():
        info(view.words.part("Nothing typed"))
        return
    hits = find(query, _MOST_ON_PAGE)
    if not hits:
        info(view.words.part("No match"))
        return
    view.note("Count" if len(hits) < _MOST_ON_PAGE else "Too many", count=len(hits))
    with st.container(gap=None, key="atlas-found"):
        for kind, group in by_kind(hits):
            st.subheader(_KINDS.get(kind, kind), anchor=False)
            for hit in group:
                _link(hit, hit.line, "search", 2 * _LINE)


def by_kind(hits: Iterable[Hit]) -> list[tuple[str, list[Hit]]]:
    """The hits by kind, the kind with the best hit first, each kind's best first."""
    order: dict[str, int] = {}
    for hit in hits:
        order.setdefault(hit.kind, len(order))
    ranked = sorted(hits, key=lambda hit: order[hit.kind])
    return [(kind, list(group)) for kind, group in groupby(ranked, key=lambda hit: hit.kind)]


def _link(hit: Hit, line: str, here: str, most: int = _LINE) -> None:
    page_link(hit.page, plain(_short(hit.title, 70)), dict(hit.query), here=here)
    st.caption(plain(_short(line, most)))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: text.rfind(" ", 0, most)] + " …"


SEARCH = Section("search", search_page, (QUERY,))
