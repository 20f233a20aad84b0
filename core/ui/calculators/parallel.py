"""Parallel training: a layer of a live model split as in Megatron-LM; the schedule of a pipeline with its bubble."""

from __future__ import annotations

import streamlit as st

from core import session
from core.efficiency.parallel import SplitLayer, split_layer, splits
from core.efficiency.pipeline import SCHEDULES, Pass, bubble, schedule, span, stored
from core.figures import parallel as figures
from core.figures.labels import in_bytes, in_words, percent, scientific
from core.figures.parallel import Step
from core.table import Table
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Model, Text
from core.ui.picker import nothing_runs
from core.ui.section import Section, View

MODEL = Model(name="model", first="parallel", fits=splits, width=300)
TEXT = Text(name="text", label="Text", default="Once upon a time there was a king who had three sons.", sentence="any")
DEGREE = Choice(name="degree", label="Devices", default="2", options={t: t for t in "123468"}, style="row")
LAYER = Integer(name="layer", label="Layer", default=1, low=1, high=200, width=130)


def tensor_parallel(view: View) -> None:
    """Draw the layer in parts. Raises an AtlasError for a text or a degree that does not suit the model."""
    state, model = view.state, MODEL.here()
    if nothing_runs(model.options):
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        slug = model.draw(state)
        degree, layer = int(DEGREE.draw(state)), LAYER.draw(state)
    text = TEXT.draw(state)
    split = session.computed("splitting-the-layer", split_layer, slug, text, layer - 1, degree)
    view.say(
        "Answer",
        error=scientific(split.layer_error),
        largest=f"{split.largest:.1f}",
        each=in_words(split.parameters),
        whole=in_words(split.whole),
        devices=degree,
        tokens=split.tokens,
    )
    steps = _steps(split)
    Panel(
        "split-layer",
        "A layer split by columns and rows",
        figures.split_layer(steps, degree, theme=theme()),
        view.words.part("Alt", devices=degree, bytes=in_bytes(split.reduced_bytes)),
        _table(split),
        width=900,
    ).draw(state)
    view.try_and_notice(bytes=in_bytes(split.reduced_bytes), sent=in_bytes(split.sent_bytes))
    view.how_it_works()


def _steps(split: SplitLayer) -> tuple[Step, ...]:
    t, h = split.degree, split.width
    heads, exchanged = split.heads // t, f"all-reduce, {in_bytes(split.reduced_bytes)}"
    own, inner = heads * split.head_width, split.inner // t
    grouped = split.key_heads < split.heads
    queries, keys = f"{h} × {own}", f"{h} × {2 * split.head_width * max(1, split.key_heads // t)}"
    first = [device * heads + 1 for device in range(t)]
    each = [str(a) if heads == 1 else f"{a} to {a + heads - 1}" for a in first]
    return (
        Step("Q\nby columns" if grouped else "Q, K, V\nby columns", [queries if grouped else f"{h} × {3 * own}"] * t),
        *([Step("K, V\nby columns", [keys] * t)] if grouped else []),
        Step("heads", each),
        Step("output\nby rows", [f"{own} × {h}"] * t),
        Step("sum", (), exchanged),
        Step("FFN\nby columns", [f"{h} × {inner}" + "\ntwice" * split.gated] * t),
        Step(f"{split.activation},\nproduct" if split.gated else split.activation, [f"{inner} columns"] * t),
        Step("FFN\nby rows", [f"{inner} × {h}"] * t),
        Step("sum", (), exchanged),
    )


def _table(split: SplitLayer) -> Table:
    rows = (
        ("devices", split.degree),
        ("tokens", split.tokens),
        ("heads", split.heads),
        ("heads of keys and values", split.key_heads),
        ("parameters of the layer on one device", split.parameters),
        ("parameters of the layer", split.whole),
        ("bytes of one all-reduce", split.reduced_bytes),
        ("bytes that a device sends for it around a ring", split.sent_bytes),
        ("all-reduces in the forward pass", 2),
        ("largest difference of the attention output", split.attention_error),
        ("largest difference of the layer's output", split.layer_error),
        ("largest output of the layer", split.largest),
    )
    return Table(("what", "value"), rows)


PARALLEL = Section("parallel", tensor_parallel, (MODEL, TEXT, DEGREE, LAYER))


SCHEDULE = Choice(name="schedule", label="Schedule", options=SCHEDULES, default="gpipe", style="row")
STAGES = Integer(name="stages", label="Stages", default=4, low=1, high=16, width=130)
MICRO = Integer(name="micro", label="Micro-batches", default=8, low=1, high=64, width=150)
TIME = Integer(name="time", label="Time", default=10_000, low=0, high=10_000, style="slider")
BEAT = 0.6
"""Seconds of a time unit while the schedule plays."""


def pipeline(view: View) -> None:
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


PIPELINE = Section("pipeline", pipeline, (SCHEDULE, STAGES, MICRO, TIME))
