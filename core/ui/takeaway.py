"""A chart to take away: its picture as SVG and PNG, its numbers as CSV, and both as a page that needs no network.

The browser makes the picture out of what it has drawn, theme and all. The numbers travel when somebody opens the menu,
not before.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from core.figures.taken import Numbers

ASSETS = Path(__file__).parents[2] / "assets" / "components" / "takeaway"
HTML = """
<div class="takeaway">
  <button type="button" value="svg">SVG</button>
  <button type="button" value="png">PNG</button>
  <button type="button" value="csv">Numbers (CSV)</button>
  <button type="button" value="html">Page (HTML)</button>
  <span role="status"></span>
</div>
"""
_mount = st.components.v2.component(
    "atlas_takeaway",
    html=HTML,
    css=(ASSETS / "takeaway.css").read_text(encoding="utf-8"),
    js=(ASSETS / "takeaway.js").read_text(encoding="utf-8"),
)


def take_away(chart: str, stem: str, *, title: str, told: str, numbers: Callable[[], Numbers] | None) -> None:
    """Draw the menu.

    Args:
        chart: the key of a plotly chart on this page.
        stem: name of the files, without its ending.
        title: what the picture is; plain text.
        told: what it shows, for those who cannot see it; plain text.
        numbers: makes them when they are asked for; None where they stand beside the picture as a file already.
    """
    menu = st.popover(
        "Take away",
        icon=":material/download:",
        key=f"{chart}--away",
        on_change="rerun",
        type="tertiary",
    )
    if menu.open:
        with menu:
            _mount(key=f"{chart}--taken", data=component_data(chart, stem, title, told, numbers))


def component_data(
    chart: str, stem: str, title: str, told: str, numbers: Callable[[], Numbers] | None
) -> dict[str, Any]:
    """What the browser needs to make the files."""
    found = Numbers((), ()) if numbers is None else numbers()
    return {
        "chart": chart,
        "stem": stem,
        "title": title,
        "told": told,
        "csv": found.csv() if found.header else "",
        "table": found.shown(),
    }
