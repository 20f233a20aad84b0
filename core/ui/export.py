"""Every download of the app, with uniform labels and file names: tables, images and pages.

A page offers all of them in one place, *Download* in the menu at its foot (:func:`core.ui.panel.figure_menus`): a
section says what there is to download, and the menu draws the buttons when it is opened.

A downloaded HTML page contains what was drawn and nothing else: no script, and no request, which its policy
forbids. It has the colors of the theme in which it was downloaded. The browser makes a chart's files from
its drawing, and so do the components that draw for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from html import escape
from typing import Any

import streamlit as st

from core.table import Table, cell_text
from core.theme import THEMES, TYPE, Name
from core.ui.component import Component, Message
from core.ui.page import theme as page_theme

MAX_ROWS, MAX_COLUMNS = 400, 45
"""The largest table in a chart's HTML page; its CSV has all rows."""
_ICON = ":material/download:"
MENU: Component[Message] = Component("export")

Lazy = str | bytes | Callable[[], str | bytes]
"""The content of a file, or a function that creates it on request."""


_KINDS = {
    "CSV": ("csv", "text/csv"),
    "HTML": ("html", "text/html"),
    "ZIP": ("zip", "application/zip"),
}
"""The suffix and the MIME type of each kind of file."""

_OFFERED: ContextVar[dict[str, Callable[[], object]]] = ContextVar("offered")
"""What draws the buttons of the files that this run's page has offered so far, by their keys."""


def begin_downloads() -> dict[str, Callable[[], object]]:
    """Start a page, which has no files yet; returns those that it will offer."""
    _OFFERED.set({})
    return _OFFERED.get()


def offer(key: str, button: Callable[[], object]) -> None:
    """Leave a button to the foot of the page, which a fragment that runs again does not draw; tests draw it at once."""
    if (offered := _OFFERED.get(None)) is not None:
        offered[key] = button


def download(kind: str, content: Lazy, name: str, key: str, *, of: str = "", tip: str = "") -> None:
    """Offer ``atlas-NAME`` with the suffix of its kind, at the foot of the page.

    Args:
        kind: a key of ``_KINDS``.
        of: what the button says of the file; by default its name.
        tip: the button's tooltip.
    """
    ending, mime = _KINDS[kind]
    button = partial(
        st.download_button,
        f"Download {kind}: {of or name.replace('-', ' ')}",
        content,
        f"atlas-{name}.{ending}",
        mime,
        key=key,
        icon=_ICON,
        on_click="ignore",
        help=tip or None,
    )
    offer(key, button)


def download_csv(table: Table | Callable[[], Table], name: str, key: str, *, of: str = "", tip: str = "") -> None:
    """The same for a table, or for a function that creates it on request."""
    download("CSV", table.csv() if isinstance(table, Table) else lambda: table().csv(), name, key, of=of, tip=tip)


download_html = partial(download, "HTML")
"""A complete page."""


def component_data(chart: str, name: str, title: str, alt: str, table: Table | None) -> dict[str, Any]:
    """The data from which the browser makes the files of a chart: ``atlas-NAME`` in SVG, PNG and HTML, a table as CSV.

    Args:
        chart: the key of a plotly chart on this page.
        title: of the chart; plain text.
        alt: the text alternative; plain text.
        table: None if the page offers it as a file of its own.
    """
    full = Table((), ()) if table is None else table
    shown = full.head(MAX_ROWS, MAX_COLUMNS)
    return {
        "chart": chart,
        "name": f"atlas-{name}",
        "title": title,
        "alt": alt,
        "csv": full.csv(),
        "table": {
            "columns": list(shown.columns),
            "rows": [list(map(cell_text, row)) for row in shown.rows],
            "more": len(full.rows) - len(shown.rows),
        },
    }


def html_page(title: str, parts: Sequence[str], theme: Name | None = None) -> str:
    """A complete page.

    Args:
        title: plain text; escaped here.
        parts: HTML whose texts are escaped already, as the app draws it.
        theme: ``light`` or ``dark``; the visitor's own if None.
    """
    palette = THEMES[theme] if theme else page_theme()
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    style = (
        f":root{{color-scheme:{palette.name};{palette.css}{TYPE}}}"
        f"body{{background:{palette.ground};color:{palette.ink};max-width:60rem;margin:2rem auto;"
        "padding:0 1rem;font:var(--atlas-text)/1.5 system-ui,'DejaVu Sans',sans-serif}"
        "h1{font-size:var(--atlas-large)}h2{font-size:var(--atlas-text)}"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{style}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )


def heading(text: str) -> str:
    """A heading within a downloaded page."""
    return f"<h2>{escape(text)}</h2>" if text else ""
