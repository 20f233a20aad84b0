"""How much later than on a bare Streamlit page the first picture stands, in the same browser and run.

The bare page has a title and one heat map of plotly, and Streamlit's own settings. Both servers are warm, each load has
an empty cache. Goal: at most 1.25 times as late.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from _app import app, chromium
from _harness import compare, report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BARE = """
import plotly.graph_objects as go
import streamlit as st

st.title("Attention")
st.plotly_chart(go.Figure(go.Heatmap(z=[[row * column % 7 for column in range(14)] for row in range(14)])))
"""


def show(browser: Browser, address: str) -> None:
    """Load a page in a window of its own until its picture stands."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.set_default_timeout(300_000)
    page.goto(address)
    page.locator(".js-plotly-plot .heatmaplayer image, .js-plotly-plot .bars path").first.wait_for()
    context.close()


def main() -> bool:
    """Measure both pages by turns."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        if browser is None:
            return True
        Path(folder, "app.py").write_text(BARE, encoding="utf-8")
        with app() as ours, app(Path(folder)) as bare:
            for server in (ours, bare):
                server.wait()
            good = True
            for path in ("attention", "encoder"):
                result = compare(
                    lambda path=path: show(browser, f"{ours.address}/{path}"),
                    lambda: show(browser, bare.address),
                    rounds=7,
                )
                good &= report(f"first picture of /{path}, beside a bare page's", result, at_most=1.25)
    return good


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
