"""What every page has: its frame, its accent, and the place where errors become sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core.errors import AtlasError

ACCENTS = {
    "encoder": "#0072B2",
    "decoder": "#D55E00",
    "encoder-decoder": "#009E73",
    "efficient": "#CC79A7",
}
"""One accent for each branch (Okabe-Ito), the same everywhere."""

BRANCH_ICONS = {
    "encoder": ":material/visibility:",
    "decoder": ":material/edit_note:",
    "encoder-decoder": ":material/translate:",
    "efficient": ":material/speed:",
}

BRANCH_TITLES = {
    "encoder": "Encoder",
    "decoder": "Decoder",
    "encoder-decoder": "Encoder-decoder",
    "efficient": "Efficient",
}


def accent(branch: str) -> str:
    """The colour of a branch; grey for ancestors and others."""
    return ACCENTS.get(branch, "#767676")


def header(title: str, sentence: str, branch: str | None = None) -> None:
    """A page's title over a bar in the branch's colour, and one sentence that says what can be found out here."""
    if branch is not None:
        # the colour comes from ACCENTS, never from a visitor
        st.html(f'<div aria-hidden="true" style="width:3.2rem;height:.4rem;border-radius:.2rem;'
                f'background:{accent(branch)}"></div>')
    st.title(title, anchor=False)
    st.markdown(sentence)


@contextmanager
def sentences() -> Iterator[None]:
    """Show an :class:`AtlasError` raised inside as a plain sentence; the rest of the page goes on."""
    try:
        yield
    except AtlasError as error:
        st.warning(plain(str(error)), icon=":material/info:")


def plain(text: str) -> str:
    """``text`` with Markdown, LaTeX and directives switched off: what a visitor typed is shown as typed."""
    for mark in "\\`*_{}[]()<>#+-.!|$~:":
        text = text.replace(mark, f"\\{mark}")
    return text
