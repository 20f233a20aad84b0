"""What a visitor meets where many are here: a server that is full, and the place in the queue of runs.

A tab that is open keeps its place until it is closed; who comes when all are taken gets a sentence, and costs the
server nothing else. A run that waits for its turn (`core.turns`) for over a second shows how many visitors are ahead of
it, over the page: nothing moves.
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

_PLACE = """<style>[data-testid="stElementContainer"]:has(.atlas-queue)
{{ position: fixed; right: 1rem; bottom: 1rem; width: auto; z-index: 1000; }}</style>
<div class="atlas-queue" role="status" style="padding:.4rem .8rem;border:1px solid {line};border-radius:.5rem;
background:{ground};color:{ink}">{text}</div>"""


class Places:
    """The open tabs that are served, at most as many as the settings allow."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._lock = Lock()
        self.refused = 0
        """Runs that found no place."""

    def take(self, session: str, is_open: Callable[[str], bool], most: int) -> bool:
        """Whether ``session`` has one of ``most`` places, of which those of closed tabs are free."""
        with self._lock:
            if session in self._taken:
                return True
            self._taken = {other for other in self._taken if is_open(other)}
            if len(self._taken) >= most:
                self.refused += 1
                return False
            self._taken.add(session)
            return True


places = Places()
"""The places of this process."""


def has_place() -> bool:
    """Whether this run's tab is served; where it is not, the page says so."""
    context = get_script_run_ctx()
    try:
        most = settings().max_sessions
    except SettingUnusable:  # the pages say it
        return True
    if context is None or places.take(context.session_id, runtime.get_instance().is_active_session, most):
        return True
    words = content("server")
    st.title(words.title, anchor=False)
    st.markdown(words.part("Full", most=f"{most:,}"))
    return False


def queue_status(placeholder: DeltaGenerator) -> Callable[[int], None]:
    """What shows, in ``place``, how many visitors are ahead of this one; nothing for 0."""

    def show(ahead: int) -> None:
        if not ahead:
            placeholder.empty()
            return
        look, label = theme(), content("server").label("ahead" if ahead > 1 else "ahead_one")
        placeholder.html(_PLACE.format(line=look.line, ground=look.ground, ink=look.ink, text=f"{ahead} {label}"))

    return show
