"""Probes: what a linear probe reads off each layer's word vectors, beside a control task, and its classes of a text."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.labels import percent
from core.figures.lines import Line, line_alt
from core.figures.predictions import layer_names
from core.figures.probes import class_map, probe_lines
from core.studies import Spread
from core.table import Table
from core.ui.interventions.setup import draw_model
from core.ui.links import page_link
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Text
from core.ui.section import Section, View
from core.vectors.probing import TAGGED, ProbeScores, scores, tag

TASK = Choice(
    name="probe",
    label="Probe",
    options={"speech": "Part of speech", "distance": "Distance to the head", "identity": "Word identity"},
    style="row",
    hide_label=True,
)
SENTENCE = Text(
    name="tagged",
    label="Sentence for the probe of each layer",
    default="They watch a play and play with a watch.",
    most=200,
    sentence="plain",
)


def probes(view: View) -> None:
    state, spec = view.state, draw_model(view)
    with view.controls():
        task = TASK.draw(state)
    measured = scores(spec.slug)
    if not measured:
        view.say("No probes")
        return
    left, right = st.columns([1, 1.1], gap="medium")
    with left:
        _curves(measured[task], task, spec, view)
    with right:
        if task in TAGGED:
            _classes(task, spec, view)
        else:
            view.say("Classes: identity")
    view.try_and_notice(task)
    page_link("interventions", view.words.label("patch"), {"tab": "patch"}, icon=":material/swap_horiz:")


def _curves(probe: ProbeScores, task: str, spec: CheckpointSpec, view: View) -> None:
    """Draw accuracy, control and selectivity by layer."""
    named: dict[str, tuple[Spread, ...]] = {TASK.options[task]: probe.accuracy}
    if probe.control:
        named |= {view.words.label("control"): probe.control, view.words.label("selectivity"): probe.selectivity}
    colors, dashes = (accent(spec.branch), theme().muted, theme().ink), ("solid", "dash", "dot")
    layers = range(len(probe.accuracy))
    lines = [
        Line(name, layers, [spread.mean for spread in by_layer], color, dash, [spread.deviation for spread in by_layer])
        for (name, by_layer), color, dash in zip(named.items(), colors, dashes, strict=False)
    ]
    names = layer_names(len(layers))
    best = max(layers, key=lambda layer: probe.accuracy[layer].mean)
    numbers = {
        "n": f"{probe.words:,}",
        "layer": names[best],
        "best": percent(probe.accuracy[best].mean),
        "unseen": f"{probe.unseen:,}",
        "unseen_right": percent(probe.unseen_accuracy[best]) if probe.unseen else "",
        "lookup": percent(probe.lookup),
        "majority": percent(probe.majority),
    }
    more = {"control": percent(probe.control[best].mean)} if probe.control else {}
    columns = {name: [round(spread.mean, 4) for spread in by_layer] for name, by_layer in named.items()}
    Panel(
        f"{spec.slug}-probe-{task}",
        view.words.label("curves"),
        probe_lines(lines, names, {"lookup": probe.lookup, "majority": probe.majority}, theme=theme()),
        line_alt(lines, view.words.label("accuracy"), names),
        Table.from_columns({"layer": names, **columns}),
        heading=True,
        note=view.words.part(f"Result: {task}", **numbers, **more),
    ).draw(view.state)


def _classes(task: str, spec: CheckpointSpec, view: View) -> None:
    """Draw each word's class after each layer; those that differ from the layer before are framed."""
    text = SENTENCE.draw(view.state)
    with st.spinner(session.waiting("reading")):
        reading = session.reading(spec.slug, text)
    tagging = tag(reading, spec.slug, task)
    count = len(tagging.classes)
    names = layer_names(count)
    rows: dict[str, Any] = {
        "word": [word for word in tagging.words for _ in names],
        "after": names * len(tagging.words),
        "class": [classes[word] for word in range(len(tagging.words)) for classes in tagging.classes],
        "probability": tagging.probabilities.T.round(4).ravel().tolist(),
    }
    changes = sum(
        a != b
        for before, after in zip(tagging.classes, tagging.classes[1:], strict=False)
        for a, b in zip(before, after, strict=True)
    )
    last = " ".join(f"{word} {name}," for word, name in zip(tagging.words, tagging.classes[-1], strict=True))
    Panel(
        f"{spec.slug}-classes-{task}",
        view.words.label("classes"),
        class_map(tagging.words, tagging.classes, tagging.probabilities, names, theme=theme()),
        view.words.part("Alt: classes", words=len(tagging.words), layers=count, changes=changes) + f" {last}",
        Table.from_columns(rows),
        note=view.words.part(f"Classes: {task}"),
        width=90 + 48 * count,
    ).draw(view.state)


PROBES = Section("probes", probes, (TASK, SENTENCE))
