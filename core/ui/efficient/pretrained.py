"""Encoders pretrained here with masked language modeling and with replaced-token detection, by tokens or operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean

import streamlit as st

from core.costs.trained import OBJECTIVES, PRETRAINED, Pretrained, read
from core.figures.labels import in_operations, percent, plus_minus, short, whole
from core.figures.lines import Line, line_chart
from core.figures.plot import DASHES, title
from core.finetuning.measured import Spread
from core.table import Table
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import View

AGAINST = Choice(
    name="against",
    label="Pretraining counted in",
    options={"tokens": "Tokens", "operations": "Operations"},
    style="row",
)
MEASURE = Choice(
    name="tagging",
    label="Words tagged by",
    options={"accuracy": "A head on the frozen encoder", "tuned": "Head and encoder, fine-tuned"},
    style="row",
)
_ACROSS = {"tokens": "tokens", "operations": "operations-read"}


def draw_pretrained(view: View) -> None:
    """Draw the accuracy of heads on the encoders by what pretraining took."""
    rows = read(Pretrained, "pretraining")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        against, measure = AGAINST.draw(view.state), MEASURE.draw(view.state)
    masked, replaced = (_spread(rows, name, PRETRAINED[-1], measure) for name in OBJECTIVES[:2])
    gain, start = replaced.minus(masked), _spread(rows, "", 0, measure)
    last = {name: _at(rows, name, PRETRAINED[-1])[0] for name in OBJECTIVES[:2]}
    view.say(
        "Trained: better" if gain.positive else "Trained: worse" if _negative(gain) else "Trained: equal",
        gain=f"{100 * abs(gain.mean):.1f}",
        tokens=short(PRETRAINED[-1]),
        numbers=view.words.part(
            "Trained",
            masked=plus_minus(masked),
            replaced=plus_minus(replaced),
            start=plus_minus(start),
            learned=percent(last["replaced"].learned),
            runs=len(masked.values),
        ),
    )
    _picture(view, rows, against, measure)
    few = max(row.tokens for row in rows if row.objective == OBJECTIVES[2])
    some, every = (plus_minus(_spread(rows, name, few, measure)) for name in OBJECTIVES[:0:-1])
    view.note("Positions", tokens=short(few), some=some, every=every)
    view.how_it_works(
        "Pretraining",
        predicted=percent(last["masked"].learned),
        work=percent(last["replaced"].operations / last["masked"].operations - 1),
        seeds=len({row.seed for row in rows}),
        runs=len({row.trial for row in rows}),
    )


def _at(rows: Sequence[Pretrained], objective: str, tokens: int) -> list[Pretrained]:
    return [row for row in rows if (row.objective, row.tokens) == (objective, tokens)]


def _spread(rows: Sequence[Pretrained], objective: str, tokens: int, measure: str) -> Spread:
    return Spread(tuple(getattr(row, measure) for row in _at(rows, objective, tokens)))


def _negative(gain: Spread) -> bool:
    return Spread(tuple(-value for value in gain.values)).positive


def _picture(view: View, rows: Sequence[Pretrained], against: str, measure: str) -> None:
    """Held-out accuracy by tokens or operations, a line for each objective, and that of random weights."""
    look, names, start = theme(), view.words.front["objectives"], _spread(rows, "", 0, measure)
    lines = []
    for at, name in enumerate(OBJECTIVES):
        own = {n: found for n in PRETRAINED if (found := _at(rows, name, n))}
        if not own:
            continue
        spreads = [_spread(rows, name, n, measure) for n in own]
        amounts = [found[0].operations if against == "operations" else n for n, found in own.items()]
        ranges = [spread.ends for spread in spreads]
        color = look.categorical[at]
        lines.append(Line(names[name], amounts, [s.mean for s in spreads], color, DASHES[at], ranges=ranges))
    every = [amount for line in lines for amount in line.positions]
    ends = [min(every), max(every)]
    lines.append(Line(names["random"], ends, [start.mean] * 2, look.muted, "dot"))
    written = in_operations if against == "operations" else lambda amount: whole(short(round(amount)))
    ticks = [amount for amount in lines[0].positions if amount]
    figure = line_chart(
        lines,
        view.words.label("tagged"),
        across=view.words.label(_ACROSS[against]),
        hover="%{x:.3s}: %{y:.1%}",
        xaxis={"type": "log", "tickvals": ticks, "ticktext": [written(tick) for tick in ticks]},
        yaxis={"tickformat": ".0%", **title(view.words.label("tagged"), 12)},
        height=340,
        theme=look,
    )
    values = "; ".join(f"{line.name} {percent(fmean(line.values[-1:]))}" for line in lines)  # type: ignore[arg-type]
    Panel(
        "pretraining",
        view.words.label("pretraining"),
        figure,
        view.words.part("Alt: pretraining", across=view.words.label(_ACROSS[against]), values=values),
        Table.from_records([asdict(row) | {"objective": row.objective or names["random"]} for row in rows]),
        heading=True,
    ).draw(view.state)
