"""Helpers of all pages: a branch's name and accent, the theme, the base path, a visitor's text as plain text."""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.settings import ASSETS
from core.theme import Theme
from core.theme import theme as theme_of
from core.ui.streamlit_internals import has_page_table, take_page_table

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
    """The color of a branch; gray for milestones and others."""
    return theme().accent(branch)


def theme(branch: str = "") -> Theme:
    """The theme of the visitor's page, its sequential scale in the color of ``branch`` if one is given."""
    colors = theme_of(st.context.theme.type == "dark")
    colors = colors.of(branch) if branch else colors
    return colors.strong if presenting() else colors


@cache
def css(name: str) -> str:
    """A style sheet of ``assets/styles``, as an element."""
    return f"<style>\n{(ASSETS / 'styles' / f'{name}.css').read_text(encoding='utf-8')}</style>"


def bare() -> bool:
    """Whether another page shows this one in a frame of its own, by Streamlit's ``?embed=true``: a section alone."""
    return bool(st.context.is_embedded)


def alone() -> bool:
    """Whether the section stands without the page's lead and common controls."""
    return bare() or presenting()


PRESENT = "present"
"""The parameter of a link that opens a view for a lecture hall, and the session's slot for it."""


HALL = 290
"""Pixels of the app that a presentation's screen has below a section's title (``assets/styles/presented.css``)."""

NEWS = "frame.news"
"""The session's slot for what the main picture of the run shows, in words."""


WIDE = "lessons.wide"
"""The session's slot for whether the page Lessons has a step open, which needs the sidebar's width, in every run."""


def presenting() -> bool:
    """Whether the page is bare and enlarged for a lecture hall, its picture first: type of 28 pixels or more."""
    return bool(st.session_state.get(PRESENT))


def base_path() -> str:
    """The prefix of every path of the app: empty, or the host's ``server.baseUrlPath``."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""


def site() -> str:
    """The address of the app, as this visitor's browser has it."""
    here = urlsplit(st.context.url or "")
    return f"{here.scheme}://{here.netloc}{base_path()}" if here.netloc else base_path()


def main_picture() -> DeltaGenerator:
    """A container for a section's main picture, where that is no chart, drawing or table: tests look for its key."""
    return st.container(key="atlas-picture")


def through_page_table() -> None:
    """Restart the run through ``app.py`` if Streamlit ran the page's file directly, as its AppTest does; called first.

    A server never does: ``app.py`` says that its page table is the only one.
    """
    if not has_page_table():
        take_page_table()
        st.rerun()


def plain(text: str) -> str:
    """``text`` with Markdown, entities, LaTeX and directives escaped: what a visitor typed is shown as typed.

    A URL becomes code. Streamlit turns every URL in a text into a link, however it is escaped, and a
    notice of the app must not link where a visitor wants.
    """
    return "".join(
        f"`{piece}`" if number % 2 else _MARK.sub(r"\\\g<0>", piece)
        for number, piece in enumerate(_ADDRESS.split(text))
    )


def pill(text: str) -> str:
    """The same for the label of a pill, where Streamlit takes an emoji before the first space as an icon."""
    first, space, remainder = plain(text).partition(" ")
    return f"{first}\u00a0{remainder}" if space and not any(map(str.isalnum, first)) else first + space + remainder


_MARK = re.compile(r"[\\`*_{}\[\]()<>#+\-.!|$~:&]")
_ADDRESS = re.compile(r"((?:https?://|www\.|(?<![\w.+-])[\w.+-]++@[\w-]+\.)[\w./:@?&=%+~,;-]*)", re.IGNORECASE)
"""What GitHub's Markdown links by itself, and more; nothing that means something inside a code span or a directive."""
