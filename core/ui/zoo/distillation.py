"""Distillation: a small student by the share of labels in its loss and by temperature, from measured runs."""

from __future__ import annotations

import streamlit as st

from core.efficiency.lengths import plain_machine
from core.figures.labels import in_bytes, percent, plus_minus, short
from core.figures.lines import Line, line_alt, line_chart
from core.figures.plot import DASHES
from core.finetuning.measured import ALPHAS, TEMPERATURES, Distillation, Network, distillation, networks
from core.table import Table
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View

ALPHA = Choice(
    name="alpha",
    label="α: share of the labels in the loss",
    options={f"{alpha:g}": f"{alpha:g}" for alpha in ALPHAS},
    default="0.25",
    style="row",
)
TEMPERATURE = Choice(
    name="temperature",
    label="Temperature T",
    options={str(t): str(t) for t in TEMPERATURES},
    default="2",
    style="row",
)
LABELS = 1.0
"""α of the labels alone."""


def draw(view: View) -> None:
    state, runs = view.state, distillation()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        alpha = float(ALPHA.draw(state))
        t = int(TEMPERATURE.draw(state))
    own, alone, teacher = runs.last(alpha, t), runs.last(LABELS, t), runs.other("teacher")
    gain, net = own.minus(alone), networks()
    view.say(
        "Result: labels alone" if alpha == LABELS else "Result: helps" if gain.positive else "Result: no help",
        own=plus_minus(own),
        alone=plus_minus(alone),
        teacher=plus_minus(teacher),
        majority=percent(runs.other("majority").mean),
        gain=f"{100 * gain.mean:+.1f}".replace("-", "−"),
        better=sum(value > 0 for value in gain.values),
        seeds=runs.seeds,
    )
    _curves(view, runs, alpha, t)
    view.note(
        "Sizes",
        student=_size(net["student"]),
        teacher=_size(net["teacher"]),
        tokens=net["teacher"].tokens,
        machine=plain_machine(net["teacher"].machine),
        threads=net["teacher"].threads,
        how=view.words.label("stored"),
    )
    view.try_and_notice()
    _grid(view, runs, t)
    view.how_it_works(seeds=runs.seeds)


def _size(network: Network) -> str:
    low, high = 1e3 * network.fastest, 1e3 * network.slowest
    held, stored = in_bytes(4 * network.parameters), in_bytes(2 * network.parameters)
    size = f"{short(network.parameters)} parameters ({held} in memory, {stored} stored in float16)"
    return f"{size}, {1e3 * network.seconds:.1f} ms ({low:.1f} to {high:.1f})"


def _curves(view: View, runs: Distillation, alpha: float, t: int) -> None:
    """Held-out accuracy by step: the chosen student, the labels alone, the teacher and the majority."""
    names, look = view.words.front["lines"], theme()
    shown = {names["student"]: runs.curve(alpha, t)} if alpha != LABELS else {}
    shown[names["alone"]] = runs.curve(LABELS, t)
    colors = {names["student"]: accent("efficient"), names["alone"]: look.ink}
    lines = [
        Line(
            name,
            list(curve),
            [spread.mean for spread in curve.values()],
            colors[name],
            DASHES[at],
            spread=[spread.deviation for spread in curve.values()],
        )
        for at, (name, curve) in enumerate(shown.items())
    ]
    ends = [min(lines[-1].positions), max(lines[-1].positions)]
    for name, dash in (("teacher", "longdash"), ("majority", "dot")):
        lines.append(Line(names[name], ends, [runs.other(name).mean] * 2, look.muted, dash))
    figure = line_chart(
        lines,
        view.words.label("accuracy"),
        across=view.words.label("step"),
        hover="%{x}: %{y:.1%}",
        yaxis={"range": [0, 1.04], "tickformat": ".0%"},
        height=330,
        theme=look,
    )
    table = Table(
        ("α", "temperature", "seed", "step", "training loss (nats)", "held-out accuracy"),
        tuple(
            (row.alpha, row.temperature, row.seed, row.step, row.loss, row.accuracy)
            for row in runs.rows
            if row.model == "student"
        ),
    )
    Panel(
        "distillation", view.words.label("picture"), figure, line_alt(lines, view.words.label("accuracy"), []), table
    ).draw(view.state)


def _grid(view: View, runs: Distillation, chosen: int) -> None:
    """The accuracy after training by α, a line for each temperature."""
    look = theme()
    settings = {t: {alpha: runs.last(alpha, t) for alpha in ALPHAS} for t in TEMPERATURES}
    lines = [
        Line(
            f"T = {t}",
            list(ALPHAS),
            [spread.mean for spread in row.values()],
            accent("efficient") if t == chosen else look.muted,
            DASHES[at],
            ranges=[spread.ends for spread in row.values()] if t == chosen else None,
        )
        for at, (t, row) in enumerate(settings.items())
    ]
    figure = line_chart(
        lines,
        view.words.label("accuracy"),
        across=view.words.label("alpha"),
        hover="α = %{x}: %{y:.1%}",
        yaxis={"tickformat": ".0%"},
        xaxis={"tickvals": list(ALPHAS)},
        height=300,
        theme=look,
    )
    table = Table(
        ("α", "temperature", "held-out accuracy", "standard deviation", "least", "largest", "seeds"),
        tuple(
            (alpha, t, spread.mean, spread.deviation, *spread.ends, len(spread.values))
            for t, row in settings.items()
            for alpha, spread in row.items()
        ),
    )
    Panel(
        "distillation-settings",
        view.words.label("settings"),
        figure,
        line_alt(lines, view.words.label("accuracy"), []),
        table,
        heading=True,
    ).draw(view.state)


DISTILLATION = Section("distillation", draw, (ALPHA, TEMPERATURE))
