"""The KV cache on and off: the time per token as the text grows, measured now on the chosen model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.efficiency.growth import Point, bytes_a_token, lengths, measure
from core.figures.labels import in_bytes
from core.figures.lines import timing_alt, timing_lines
from core.table import Table
from core.ui.demos.steps import going
from core.ui.generation.setup import SHARED, Setup, setup
from core.ui.measuring import measure_button
from core.ui.page import accent, theme
from core.ui.panel import Panel, chart
from core.ui.param import Integer
from core.ui.section import Section, View

GROW = Integer(
    name="grow",
    label="Maximum length, tokens",
    default=200,
    low=16,
    high=1000,
    step=8,
    width=130,
)


def kv_cache(view: View) -> None:
    """Draw the controls, the curves and the formula; measure if nothing was measured yet."""
    state, chosen = view.state, setup(view, length=False)
    checkpoint, start = session.checkpoint(chosen.spec.slug), chosen.start()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        most = GROW.draw(state)
        button = st.empty()
    if start.room is not None:
        most = min(most, start.room + len(start.prompt) - 1)
    at = lengths(most)
    key = ("growth", session.files(chosen.spec.slug), chosen.task, at)
    ids = _ids(start.prompt, start.source, most + 1)
    stream = measure(checkpoint, ids, at, source=start.source)
    progress, picture = st.empty(), st.empty()
    view.try_and_notice()
    view.note("Settings")
    size = bytes_a_token(checkpoint.model, ids, start.source)
    memory = "No keys and values" if size is None else "Memory"
    view.how_it_works("Formula", memory, notes=["Sources"], size=in_bytes(size or 0))
    part = state.key("grow.part")
    if (known := session.results.get(key)) is not None:
        _panel(chosen, picture, known, most)
        measure_button("Measure again", state.key("measure"), session.results.forget, (key,), at=button)
    elif not session.may_measure():
        measure_button("Measure", state.key("measure"), at=progress)
        _panel(chosen, picture, (), most)
    elif going(state, "grow", key, button, "Measure"):
        points = st.session_state[part] = []
        _measure(chosen, key, stream, points, len(at), progress, picture, most)
        st.rerun()
    else:
        progress.info(view.words.label("stopped"))
        _panel(chosen, picture, st.session_state.get(part, ()), most)


def _measure(
    chosen: Setup,
    key: tuple[object, ...],
    stream: Iterator[Point],
    points: list[Point],
    count: int,
    progress: DeltaGenerator,
    picture: DeltaGenerator,
    most: int,
) -> None:
    def draw() -> None:
        with picture:
            chart(_figure(chosen, points, most), key=chosen.state.key(f"growth.{len(points)}"), alt=timing_alt(points))

    def watched() -> Iterator[Point]:
        progress.progress(0.0, f"{chosen.spec.name}: warming up")
        for point in stream:
            points.append(point)
            progress.progress(len(points) / count, f"{chosen.spec.name}: {point.tokens} tokens")
            draw()
            yield point

    draw()
    session.measured(key, lambda: tuple(watched()), progress.progress)
    progress.empty()


def _ids(prompt: tuple[int, ...], source: tuple[int, ...] | None, count: int) -> list[int]:
    """``count`` token ids: the prompt repeated, since the time does not depend on the words."""
    cycle = list(source or prompt)
    return [*prompt, *(cycle[i % len(cycle)] for i in range(max(0, count - len(prompt))))][:count]


def _figure(chosen: Setup, points: Sequence[Point], most: int) -> go.Figure:
    return timing_lines(points, most, accent(chosen.spec.branch), theme=theme())


def _panel(chosen: Setup, placeholder: DeltaGenerator, points: Sequence[Point], most: int) -> None:
    records = [
        {
            "model": chosen.spec.name,
            "tokens before it": point.tokens,
            "milliseconds with the cache": 1000 * point.cached,
            "milliseconds without": 1000 * point.whole,
            "ratio": point.times,
        }
        for point in points
    ]
    with placeholder.container():
        Panel(
            "kv-cache-times",
            chosen.view.words.label("times"),
            _figure(chosen, points, most),
            timing_alt(points),
            Table.from_records(records) if records else None,
            chosen.view.words.part("Measured") if records else "",
        ).draw(chosen.state)


CACHE = Section("cache", kv_cache, (*SHARED, GROW))
