"""The limit of open tabs, and the queue of runs as a visitor sees it.

An accepted tab stays accepted until it is closed; above the limit, a new tab gets a sentence and costs the server
nothing else. A run that waits for its turn (`core.turns`) for over a second shows how many visitors are ahead of it, in
a corner over the page, so that nothing moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from threading import Lock

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.content import content
from core.errors import SettingUnusable
from core.settings import settings
from core.ui.page import bare, theme
from core.ui.streamlit_internals import is_open, session_id

_QUEUE = """<style>.stElementContainer:has(.atlas-queue)
{{ position: fixed; right: 1rem; bottom: 1rem; width: auto; z-index: 1000; }}</style>
<div class="atlas-queue" role="status" style="padding:.4rem .8rem;border:1px solid {line};border-radius:.5rem;
background:{ground};color:{ink}">{text}</div>"""


SHARE = 0.9
"""Of the places, that tabs of one address may take: others still get in beside somebody who opens all they can, and a
class behind one router still fits."""


@dataclass(frozen=True, slots=True)
class Tab:
    """What is known of an open tab."""

    address: str | None = None
    """The visitor's; None on this machine, or behind a proxy that does not name it."""
    framed: bool = False
    """Whether it is a view in the frame of another tab, such as that of a lesson."""


def places(tabs: Collection[Tab]) -> int:
    """The places that tabs take: a lesson and the view in its frame share one."""
    framed = sum(tab.framed for tab in tabs)
    return max(framed, len(tabs) - framed)


class OpenTabs:
    """The tabs that the server accepts, at most as many as the settings allow."""

    def __init__(self) -> None:
        self._admitted: dict[str, Tab] = {}
        self._lock = Lock()
        self.refused = 0
        """Runs refused because the server was full."""

    def __contains__(self, session: object) -> bool:
        return session in self._admitted

    def count(self, is_open: Callable[[str], bool]) -> int:
        """How many of them are open."""
        return sum(map(is_open, list(self._admitted)))

    def admit(self, session: str, is_open: Callable[[str], bool], most: int, tab: Tab = Tab()) -> bool:
        """Whether ``session`` is among the tabs that fit on ``most`` places; closed tabs no longer count."""
        with self._lock:
            if session in self._admitted:
                return True
            admitted = {other: open_tab for other, open_tab in self._admitted.items() if is_open(other)} | {
                session: tab
            }
            near = [other for other in admitted.values() if other.address == tab.address is not None]
            if places(admitted.values()) > most or places(near) > max(1, int(SHARE * most)):
                self.refused += 1
                return False
            self._admitted = admitted
            return True


open_tabs = OpenTabs()
"""The open tabs of this process."""


def is_admitted() -> bool:
    """Whether this run's tab is accepted; draws a page that says so if not."""
    session = session_id()
    try:
        most = settings().max_sessions
    except SettingUnusable:  # reported by the pages
        return True
    tab = Tab(st.context.ip_address, bare())
    if session is None or open_tabs.admit(session, is_open, most, tab):
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
