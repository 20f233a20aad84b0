"""What every page asks for: its branch's name and accent, its theme and address, a visitor's text as plain text."""

from __future__ import annotations

import re

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from core.theme import Theme
from core.theme import theme as theme_of

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
    """The color of a branch; gray for ancestors and others."""
    return theme().accent(branch)


def theme() -> Theme:
    """The theme of the visitor's page."""
    return theme_of(st.context.theme.type == "dark")


def base_path() -> str:
    """What stands before every path of this app: empty, or the host's ``server.baseUrlPath``."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def through_page_table() -> None:
    """Start the run again through ``app.py`` where Streamlit ran the page's file by itself; call it first in a page.

    Until the page table has run once in this process, Streamlit takes the folder ``pages`` for an app of the old kind:
    a deep link that is the very first request would get a sidebar of file names, and none of the app's settings.
    """
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()


def plain(text: str) -> str:
    """``text`` with Markdown, LaTeX and directives switched off: what a visitor typed is shown as typed.

    An address is set as code. Streamlit's pages make a link of every address in a text, however it is escaped, and a
    notice of ours must not lead where a visitor wants.
    """
    return "".join(
        f"`{piece}`" if number % 2 else _MARK.sub(r"\\\g<0>", piece)
        for number, piece in enumerate(_ADDRESS.split(text))
    )


_MARK = re.compile(r"[\\`*_{}\[\]()<>#+\-.!|$~:]")
_ADDRESS = re.compile(r"((?:https?://|www\.|(?<![\w.+-])[\w.+-]++@[\w-]+\.)[\w./:@?&=%+~,;-]*)", re.IGNORECASE)
"""What GitHub's Markdown links by itself, and more; nothing that means something inside a code span or a directive."""
