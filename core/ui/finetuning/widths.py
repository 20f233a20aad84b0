"""Adapters by their bottleneck and LoRA by its rank: held-out accuracy against what is trained, from measured runs."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

import streamlit as st

from core.figures.labels import in_bytes, percent, plus_minus, short
from core.figures.labels import whole as round_number
from core.figures.lines import Line, line_alt, line_chart
from core.figures.plot import DASHES
from core.finetuning.measured import BOTTLENECKS, RANKS, Spread, Width, widths
from core.table import Table
from core.ui.links import page_link
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View

BYTES = 4
"""Of a trained number, in single precision."""
KIND = Choice(name="kind", label="Trained", options={"adapters": "Adapters", "lora": "LoRA"}, style="row")
BOTTLENECK = Choice(
    name="bottleneck", label="Bottleneck", options={str(n): str(n) for n in BOTTLENECKS}, default="16", style="row"
)
RANK = Choice(name="rank", label="Rank", options={str(n): str(n) for n in RANKS}, default="8", style="row")
Runs = Mapping[tuple[str, int], tuple[Width, ...]]


def draw(view: View) -> None:
    """Draw the section."""
    state, runs = view.state, widths()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = KIND.draw(state)
        size = int((BOTTLENECK if kind == "adapters" else RANK).draw(state))
    spread = {key: Spread(tuple(row.accuracy for row in rows)) for key, rows in runs.items()}
    trained = {key: rows[0].parameters for key, rows in runs.items()}
    own, whole = trained[kind, size], trained["all", 0]
    view.say(
        "Result",
        share=percent(own / whole),
        trained=short(own),
        bytes=in_bytes(BYTES * own),
        own=plus_minus(spread[kind, size]),
        head=plus_minus(spread["head", 0]),
        all=plus_minus(spread["all", 0]),
        whole=in_bytes(BYTES * whole),
    )
    _picture(view, runs, (kind, size))
    view.note("Measured", seeds=len(runs["all", 0]))
    view.try_and_notice()
    page_link(
        "fine-tuning",
        view.words.label("run"),
        {"tab": "learn", "trained": kind, "size": str(size)},
        icon=":material/play_circle:",
    )
    rates = {trained: rows[0].rate for (trained, _), rows in runs.items()}
    view.how_it_works(**{name: f"{rate:g}" for name, rate in rates.items()})


def _picture(view: View, runs: Runs, chosen: tuple[str, int]) -> None:
    """Accuracy by trained bytes, a line for each way and points for the two ends."""
    names, look = view.words.front["lines"], theme()
    colors = {"adapters": accent("efficient"), "lora": look.categorical[0], "head": look.muted, "all": look.ink}
    lines = []
    for at, kind in enumerate(("adapters", "lora", "head", "all")):
        own = {size: rows for (trained, size), rows in sorted(runs.items()) if trained == kind}
        lines.append(
            Line(
                names[kind],
                [BYTES * rows[0].parameters for rows in own.values()],
                [fmean(row.accuracy for row in rows) for rows in own.values()],
                colors[kind],
                DASHES[at],
                ranges=[Spread(tuple(row.accuracy for row in rows)).ends for rows in own.values()],
                words=[f"{names[kind]} {size or ''}".strip() for size in own],
            )
        )
    ticks = [10.0**power for power in range(3, 8)]
    figure = line_chart(
        lines,
        view.words.label("accuracy"),
        across=view.words.label("bytes"),
        hover="%{customdata}: %{x:,} bytes, %{y:.1%}",
        xaxis={"type": "log", "tickvals": ticks, "ticktext": [round_number(in_bytes(tick)) for tick in ticks]},
        yaxis={"tickformat": ".0%"},
        at=BYTES * runs[chosen][0].parameters,
        height=340,
        theme=look,
    )
    table = Table(
        ("trained", "bottleneck or rank", "trained parameters", "bytes", "held-out accuracy", "seed", "learning rate"),
        tuple(
            (names[row.trained], row.size, row.parameters, BYTES * row.parameters, row.accuracy, row.seed, row.rate)
            for rows in runs.values()
            for row in rows
        ),
    )
    Panel("widths", view.words.label("picture"), figure, line_alt(lines, view.words.label("accuracy"), []), table).draw(
        view.state
    )


WIDTHS = Section("widths", draw, (KIND, BOTTLENECK, RANK))
