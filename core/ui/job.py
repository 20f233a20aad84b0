"""A long computation of a page, which starts, is drawn while it grows, stops and goes on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.turns import turns
from core.ui.links import PageState


@dataclass(slots=True)
class Job:
    """One computation, stored in the session from its first run on, so that it survives a stop or a click."""

    key: str
    what: object
    """Identifies it: what differs is another one."""
    going: bool
    part: Any = None
    """What is computed so far."""
    _drawn: dict[object, float] = field(default_factory=dict)

    def goes(self, placeholder: DeltaGenerator, again: str = "Continue") -> bool:
        """Draw the button that stops it or lets it go on; return whether to compute now."""
        label, icon = ("Stop", ":material/stop:") if self.going else (again, ":material/play_arrow:")
        placeholder.button(label, key=f"{self.key}.button", icon=icon, on_click=self._press, args=(not self.going,))
        return self.going

    def _press(self, going: bool) -> None:
        self.going = going

    def due(self, pause: float, line: object = None) -> bool:
        """Whether to draw it again, or one line of several.

        Args:
            pause: the least seconds between two drawings, and as many more for each visitor who waits.
        """
        now = time.monotonic()
        if now - self._drawn.get(line, 0.0) <= pause * (1 + turns.waiting):
            return False
        self._drawn[line] = now
        return True


def job(state: PageState, name: str, what: object, *, waits: bool = False) -> Job:
    """The computation called ``name`` on its page: that of the run before if it is the same.

    Args:
        waits: another one starts with a click.
    """
    key = state.key(f"{name}.job")
    stored: Job | None = st.session_state.get(key)
    if stored is None or stored.what != what:
        stored = st.session_state[key] = Job(key, what, not waits)
    return stored
