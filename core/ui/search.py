"""Search: a box in the sidebar of every page; the page Glossary, search has all matches.

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
from core.ui.links import page_link
from core.ui.page import css, plain

MOST = 8
_LINE = 100
KINDS = {
    "System": "Systems",
    "Term": "Terms",
    "Demo": "Demos",
    "Page": "Pages",
    "Lesson": "Lessons",
    "Table": "Tables",
    "Model": "Live models",
    "Correction": "Corrections",
}
_STYLE = css("search")


def search_box(page: str) -> None:
    """Draw the box in the sidebar; called once for all pages, before ``page`` runs."""
    with st.sidebar:
        st.html(_STYLE)
        _box(page)


@st.fragment
def _box(page: str) -> None:
    query = st.text_input(
        "Search the Atlas",
        key="atlas.search",
        placeholder="Search: bert, rope",
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
        st.caption(content("glossary", "terms").part("No match"))
        return
    with st.container(gap=None, key="atlas-hits"):
        for hit in hits[:MOST]:
            hit_link(hit, f"{hit.kind} · {hit.line}", page)
        if len(hits) > MOST:
            query_of_page = {"q": query[:MAX_QUERY]}
            page_link("glossary", "All results", query_of_page, icon=":material/more_horiz:", here=page)


def by_kind(hits: Iterable[Hit]) -> list[tuple[str, list[Hit]]]:
    """The hits by kind, the kind with the best hit first, each kind's best first."""
    order: dict[str, int] = {}
    for hit in hits:
        order.setdefault(hit.kind, len(order))
    ranked = sorted(hits, key=lambda hit: order[hit.kind])
    return [(kind, list(group)) for kind, group in groupby(ranked, key=lambda hit: hit.kind)]


def hit_link(hit: Hit, line: str, here: str, most: int = _LINE) -> None:
    """Draw a hit: a link from the page ``here``, and at most ``most`` characters about it."""
    page_link(hit.page, plain(_short(hit.title, 70)), dict(hit.query), here=here)
    st.caption(plain(_short(line, most)))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: text.rfind(" ", 0, most)] + " …"
