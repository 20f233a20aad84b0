"""Measurements on this machine that a visitor starts, watches and stops; where the host wants none, a sentence."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.content import content
from core.ui.glossary import terms
from core.ui.links import PageState

T = TypeVar("T")


def measure_button(
    label: str,
    key: str,
    on_click: Callable[..., None] | None = None,
    args: tuple[Any, ...] = (),
    *,
    at: DeltaGenerator | None = None,
    **more: Any,
) -> bool:
    """Draw the button in ``at``, or where the page stands; return whether it was clicked."""
    if not session.may_measure():
        (at or st).caption(terms(content("frame", "links").part("Measuring is off")))
        return False
    return (at or st).button(label, icon=":material/timer:", key=key, on_click=on_click, args=args, **more)


class Measurement(Generic[T]):
    """A measurement with its button, which is Cancel while it runs, and its progress below.

    Args:
        name: of the widgets.
        key: under which all visitors share the result.
        training: rather than a time, so others may compute meanwhile.
    """

    def __init__(self, state: PageState, name: str, key: Hashable, *, training: bool = False) -> None:
        self.key, self.slot, self.timed = key, state.key(f"{name}.run"), not training
        self.label = "Train here" if training else "Measure here"
        self._go, self._stop = state.key(f"{name}.go"), state.key(f"{name}.stop")

    @property
    def result(self) -> T | None:
        """The last result; None before any."""
        stored: T | None = session.results.get(self.key)
        return stored

    def draw(self, at: DeltaGenerator) -> None:
        """Draw the button in ``at``, and the progress where the page stands."""
        change, running = st.session_state.__setitem__, bool(st.session_state.get(self.slot))
        if running:
            at.button("Cancel", icon=":material/stop:", key=self._stop, on_click=change, args=(self.slot, False))
        else:
            measure_button(self.label, self._go, change, (self.slot, True), at=at)
        self._progress = st.empty()

    def run(self, compute: Callable[[session.Progress], T]) -> None:
        """Measure if the button was clicked: called last, so that the page stands meanwhile."""
        if not st.session_state.get(self.slot):
            return
        tell = self._progress.progress
        try:
            session.measured(self.key, lambda: compute(tell), tell, again=True, timed=self.timed)
        finally:
            st.session_state[self.slot] = False
        st.rerun()
