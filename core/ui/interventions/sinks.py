"""Sinks and values: how much weight a key gets, how large its value is, and what the head adds of it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from core import session
from core.attention.tokens import short
from core.figures.interventions import token_bars
from core.figures.labels import percent
from core.figures.lines import Line, line_alt, line_chart
from core.interventions.sinks import Sinks
from core.interventions.sinks import sinks as read_sinks
from core.table import Table
from core.ui.heads.panel import LAYER
from core.ui.interventions.setup import INPUT, INPUT_SPAN, draw_input, draw_model, input_span
from core.ui.page import plain, theme
from core.ui.panel import Panel
from core.ui.section import Section, View


def sinks(view: View) -> None:
    state, spec = view.state, draw_model(view)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = draw_input(spec, state)
        row = st.container(width="content")
    text = input_span(spec, state, text, None)
    found = session.computed("running-the-model", read_sinks, spec.slug, text)
    layers, key = len(found.weights), _key(found)
    on_key = found.weights[:, :, key].mean(1)
    with row:
        layer = LAYER.with_(high=layers, default=int(on_key.argmax()) + 1).draw(state, tag=spec.slug) - 1
    left, right = st.columns([1.5, 1], gap="medium")
    with left:
        _keys(found, layer, view)
    with right:
        _layers(found, key, view)
    view.say(
        "Answer",
        layer=layer + 1,
        key=f"“{plain(short(found.tokens[key], 20))}”",
        weight=percent(float(on_key[layer])),
        uniform=percent(float(found.uniform[key])),
        added=percent(float(_share(found.added[layer])[key])),
        norm=f"{found.norms[layer, :, key].mean() / found.norms[layer].mean():.2f}",
    )
    view.try_and_notice(spec.family.side)


def _key(found: Sinks) -> int:
    """The key with the most weight above its share by even weights, over all layers."""
    return int((found.weights.mean((0, 1)) - found.uniform).argmax())


def _share(by_head: np.ndarray) -> np.ndarray:
    """(n,) of (H, n): each head's share of its keys, the mean over heads."""
    return (by_head / by_head.sum(-1, keepdims=True).clip(min=1e-12)).mean(0)  # type: ignore[no-any-return]


def _keys(found: Sinks, layer: int, view: View) -> None:
    """Draw weight, norm and product of each key."""
    of_layer = {"weight": found.weights, "norm of its value": found.norms, "weight × norm": found.added}
    shares = {name: _share(values[layer]).tolist() for name, values in of_layer.items()}
    Panel(
        "sinks",
        view.words.label("keys"),
        token_bars(found.tokens, list(shares.items()), view.words.label("share"), theme=theme()),
        view.words.part("Alt: keys", layer=layer + 1, tokens=len(found.tokens)),
        Table.from_columns({"key": list(found.tokens), **shares, "even weights": found.uniform.tolist()}),
        heading=True,
    ).draw(view.state)


def _layers(found: Sinks, key: int, view: View) -> None:
    """Draw the weight on the key by layer, beside what even weights would give it."""
    layers = range(len(found.weights))
    colors = theme().categorical
    lines = [
        Line(
            f"weight on “{short(found.tokens[key], 12)}”", layers, found.weights[:, :, key].mean(1).tolist(), colors[0]
        ),
        Line("what it adds", layers, [float(_share(added)[key]) for added in found.added], colors[2]),
        Line("even weights", layers, [float(found.uniform[key])] * len(layers), theme().muted, dash="dash"),
    ]
    names = [str(layer + 1) for layer in layers]
    Panel(
        "sink-layers",
        view.words.label("layers"),
        line_chart(
            lines, view.words.label("share"), names, theme=theme(), yaxis={"tickformat": ".0%", "rangemode": "tozero"}
        ),
        line_alt(lines, view.words.label("share"), names),
        Table.from_columns({"layer": names, **{line.name: list(line.values) for line in lines}}),
        heading=True,
    ).draw(view.state)


SINKS = Section("sinks", sinks, (INPUT, INPUT_SPAN, LAYER))
