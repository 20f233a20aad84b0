"""Texts generated before the visitor's eyes: sampled ones in one batch, beam search after them; results are cached.

The button that stops it stands above the texts: one below them would move with every line, away from under a click.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.language import decode
from core.language.decode import along, together
from core.language.types import Decoding, GenerationStep
from core.ui.generation.setup import Setup

_PAUSE = 0.05
"""Seconds between two pictures of a growing text."""
Steps = tuple[GenerationStep, ...]


@dataclass(slots=True)
class _Run:
    """What is being generated, and what was there before a stop; lives in the visitor's session."""

    keys: tuple[Any, ...]
    steps: dict[int, list[GenerationStep]] = field(default_factory=dict)
    stopped: bool = False

    def stop(self) -> None:
        """A callback."""
        self.stopped = True

    def resume(self) -> None:
        """A callback."""
        self.stopped = False


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where texts are drawn: a function for a text with its steps, and one for a beam's best text so far."""

    button: DeltaGenerator
    """A place above them, for Stop and Go on."""
    steps: Callable[[int, Sequence[GenerationStep], bool], None]
    text: Callable[[int, str], None]


def generate_all(setup: Setup, decodings: Sequence[Decoding], canvas: Canvas) -> tuple[list[Steps], bool]:
    """The steps of each decoding, drawn while they are computed, and whether the visitor stopped it.

    Raises:
        AtlasError: the text or a setting cannot be used.
    """
    state, start = setup.state, setup.start()
    keys = [(*setup.key, decoding) for decoding in decodings]
    slot = state.key("writing")
    run: _Run | None = st.session_state.get(slot)
    if run is None or run.keys != tuple(keys):
        run = st.session_state[slot] = _Run(tuple(keys))
    texts = [session.results.get(("text", *key)) for key in keys]
    for number, steps in enumerate(texts):
        if steps is not None:
            canvas.steps(number, steps, False)
    missing = [number for number, steps in enumerate(texts) if steps is None]
    if missing and not run.stopped:
        canvas.button.button("Stop", key=state.key("stop-writing"), icon=":material/stop:", on_click=run.stop)
        run.steps.clear()
        beams = [number for number in missing if decodings[number].strategy == "beam"]
        rows = [number for number in missing if number not in beams]
        _generate_rows(setup, start, decodings, rows, run, canvas)
        for number in beams:
            _generate_beam(setup, start, decodings[number], number, run, canvas)
        for number in missing:
            texts[number] = tuple(run.steps[number])
            session.results.put(("text", *keys[number]), texts[number])
        canvas.button.empty()
    elif missing:
        for number in missing:
            texts[number] = tuple(run.steps.get(number, ()))
            canvas.steps(number, texts[number] or (), False)
        canvas.button.button("Continue", key=state.key("go-on"), icon=":material/play_arrow:", on_click=run.resume)
    return [steps or () for steps in texts], run.stopped and bool(missing)


def _generate_rows(
    setup: Setup, start: Any, decodings: Sequence[Decoding], rows: Sequence[int], run: _Run, canvas: Canvas
) -> None:
    drawn = dict.fromkeys(rows, 0.0)
    for row, step in together(session.checkpoint(setup.spec.slug), start, [decodings[number] for number in rows]):
        number = rows[row]
        run.steps.setdefault(number, []).append(step)
        if step.finished or time.monotonic() - drawn[number] > _PAUSE:
            canvas.steps(number, run.steps[number], not step.finished)
            drawn[number] = time.monotonic()


def _generate_beam(setup: Setup, start: Any, decoding: Decoding, number: int, run: _Run, canvas: Canvas) -> None:
    checkpoint, drawn, last = session.checkpoint(setup.spec.slug), 0.0, None
    for step in decode.steps(checkpoint, start, decoding):
        last = step
        if time.monotonic() - drawn > _PAUSE:
            canvas.text(number, step.text)
            drawn = time.monotonic()
    assert last is not None
    written = along(checkpoint, start, last.ids)
    # the reason is the search's own: along its text everything is forced
    run.steps[number] = [*written[:-1], replace(written[-1], reason=last.reason, finished=True)]
    canvas.steps(number, run.steps[number], False)
