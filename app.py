"""The page table of Transformer Atlas. Start with ``streamlit run app.py``.

Streamlit imports this file once, as the server starts, for ``app``; it runs it as a script for every run of a page.
"""

import logging
import time
from pathlib import Path
from threading import Thread

import streamlit as st
from streamlit import net_util
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.script_run_context import get_run_yield_check

ICON = Path(__file__).parent / "assets" / "icon.svg"

# To judge a WebSocket handshake from a foreign origin, Streamlit asks checkip.amazonaws.com for this machine's public
# address, on the loop that serves all visitors. The Atlas asks no other host: such an origin is refused at once.
# Whoever serves it behind a proxy that changes the Host names the origin in server.corsAllowedOrigins.
net_util.get_external_ip = lambda: None

# Until a run has called st.navigation, Streamlit would run the file of the page that a link names instead of this one,
# below a sidebar of file names: for all whose first runs overlap.
PagesManager.uses_pages_directory = False


GROUPS = {
    "Learn": {
        "lessons": ":material/school:",
        "transformer": ":material/hub:",
    },
    "Live": {
        "attention": ":material/grid_on:",
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
    with turns.run(get_run_yield_check(), queue_status(st.empty())):
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
    from core.ui.server import timed

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


def check_settings() -> None:
    """Make Streamlit follow the settings, and write to the log what is wrong with them and with the host's folders of
    models; the pages say it, too."""
    from core.checkpoints import refused
    from core.errors import SettingUnusable

    try:
        server.follow_limits()
        wrong = [folder.reason for folder in refused()]
    except SettingUnusable as error:
        wrong = [str(error)]
    for sentence in wrong:
        logging.getLogger("atlas").warning(sentence)


if __name__ == "__main__":
    show()
else:
    from core import interpreter
    from core.ui import server

    interpreter.share_heaps()
    server.leave_texts_out_of_logs()
    server.keep_waiting_values()
    app = st.App(__file__, routes=server.routes(), middleware=server.MIDDLEWARE)
    Thread(target=check_settings, daemon=True).start()
    server.warm_up()
    server.return_memory_when_idle()
