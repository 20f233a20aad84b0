"""Megatron-LM's demo, tensor parallelism: a layer of a live model split as in Megatron-LM, and checked."""

from __future__ import annotations

import streamlit as st

from core import session
from core.efficiency.parallel import SplitLayer, split_layer, splits
from core.figures import parallel as figures
from core.figures.labels import in_bytes, in_words, scientific
from core.figures.parallel import LayerStep
from core.table import Table
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, Model, Text
from core.ui.picker import nothing_runs
from core.ui.section import Section, View

MODEL = Model(name="split", label="Model", first="parallel", fits=splits, width=300)
TEXT = Text(name="text", label="Text", default="Once upon a time there was a king who had three sons.", sentence="any")
DEGREE = Choice(name="degree", label="Devices", default="2", options={t: t for t in "123468"}, style="row")
LAYER = Integer(name="split-layer", label="Layer", default=1, low=1, high=200, width=130)


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


def _steps(split: SplitLayer) -> tuple[LayerStep, ...]:
    t, h = split.degree, split.width
    heads, exchanged = split.heads // t, f"all-reduce, {in_bytes(split.reduced_bytes)}"
    width, inner = heads * split.head_width, split.inner // t
    grouped = split.key_heads < split.heads
    queries, keys = f"{h} × {width}", f"{h} × {2 * split.head_width * max(1, split.key_heads // t)}"
    first = [device * heads + 1 for device in range(t)]
    each = [str(a) if heads == 1 else f"{a} to {a + heads - 1}" for a in first]
    return (
        LayerStep(
            "Q\nby columns" if grouped else "Q, K, V\nby columns", [queries if grouped else f"{h} × {3 * width}"] * t
        ),
        *([LayerStep("K, V\nby columns", [keys] * t)] if grouped else []),
        LayerStep("heads", each),
        LayerStep("output\nby rows", [f"{width} × {h}"] * t),
        LayerStep("sum", (), exchanged),
        LayerStep("FFN\nby columns", [f"{h} × {inner}" + "\ntwice" * split.gated] * t),
        LayerStep(f"{split.activation},\nproduct" if split.gated else split.activation, [f"{inner} columns"] * t),
        LayerStep("FFN\nby rows", [f"{inner} × {h}"] * t),
        LayerStep("sum", (), exchanged),
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


TENSOR_PARALLEL = Section("tensor-parallel", tensor_parallel, (MODEL, TEXT, DEGREE, LAYER), folder="demos")
