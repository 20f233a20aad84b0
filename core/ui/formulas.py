"""A formula with every symbol named, and citations as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st

from core.catalogue.schema import Citation
from core.costs.known import Formula, formulas
from core.ui.glossary import terms
from core.ui.page import plain

_INDEXED = re.compile(r"\b([A-Za-z])\\_(\w+)\b")
"""A letter with an index, as ``plain`` leaves it."""


def formula(key: str, known: Mapping[str, Formula] | None = None) -> None:
    """A formula with every letter named, and where it was read; of the costs, or of ``known``."""
    one = (formulas() if known is None else known)[key]
    st.latex(one.latex)
    letters = _INDEXED.sub(r"$\1_{\2}$", plain(f"{one.letters}."))
    st.caption(terms(letters) + " " + " ".join(map(cited, one.sources)))


def cited(citation: Citation) -> str:
    """A citation as Markdown: who, where, and how it was read."""
    who = f"{citation.authors}, " if citation.authors else ""
    year = f" ({citation.year})" if citation.year else ""
    title = f"[{plain(citation.title)}]({citation.url})" if citation.url else plain(citation.title)
    return f"{plain(who)}{title}{year}. *{plain(citation.evidence)}*: {plain(citation.read)}"
