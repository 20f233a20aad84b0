"""Measurements on this machine that a visitor starts, watches and stops; where the host wants none, a sentence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.content import Content, content
from core.costs.trained import Run
from core.figures.labels import percent
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


class Repeated(Measurement[T]):
    """A stored training run of seed 0 that a visitor repeats here: with the same seed and data, but with the rounding
    of another processor, which grows with every step.

    Args:
        at: the place of the button.
        run: what is trained, under which all visitors share the result.
        train: trains it, after the page is drawn.
    """

    def __init__(
        self, view: View, at: DeltaGenerator, run: tuple[Hashable, ...], train: Callable[[session.Progress], T]
    ) -> None:
        super().__init__(view.state, f"again.{run[0]}", run, training=True)
        self.draw(at)
        view.later.append(lambda: self.run(train))

    def note(self, words: Content, own: Callable[[T], str], stored: str) -> None:
        """Say what came out beside what is stored, or what the button does: the section's label ``repeat``."""
        if (result := self.result) is None:
            st.caption(terms(words.label("repeat")))
        else:
            st.caption(terms(content("frame", "links").part("Again", own=own(result), stored=stored)))


def of_seeds(values: Sequence[float], written: Callable[[float], str] = percent) -> str:
    """The value of seed 0, which comes first, and the range of all seeds."""
    ends = f" ({len(values)} seeds: {written(min(values))} to {written(max(values))})"
    return f"{written(values[0])}{ends * (len(values) > 1)}"


def decoder_again(view: View, at: DeltaGenerator, runs: Sequence[Run], point: tuple[float, ...]) -> Run | None:
    """Draw the button of a stored decoder and its loss beside the stored ones; return it trained again, if it was."""
    run = next(run for run in runs if run.point == point)
    again: Repeated[Run] = Repeated(view, at, ("run", point), partial(_decoder, run))
    losses = [one.loss for one in sorted(runs, key=lambda one: one.seed) if one.point[:-1] == point[:-1]]
    again.note(view.words, lambda own: f"{own.loss:.4f}", of_seeds(losses, "{:.4f}".format))
    return again.result


def _decoder(run: Run, tell: session.Progress) -> Run:
    from core.training.scaling import repeat

    return repeat(run, tell)
