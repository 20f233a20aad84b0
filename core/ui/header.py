"""What begins every page: its style, its title over the branch's accent, and what the host has to mend first."""

from __future__ import annotations

import streamlit as st

from core.catalogue import systems
from core.catalogue.load import BadData
from core.errors import SettingUnusable
from core.settings import settings
from core.ui.glossary import begin_page, markdown
from core.ui.notices import error
from core.ui.page import accent, theme, through_page_table

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
[data-testid="stButtonGroup"] [role="radiogroup"]:has(> :nth-child(8)) > * { padding-inline: .4rem; }
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


def header(title: str, sentence: str, branch: str | None = None) -> None:
    """A page's title over a bar in the branch's color, and one sentence that says what can be found out here.

    Both are ours. The sentence's terms are linked to the glossary, and a new page begins to link from here on.
    """
    through_page_table()
    begin_page()
    # the color comes from the theme, never from a visitor
    bar = f"padding-left: .8rem; border-left: .4rem solid {accent(branch)};" if branch else ""
    st.html(_STYLE.replace("BAR", bar).replace("VARIABLES", theme().css))
    st.title(title, anchor=False)
    markdown(sentence)
    try:
        settings()
    except SettingUnusable as fault:
        # Nothing below could find its models; the frame stands, so that the other pages say the same.
        error(str(fault), icon=":material/settings:")
        st.stop()
    try:
        systems()
    except BadData as fault:
        error(str(fault).replace("\n", "\n\n"), icon=":material/rule:")  # a line each
        st.stop()
