"""Measurements on this machine that a visitor starts, watches and stops; where the host wants none, a sentence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.content import content
from core.costs.trained import Run
from core.ui.glossary import terms
from core.ui.links import PageState
from core.ui.section import View

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


class Repeated:
    """A run of seed 0 with its button; ``own`` is its repetition, None before any."""

    def __init__(self, view: View, stored: Sequence[Run], wanted: Run, at: DeltaGenerator) -> None:
        self.stored = next(run for run in stored if run.point == wanted.point)
        self._measurement: Measurement[Run] = Measurement(
            view.state, "again", ("training run", wanted.point), training=True
        )
        self._measurement.draw(at)
        self.own = self._measurement.result
        if self.own:
            view.note("Again", own=f"{self.own.loss:.4f}", stored=f"{self.stored.loss:.4f}")
        else:
            view.note("Repeat")

    def run(self) -> None:
        """Train if the button was clicked; called last."""
        self._measurement.run(self._train)

    def _train(self, tell: session.Progress) -> Run:
        from core.training.scaling import repeat

        return repeat(self.stored, tell)
