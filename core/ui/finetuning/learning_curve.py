"""Held-out accuracy by number of examples, stored or measured on a click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import engine, session
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.figures.lines import Line
from core.finetuning import curve, spans, tags
from core.finetuning.examples import READY, TEN, LabeledSet
from core.finetuning.setup import BATCH, RATE, usual_rate
from core.table import Table
from core.ui.demos.steps import going
from core.ui.finetuning.run import MODEL, TEXTS, accuracy_chart, labeled_texts, set_and_model
from core.ui.glossary import terms
from core.ui.page import accent, theme
from core.ui.section import Section, View


def learning_curve(view: View) -> None:
    """Draw the section: accuracy by number of examples, stored or measured on a click."""
    words = view.words
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind, spec = set_and_model(view, TEN, tags.NAME, spans.NAME)
        button = st.empty()
    data = labeled_texts(view, kind)
    status, picture = st.empty(), st.empty()
    points: Sequence[curve.Point] = curve.stored().get((spec.slug, kind), ())
    recorded = bool(points)
    if not points:
        points = _measured_curve(view, spec, data, kind in READY, status, picture, button)
    if points:
        with status:
            view.note("Recorded" if recorded else "Measured", seeds=1 + max(point.seed for point in points))
        _curves(view, spec, data, points, picture)
    else:
        status.markdown(words.part("Not measured"))
    view.try_and_notice()
    rates = {"rate": f"{usual_rate('all'):g}", "random": f"{RATE:g}"}
    view.how_it_works(steps=curve.STEPS, batch=BATCH, seeds=curve.SEEDS, own_seeds=curve.OWN_SEEDS, **rates)


def _measured_curve(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    shared: bool,
    status: DeltaGenerator,
    picture: DeltaGenerator,
    button: DeltaGenerator,
) -> Sequence[curve.Point]:
    """The points that are measured on a click, drawn as they come; those that were measured before a stop."""
    state, key = view.state, ("learning curve", spec.slug, session.files(spec.slug), data)
    own: dict[Any, Sequence[curve.Point]] = st.session_state.setdefault(state.key("curve.points"), {})
    found = (session.results.get(key) if shared else None) or own.get(key, ())
    total = 2 * curve.OWN_SEEDS * len(curve.sizes(data))
    if len(found) < total and not session.may_measure():
        button.caption(terms(content("frame", "links").part("Measuring is off")))
        return found
    if len(found) == total or not going(state, "curve", key, button, view.words.label("measure"), waits=True):
        return found

    def grow() -> Sequence[curve.Point]:
        growing: list[curve.Point] = []
        own.clear()
        own[key] = growing
        for point in engine.stream(curve.measure, spec.slug, data, curve.OWN_SEEDS):
            growing.append(point)
            status.progress(len(growing) / total, text=view.words.part("Progress", done=len(growing), total=total))
            if not point.pretrained:
                _curves(view, spec, data, growing, picture, growing=True)
        return tuple(growing)

    found = session.results.get_or_compute(key, grow) if shared else grow()
    button.empty()
    return found


def _curves(
    view: View,
    spec: CheckpointSpec,
    data: LabeledSet,
    points: Sequence[curve.Point],
    picture: DeltaGenerator,
    *,
    growing: bool = False,
) -> None:
    """Mean held-out accuracy by number of examples with a band of one standard deviation."""
    words, look = view.words, theme()
    names_of = words.front["weights"]
    curves = {
        name: curve.summarize(points, pretrained=pretrained)
        for name, pretrained in ((names_of["pretrained"], True), (names_of["random"], False))
    }
    lines = [
        Line(
            name,
            [one.examples for one in found],
            [one.mean for one in found],
            color,
            dash,
            spread=[one.deviation for one in found],
        )
        for (name, found), color, dash in zip(
            curves.items(), (accent(spec.branch), look.muted), ("solid", "dot"), strict=True
        )
    ]
    sizes = curve.sizes(data)
    lines.append(Line(names_of["majority"], [sizes[0], sizes[-1]], [data.majority] * 2, look.muted, "longdash"))
    rows = tuple(
        (name, one.examples, one.mean, one.deviation, one.seeds) for name, found in curves.items() for one in found
    )
    table = Table(("weights", "training examples", "mean held-out accuracy", "standard deviation", "seeds"), rows)
    across, count, ticks = words.label("examples"), len(points) if growing else 0, {"tickvals": list(sizes)}
    accuracy_chart(view, words, picture, "learning-curve", lines, across, table, growing=count, xaxis=ticks)


CURVE = Section("curve", learning_curve, (*TEXTS, MODEL))
