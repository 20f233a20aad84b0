"""Texts written before the visitor's eyes: sampled ones together, beam search after them; finished ones are kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from core import session
from core.language.types import Decoding, GenerationStep
from core.ui.generation.frame import GenerationView

_PAUSE = 0.05
"""Seconds between two pictures of a growing text."""
Steps = tuple[GenerationStep, ...]


@dataclass(slots=True)
class _Run:
    """What was asked for, and what was written before a stop; lives in the visitor's session."""

    wanted: tuple[Any, ...]
    steps: dict[int, list[GenerationStep]] = field(default_factory=dict)
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Where texts are drawn: a function for a text with its steps, and one for a beam's best text so far."""

    steps: Callable[[int, Sequence[GenerationStep], bool], None]
    text: Callable[[int, str], None]


def write_all(view: GenerationView, decodings: Sequence[Decoding], page: Page) -> tuple[list[Steps], bool]:
    """The steps of each decoding, drawn while they are computed, and whether the visitor stopped it.

    Raises:
        AtlasError: the text or a setting cannot be used.
    """
    keys = [(*view.key, decoding) for decoding in decodings]
    begun = view.start()
    slot = view.state.key("writing")
    run: _Run | None = st.session_state.get(slot)
    if run is None or run.wanted != tuple(keys):
        run = st.session_state[slot] = _Run(tuple(keys))
    done = [session.texts.get(key) for key in keys]
    for number, steps in enumerate(done):
        if steps is not None:
            page.steps(number, steps, False)
    missing = [number for number, steps in enumerate(done) if steps is None]
    place = st.empty()
    if missing and not run.stopped:
        place.button("Stop", key=view.state.key("stop-writing"), icon=":material/stop:", on_click=_stop(run))
        run.steps.clear()
        rows = [number for number in missing if decodings[number].strategy != "beam"]
        _rows(view, begun, decodings, rows, run, page)
        for number in missing:
            if decodings[number].strategy == "beam":
                _beam(view, begun, decodings[number], number, run, page)
        for number in missing:
            done[number] = tuple(run.steps[number])
            session.texts.put(keys[number], tuple(run.steps[number]))
        place.empty()
    elif missing:
        for number in missing:
            done[number] = tuple(run.steps.get(number, ()))
            page.steps(number, done[number] or (), False)
        place.button("Go on", key=view.state.key("go-on"), icon=":material/play_arrow:", on_click=_go_on(run))
    return [steps or () for steps in done], run.stopped and bool(missing)


def _rows(
    view: GenerationView, begun: Any, decodings: Sequence[Decoding], rows: Sequence[int], run: _Run, page: Page
) -> None:
    from core.language.decoding.together import together

    drawn = dict.fromkeys(rows, 0.0)
    for row, step in together(session.checkpoint(view.spec.slug), begun, [decodings[number] for number in rows]):
        number = rows[row]
        run.steps.setdefault(number, []).append(step)
        if step.finished or time.monotonic() - drawn[number] > _PAUSE:
            page.steps(number, run.steps[number], not step.finished)
            drawn[number] = time.monotonic()


def _beam(view: GenerationView, begun: Any, decoding: Decoding, number: int, run: _Run, page: Page) -> None:
    from core.language.decoding.together import alone, along

    checkpoint, drawn, last = session.checkpoint(view.spec.slug), 0.0, None
    for step in alone(checkpoint, begun, decoding):
        last = step
        if time.monotonic() - drawn > _PAUSE:
            page.text(number, step.text)
            drawn = time.monotonic()
    assert last is not None
    found = along(checkpoint, begun, last.ids)
    # the reason is the search's own: along its text everything is forced
    run.steps[number] = [*found[:-1], _ended(found[-1], last)]
    page.steps(number, run.steps[number], False)


def _ended(step: GenerationStep, last: GenerationStep) -> GenerationStep:
    from dataclasses import replace

    return replace(step, reason=last.reason, finished=True)


def _stop(run: _Run) -> Callable[[], None]:
    def stop() -> None:
        run.stopped = True

    return stop


def _go_on(run: _Run) -> Callable[[], None]:
    def go_on() -> None:
        run.stopped = False

    return go_on


def remember(slot: str, key: tuple[object, ...]) -> None:
    """A callback: what was asked for, or stopped, belongs to these settings alone."""
    st.session_state[slot] = key


def forget(slot: str) -> None:
    """A callback that takes it back."""
    st.session_state.pop(slot, None)
