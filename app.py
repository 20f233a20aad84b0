"""The page table of Transformer Atlas. Start with ``streamlit run app.py``.

Streamlit imports this file once, as the server starts, for ``app``; it runs it as a script for every run of a page.
"""

import logging
from pathlib import Path
from threading import Thread

import streamlit as st
from streamlit import net_util

ICON = Path(__file__).parent / "assets" / "icon.svg"

# To judge a WebSocket handshake from a foreign origin, Streamlit asks checkip.amazonaws.com for this machine's public
# address, on the loop that serves all visitors. The Atlas asks no other host: such an origin is refused at once.
# Whoever serves it behind a proxy that changes the Host names the origin in server.corsAllowedOrigins.
net_util.get_external_ip = lambda: None


def show() -> None:
    """One run of the page that the visitor's path names."""
    # Imported by the first run, not by the server: it answers a second sooner, while the browser reads its own scripts.
    from core import interpreter
    from core.ui.page import BRANCH_ICONS
    from core.ui.search import search_box

    # The icon comes before the navigation: else the browser fetches the page's Material icon from a font host for its
    # tab.
    st.set_page_config(page_icon=ICON, layout="wide", initial_sidebar_state="auto")
    page = st.navigation(
        {
            "": [st.Page("pages/home.py", title="Home", icon=":material/account_tree:", default=True)],
            "Branches": [
                st.Page(f"pages/{branch}.py", title=title, icon=BRANCH_ICONS[branch])
                for branch, title in (
                    ("encoder", "Encoder"),
                    ("decoder", "Decoder"),
                    ("encoder-decoder", "Encoder-decoder"),
                    ("efficient", "Efficient"),
                )
            ],
            "Live": [
                st.Page("pages/attention.py", title="Attention", icon=":material/grid_on:"),
                st.Page("pages/objectives.py", title="Objectives", icon=":material/quiz:"),
                st.Page("pages/tokenizers.py", title="Tokenizers", icon=":material/content_cut:"),
                st.Page("pages/generation.py", title="Generation", icon=":material/edit:"),
                st.Page("pages/vectors.py", title="Representations", icon=":material/scatter_plot:"),
                st.Page("pages/zoo.py", title="Models", icon=":material/table_rows:"),
            ],
            "Catalogue": [
                st.Page("pages/timeline.py", title="Timeline", icon=":material/timeline:"),
                st.Page("pages/compare.py", title="Compare", icon=":material/compare:"),
                st.Page("pages/results.py", title="Results", icon=":material/leaderboard:"),
                st.Page("pages/calculators.py", title="Calculators", icon=":material/calculate:"),
                st.Page("pages/sources.py", title="Sources", icon=":material/fact_check:"),
            ],
            "Reference": [
                st.Page("pages/glossary.py", title="Glossary", icon=":material/menu_book:"),
                st.Page("pages/search.py", title="Search", icon=":material/search:"),
                st.Page("pages/about.py", title="About", icon=":material/info:"),
            ],
        },
        expanded=True,
    )
    st.set_page_config(page_title="Transformer Atlas" if page.url_path == "" else f"{page.title} · Transformer Atlas")
    search_box(page.url_path or "home")
    page.run()
    interpreter.settle()


def check_settings() -> None:
    """Write to the log what is wrong with the settings of this installation; the pages say it, too."""
    from core.checkpoints.directory import trouble
    from core.errors import SettingUnusable

    try:
        wrong = trouble()
    except SettingUnusable as error:
        wrong = str(error)
    if wrong is not None:
        logging.getLogger("atlas").warning(wrong)


if __name__ == "__main__":
    show()
else:
    app = st.App(__file__)
    Thread(target=check_settings, daemon=True).start()
