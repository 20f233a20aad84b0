"""The page table of Transformer Atlas. Start with ``streamlit run app.py``.

Streamlit imports this file once, as the server starts, for ``app``; it runs it as a script for every run of a page.
"""

import time
from pathlib import Path

import streamlit as st

from core.ui.streamlit_internals import ask_no_other_host, end_if_abandoned, keep_waiting_values, take_page_table

ICON = Path(__file__).parent / "assets" / "icon.svg"

GROUPS = {
    "Learn": {
        "lessons": ":material/school:",
        "transformer": ":material/hub:",
    },
    "Live": {
        "attention": ":material/grid_on:",
        "interventions": ":material/build:",
        "objectives": ":material/quiz:",
        "training": ":material/tune:",
        "tokenizers": ":material/content_cut:",
        "generation": ":material/edit:",
        "vectors": ":material/scatter_plot:",
    },
    "Look up": {
        "catalogue": ":material/table_rows:",
        "experiments": ":material/science:",
        "glossary": ":material/menu_book:",
    },
}
"""The pages of the sidebar below Home and the branches, by the name of their file, each with its icon; the title that
the sidebar shows stands in the page's content file."""


def show() -> None:
    """One run of the page that the visitor's path names, when its turn comes."""
    from core import interpreter
    from core.turns import turns
    from core.ui.crowd import is_admitted, queue_status

    begun = time.perf_counter()
    if not is_admitted():
        return
    with turns.run(end_if_abandoned(), queue_status(st.empty())):
        show_page(begun)
        interpreter.settle()


def show_page(begun: float) -> None:
    """The sidebar and the page of a run that has ``begun`` to wait for its turn then."""
    # Imported by the first run, not by the server: it answers a second sooner, while the browser reads its own scripts.
    from core.content import content
    from core.ui.login import log_in, log_out_button, may_enter
    from core.ui.page import BRANCH_ICONS, WIDE, bare
    from core.ui.room import lead, room
    from core.ui.search import search_box
    from core.ui.server.measures import timed

    # The icon comes before the navigation: else the browser fetches the page's Material icon from a font host for its
    # tab.
    wide = st.session_state.get(WIDE, False)
    st.set_page_config(page_icon=ICON, layout="wide", initial_sidebar_state="collapsed" if wide else 240)
    home = st.Page("pages/home.py", title="Home", icon=":material/account_tree:", default=True)
    groups = {
        group: [st.Page(f"pages/{name}.py", title=content(name).title, icon=icon) for name, icon in pages.items()]
        for group, pages in ({"Learn": GROUPS["Learn"], "Branches": BRANCH_ICONS} | GROUPS).items()
    }
    enters = may_enter()
    sidebar = enters and not bare()
    page = st.navigation({"": [home], **groups}, expanded=True, position="sidebar" if sidebar else "hidden")
    st.set_page_config(
        page_title="Transformer Atlas" if page.url_path == "" else f"{page.title} · Transformer Atlas",
        initial_sidebar_state="collapsed" if wide and page.url_path == "lessons" else 240,
    )
    if not enters:
        log_in()
        return
    slug = page.url_path or "home"
    if sidebar:
        search_box(slug)
        log_out_button(slug)
        room(slug)
    with timed(slug, begun):
        page.run()
    lead(slug)


if __name__ == "__main__":
    show()
else:
    from core import interpreter
    from core.ui import server
    from core.ui.server import logs

    interpreter.take_turns()
    logs.leave_texts_out_of_logs()
    ask_no_other_host()
    take_page_table()
    keep_waiting_values()
    app = st.App(__file__, routes=server.routes(), middleware=server.MIDDLEWARE, lifespan=server.lifespan)
