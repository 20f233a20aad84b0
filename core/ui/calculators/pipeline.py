"""Pipeline parallelism: the schedule of stages and micro-batches, to play, with its bubble."""

from __future__ import annotations

import streamlit as st

from core.efficiency.pipeline import SCHEDULES, Pass, bubble, schedule, span, stored
from core.figures import parallel as figures
from core.figures.labels import percent
from core.table import Table
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer
from core.ui.section import Section, View

SCHEDULE = Choice(name="schedule", label="Schedule", options=SCHEDULES, default="gpipe", style="row")
STAGES = Integer(name="stages", label="Stages", default=4, low=1, high=16, width=130)
MICRO = Integer(name="micro", label="Micro-batches", default=8, low=1, high=64, width=150)
TIME = Integer(name="time", label="Time", default=10_000, low=0, high=10_000, style="slider")
BEAT = 0.6
"""Seconds of a time unit while the schedule plays."""


def draw(view: View) -> None:
    """Draw the schedule up to a time, and the bubble of both schedules."""
    state = view.state
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        kind, stages, micro = SCHEDULE.draw(state), STAGES.draw(state), MICRO.draw(state)
    passes = schedule(kind, stages, micro)
    end = span(passes)
    most = [stored(passes, stage) for stage in range(stages)]
    view.say("Answer", share=percent(bubble(passes)), name=SCHEDULES[kind], stored=max(most), end=end)
    clock = TIME.with_(low=0, high=end, default=end)
    slot, key = state.key("playing"), state.key(f"time.{kind}.{stages}.{micro}")
    playing = bool(st.session_state.get(slot))

    def play() -> None:
        st.session_state[slot] = not playing
        if not playing and st.session_state.get(key, end) >= end:
            st.session_state[key] = 0

    @st.fragment(run_every=BEAT if playing else None)
    def picture() -> None:
        if st.session_state.get(slot):
            at = min(end, int(st.session_state.get(key, 0)) + 1)
            st.session_state[key] = at
            if at == end:
                st.session_state[slot] = False
                st.rerun()
        time = clock.draw(state, tag=f"{kind}.{stages}.{micro}")
        _chart(view, passes, stages, time, SCHEDULES[kind])

    picture()
    icon = ":material/stop:" if playing else ":material/play_arrow:"
    row.button("Stop" if playing else "Play", on_click=play, icon=icon, key=state.key("play"))
    view.try_and_notice()
    view.how_it_works()


def _chart(view: View, passes: tuple[Pass, ...], stages: int, time: int, name: str) -> None:
    held = [stored(passes, stage, time) for stage in range(stages)]
    Panel(
        "pipeline",
        "Schedule of a pipeline",
        figures.schedule(passes, stages, time, theme=theme()),
        view.words.part(
            "Alt",
            name=name,
            stages=stages,
            micro=max(work.micro for work in passes) + 1,
            share=percent(bubble(passes)),
            time=time,
            held=", ".join(map(str, held)),
        ),
        Table(
            ("stage", "micro-batch", "pass", "start", "end"),
            tuple(
                (work.stage + 1, work.micro + 1, "backward" if work.backward else "forward", work.start, work.end)
                for work in passes
            ),
        ),
        note=view.words.part("Stored", held=", ".join(map(str, held)), time=time),
    ).draw(view.state)


PIPELINE = Section("pipeline", draw, (SCHEDULE, STAGES, MICRO, TIME))
