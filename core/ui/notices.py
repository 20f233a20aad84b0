"""Notices composed while a page runs, with the page's first mention of each term linked to the glossary.

Each takes plain text of the app and escapes it; “…” may quote what a visitor typed, and nothing in it is
linked. A notice that is Markdown on purpose is drawn with ``terms``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from core.anatomy.store import faults
from core.content import content
from core.errors import AtlasError
from core.ui.glossary import quoting_terms


def info(text: str, icon: str | None = None) -> None:
    """Show information; nothing is wrong."""
    st.info(quoting_terms(text), icon=icon)


def warning(text: str, icon: str | None = None) -> None:
    """Show what was not understood or cannot be done; the page continues."""
    st.warning(quoting_terms(text), icon=icon)


def error(text: str, icon: str | None = None) -> None:
    """Show why the page ends here."""
    st.error(quoting_terms(text), icon=icon)


@contextmanager
def sentences() -> Iterator[None]:
    """Show an :class:`AtlasError` raised inside as a plain sentence; the page continues."""
    try:
        yield
    except AtlasError as error:
        warning(str(error), icon=":material/info:")


def unbuilt() -> None:
    """A sentence for each such size: the file, the field and the reason. All others are shown as ever."""
    for sentence in faults():
        warning(f"{content('frame', 'links').part('Not counted')} {sentence}", icon=":material/rule:")
