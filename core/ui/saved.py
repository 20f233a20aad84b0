"""Taking away what a page draws as HTML: a picture as a page of its own, and rows as comma-separated values.

The page that is saved holds what was drawn and nothing else: no script, and no request, which its policy forbids. Its
colours are those of the theme in which it was saved.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

_INK = {"light": ("#FFFFFF", "#1A1F24"), "dark": ("#12171C", "#E8ECF0")}
"""Ground and letters of a saved page."""


def page_of(title: str, parts: Sequence[str], theme: str = "light") -> str:
    """A complete page as text.

    :param title: plain text; escaped here.
    :param parts: HTML whose texts are escaped already, as the page draws it.
    :param theme: ``light`` or ``dark``.
    """
    ground, ink = _INK[theme]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    style = (
        f":root{{color-scheme:{theme}}}body{{background:{ground};color:{ink};max-width:60rem;margin:2rem auto;"
        "padding:0 1rem;font:16px/1.5 system-ui,'DejaVu Sans',sans-serif}h1{font-size:1.2rem}h2{font-size:1rem}"
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{style}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(parts)}</body></html>\n"
    )


def heading(text: str) -> str:
    """A heading within a saved page."""
    return f"<h2>{escape(text)}</h2>" if text else ""


def save_html(title: str, parts: Sequence[str], name: str, key: str) -> None:
    """A button that saves ``parts`` as ``atlas-NAME.html``."""
    theme = "dark" if st.context.theme.type == "dark" else "light"
    st.download_button(
        "Save the picture (HTML)",
        page_of(title, parts, theme),
        f"atlas-{name}.html",
        "text/html",
        key=key,
        icon=":material/download:",
        on_click="ignore",
    )


def save_svg(picture: str, name: str, key: str) -> None:
    """A button that saves ``picture`` as ``atlas-NAME.svg``."""
    st.download_button(
        "Save the picture (SVG)",
        picture,
        f"atlas-{name}.svg",
        "image/svg+xml",
        key=key,
        icon=":material/download:",
        on_click="ignore",
    )


def save_csv(rows: Sequence[Mapping[str, object]], name: str, key: str) -> None:
    """A button that saves ``rows`` as ``atlas-NAME.csv``."""
    st.download_button(
        "Save as CSV",
        as_csv(rows),
        f"atlas-{name}.csv",
        "text/csv",
        key=key,
        icon=":material/download:",
        on_click="ignore",
    )


def as_csv(found: Sequence[Mapping[str, object]]) -> str:
    """The rows as comma-separated values; a text that a spreadsheet would take for a formula gets a quote before it."""
    out = io.StringIO()
    if found:
        writer = csv.writer(out)
        writer.writerow(found[0])
        for row in found:
            writer.writerow(
                [
                    f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value
                    for value in row.values()
                ]
            )
    return out.getvalue()
