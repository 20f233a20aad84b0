"""A formula with every symbol named, and citations as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st

from core.catalogue.schema import Citation
from core.costs.known import Formula, formulas
from core.ui.glossary import terms
from core.ui.page import plain

_INDEXED = re.compile(r"\b([A-Za-z])(\\_|\^)(\w+)\b")
"""A letter with an index or an exponent, in the form that ``plain`` returns."""


def formula(key: str, of_page: Mapping[str, Formula] | None = None) -> None:
    """Draw a formula with its symbols and source; from the costs, or from ``of_page``."""
    entry = (formulas() if of_page is None else of_page)[key]
    st.latex(entry.latex)
    st.caption(symbols(f"{entry.letters}.") + " " + " ".join(map(cited, entry.sources)))


def symbols(text: str) -> str:
    """The symbols of a formula with their meanings as Markdown, terms linked."""

    def in_math(match: re.Match[str]) -> str:
        index = match[3] if len(match[3]) == 1 else rf"\text{{{match[3]}}}"
        return f"${match[1]}{match[2][-1]}{{{index}}}$"

    return terms(_INDEXED.sub(in_math, plain(text)))


def cited(citation: Citation) -> str:
    """A citation as Markdown: authors, place, and how it was read."""
    who = f"{citation.authors}, " if citation.authors else ""
    year = f" ({citation.year})" if citation.year else ""
    title = f"[{plain(citation.title)}]({citation.url})" if citation.url else plain(citation.title)
    return f"{plain(who)}{title}{year}. *{plain(citation.evidence)}*: {plain(citation.read)}"
