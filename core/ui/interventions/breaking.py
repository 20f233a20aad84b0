"""Break it: a prediction before and after one part of a live model is broken, and the loss with each part broken."""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.interventions import loss_bars
from core.figures.labels import percent
from core.figures.predictions import compared_bars
from core.interventions.breaking import PADS, Breaking, PartLosses, break_part, offered, part_losses
from core.table import Table
from core.ui.heads.text import TASK, draw_task
from core.ui.interventions.setup import INPUT, INPUT_SPAN, draw_model, input_of, input_span, question_of
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer, settings_menu
from core.ui.section import Section, View
from core.ui.selection import clicks

OUTPUT = Integer(name="output", label="Token of the output", default=2, low=1, high=24, width=150)
SWITCH = Choice(name="switch", label="Broken part", options={}, width=200)


def breaking(view: View) -> None:
    state, spec = view.state, draw_model(view)
    with st.spinner(session.waiting("loading-the-model")):
        lacks = offered(session.checkpoint(spec.slug))
    names: dict[str, str] = {slug: name for slug, name in view.words.front["names"].items() if not lacks[slug]}
    switches = SWITCH.with_(options=names)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        switch = switches.draw(state, tag=spec.slug)
        task = draw_task(spec, state)
        text = _input(spec, view)
        token = settings_menu(state, OUTPUT, tag=spec.slug)["output"] if spec.offers("rewrites") else 1
    text = input_span(spec, state, text, task)
    question = view.words.part("Token", number=token) if spec.offers("rewrites") else question_of(spec, task)
    result = session.computed("running-the-model", break_part, spec.slug, text, switch, task=task, step=token - 1, k=2)
    left, right = st.columns([1, 1.1], gap="large")
    with left:
        _answers(result, spec, view, question, names[switch])
        view.say(f"Purpose: {switch}", **({"pads": PADS} if switch == "padding" else {}))
    with right:
        losses = session.computed("breaking-each-part", part_losses, spec.slug)
        if losses is None:
            view.say("No text")
        else:
            _losses(
                losses, switch, names, spec, view, lambda slug: switches.put(state.key(switches.slot(spec.slug)), slug)
            )
    view.try_and_notice(spec.family.side)
    view.how_it_works("How it works", "Confused")
    if missing := [(slug, reason) for slug, reason in lacks.items() if reason]:
        with st.expander(view.words.label("missing")):
            for slug, reason in missing:
                view.say("Missing", name=view.words.front["names"][slug], why=view.words.part(f"Lacks: {reason}"))


def _input(spec: CheckpointSpec, view: View) -> str:
    """The text box, which opens with a text whose answer depends on its words and on their order."""
    text = view.words.front["texts"].get(spec.kind)
    box = input_of(spec, view.words.label("masked") if spec.family.sentence == "any" else "Text")
    return (box.with_(default=text) if text else box).draw(view.state, tag=f"break.{spec.kind}")  # a default of its own


def _answers(result: Breaking, spec: CheckpointSpec, view: View, question: str, name: str) -> None:
    """Draw the predictions of the intact and of the broken model."""
    st.subheader(plain(question), anchor=False)
    answers = [change.token for change in result.changes]
    pairs = [(change.before, change.after) for change in result.changes]
    Panel(
        "broken",
        view.words.label("answers"),
        compared_bars(
            ("intact", name),
            list(zip(answers, pairs, strict=True)),
            [accent(spec.branch), theme().muted],
            theme=theme(),
        ),
        view.words.part("Alt: answers", name=name)
        + "".join(
            f" {answer} {percent(before)} → {percent(after)},"
            for answer, (before, after) in zip(answers, pairs, strict=True)
        ),
        Table.from_columns({"answer": answers, "intact": [a for a, _ in pairs], name: [b for _, b in pairs]}),
    ).draw(view.state)
    if math.isinf(result.bits):
        view.say("Overflow")
    else:
        view.say("Change", bits=f"{result.bits:.2f}")
    if result.control is not None:
        view.say("Control", bits=f"{result.control:.2f}")


def _losses(
    losses: PartLosses, switch: str, names: dict[str, str], spec: CheckpointSpec, view: View, put: Callable[[str], None]
) -> None:
    """Draw the loss with each part broken; a click selects a part."""
    order = list(losses.broken)
    bits = list(losses.broken.values())
    measure = view.words.label("measure")
    panel = Panel(
        f"{spec.slug}-parts",
        view.words.label("losses"),
        loss_bars(
            [names[slug] for slug in order],
            bits,
            order.index(switch),
            (("intact", losses.intact), ("uniform guess", losses.uniform)),
            accent(spec.branch),
            measure=measure,
            theme=theme(),
        ),
        view.words.part(
            "Alt: losses",
            intact=f"{losses.intact:.2f}",
            uniform=f"{losses.uniform:.2f}",
            name=names[switch],
            bits=f"{losses.broken[switch]:.2f}",
        ),
        Table.from_columns({"broken": ["", *(names[slug] for slug in order)], measure: [losses.intact, *bits]}),
        heading=True,
        note=view.words.part("Loss", tokens=losses.tokens),
    )
    panel.draw(view.state, **clicks(panel.key(view.state), len(order), lambda at: put(order[at])))


BREAKING = Section("break", breaking, (INPUT, INPUT_SPAN, TASK, OUTPUT, SWITCH))
