"""What every page has: its frame, its accent, and the place where errors become sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from core.catalogue import systems
from core.catalogue.load import BadData
from core.errors import AtlasError, SettingUnusable
from core.settings import settings
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


_STYLE = """<style>
:root { VARIABLES }
[data-testid="stMainBlockContainer"] { padding-top: 4rem; padding-bottom: 3rem; max-width: 92rem; }
[data-testid="stMain"] h1 { padding: .1rem 0; line-height: 1.15; BAR }
[data-testid="stMain"] [data-testid="stCaptionContainer"] { opacity: .8; }
[data-testid="stPlotlyChart"] :is(.xtitle, .ytitle) { fill: currentColor !important; }
:is([data-testid="stBaseButton-primary"], [data-tag]):not(:disabled) { color: var(--atlas-ground) !important; }
[data-testid="stPageLink-NavLink"] :is(span, div, p):not([data-testid="stIconMaterial"]) {
  white-space: normal; overflow-wrap: anywhere; }
[data-testid="stButtonGroup"] [role="radiogroup"] { flex-wrap: wrap; }
[data-testid="stColumn"]:has([data-testid="stMarkdownContainer"] table) { min-width: min(100%, 19rem); }
[data-testid="stMarkdownContainer"]:has(> table) { overflow-x: auto; }
[data-testid="stElementToolbarButton"]:has([aria-label^="Download as CSV"]) { display: none; }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 4rem 1rem 2rem; }
  [data-testid="stHorizontalBlock"] { row-gap: 1rem; }
  .katex-display > .katex { white-space: normal; } }
</style>"""
"""Beside the frame: small print and titles of axes with a contrast of 4.5 to 1 at least, dark letters on the light blue
of the dark theme, and page links, formulas and rows of choices that break where the screen ends. A column that holds a
table goes below the one before it rather than become narrower than the table. The file of a table's own
toolbar is not offered: it keeps formulas, which that of :mod:`core.ui.data_table` makes text."""


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


def header(title: str, sentence: str, branch: str | None = None) -> None:
    """A page's title over a bar in the branch's colour, and one sentence that says what can be found out here.

    Both are ours. The sentence's terms are linked to the glossary, and a new page begins to link from here on.
    """
    from core.ui.glossary import begin_page, told  # both modules need `plain` from here
    from core.ui.notices import refused

    through_page_table()
    begin_page()
    # the color comes from the theme, never from a visitor
    bar = f"padding-left: .8rem; border-left: .4rem solid {accent(branch)};" if branch else ""
    st.html(_STYLE.replace("BAR", bar).replace("VARIABLES", theme().css))
    st.title(title, anchor=False)
    told(sentence)
    try:
        settings()
    except SettingUnusable as error:
        # Nothing below could find its models; the frame stands, so that the other pages say the same.
        refused(str(error), icon=":material/settings:")
        st.stop()
    try:
        systems()
    except BadData as error:
        refused(str(error).replace("\n", "\n\n"), icon=":material/rule:")  # a line each
        st.stop()


@contextmanager
def sentences() -> Iterator[None]:
    """Show an :class:`AtlasError` raised inside as a plain sentence; the rest of the page goes on."""
    from core.ui.notices import warned  # needs `plain` from here

    try:
        yield
    except AtlasError as error:
        warned(str(error), icon=":material/info:")


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
