"""The limit of open tabs, and the queue of runs as a visitor sees it.

An accepted tab stays accepted until it is closed; above the limit, a new tab gets a sentence and costs the server
nothing else. A run that waits for its turn (`core.turns`) for over a second shows how many visitors are ahead of it, in
a corner over the page, so that nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import streamlit as st
from streamlit import runtime
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner_utils.script_run_context import get_script_run_ctx

from core.content import content
from core.errors import SettingUnusable
from core.settings import settings
from core.ui.page import theme

_QUEUE = """<style>[data-testid="stElementContainer"]:has(.atlas-queue)
{{ position: fixed; right: 1rem; bottom: 1rem; width: auto; z-index: 1000; }}</style>
<div class="atlas-queue" role="status" style="padding:.4rem .8rem;border:1px solid {line};border-radius:.5rem;
background:{ground};color:{ink}">{text}</div>"""


class OpenTabs:
    """The tabs that the server accepts, at most as many as the settings allow."""

    def __init__(self) -> None:
        self._admitted: set[str] = set()
        self._lock = Lock()
        self.refused = 0
        """Runs refused because the server was full."""

    def admit(self, session: str, is_open: Callable[[str], bool], most: int) -> bool:
        """Whether ``session`` is among at most ``most`` open tabs; closed tabs no longer count."""
        with self._lock:
            if session in self._admitted:
                return True
            self._admitted = {other for other in self._admitted if is_open(other)}
            if len(self._admitted) >= most:
                self.refused += 1
                return False
            self._admitted.add(session)
            return True


open_tabs = OpenTabs()
"""The open tabs of this process."""


def is_admitted() -> bool:
    """Whether this run's tab is accepted; draws a page that says so if not."""
    context = get_script_run_ctx()
    try:
        most = settings().max_sessions
    except SettingUnusable:  # reported by the pages
        return True
    if context is None or open_tabs.admit(context.session_id, runtime.get_instance().is_active_session, most):
        return True
    words = content("server")
    st.title(words.title, anchor=False)
    st.markdown(words.part("Full", most=f"{most:,}"))
    return False


def queue_status(placeholder: DeltaGenerator) -> Callable[[int], None]:
    """A function that shows in ``placeholder`` how many visitors are ahead of this one; nothing for 0."""

    def show(ahead: int) -> None:
        if not ahead:
            placeholder.empty()
            return
        look, label = theme(), content("server").label("ahead" if ahead > 1 else "ahead_one")
        placeholder.html(_QUEUE.format(line=look.line, ground=look.ground, ink=look.ink, text=f"{ahead} {label}"))

    return show
