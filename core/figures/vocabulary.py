"""Vocabularies as pictures: how a text shrinks as one grows, how one fits each language, its share of a model.

Each picture comes with one sentence for screen readers; a table stands beside it on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.numbers import in_words, percent

_INK = {False: "#1A1F24", True: "#E8ECF0"}
_GROUND = {False: "#FFFFFF", True: "#12161B"}
LINES = {False: ("#0072B2", "#D55E00"), True: ("#56B4E9", "#E8843C")}
_MARKS = ("circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down", "cross", "pentagon", "hexagon")
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#767676", "#56B4E9", "#E69F00")


@dataclass(frozen=True, slots=True)
class Dots:
    """One tokeniser's numbers over the rows; ``hollow`` where a part of the text was unknown."""

    name: str
    values: tuple[float, ...]
    hollow: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One model's share: ``reads`` and ``writes`` are parts of ``total``, in parameters."""

    name: str
    reads: int
    writes: int
    total: int


def growth(
    text: Sequence[tuple[int, float]], test: Sequence[tuple[int, float]], size: int, *, dark: bool = False
) -> go.Figure:
    """Tokens for a hundred characters (second) at each size of the vocabulary (first), of two texts."""
    ink = _INK[dark]
    figure = go.Figure()
    for points, name, colour, dash in (
        (text, "the text it learns from", LINES[dark][0], "solid"),
        (test, "the test sentence", LINES[dark][1], "7px,3px"),
    ):
        figure.add_scatter(
            x=[x for x, _ in points],
            y=[y for _, y in points],
            name=name,
            cliponaxis=False,
            mode="lines" if len(points) > 60 else "lines+markers",
            line={"color": colour, "width": 2.5, "dash": dash},
            marker={"size": 7, "color": colour},
            hovertemplate="%{x} pieces: %{y:.1f} tokens for 100 characters<extra>" + name + "</extra>",
        )
    figure.add_vline(x=size, line={"color": ink, "width": 1.5, "dash": "dot"})
    top = max((y for _, y in (*text, *test)), default=1.0)
    lay_out(figure, **_layout(dark, 330), legend={"orientation": "h", "y": -0.3, "yanchor": "top", "x": 0})
    figure.update_xaxes(
        title={"text": "pieces in the vocabulary", "font": {"color": ink}},
        fixedrange=True,
        zeroline=False,
        gridcolor="rgba(128,128,128,0.18)",
        tickfont={"color": ink},
    )
    figure.update_yaxes(
        title={"text": "tokens for 100 characters", "font": {"color": ink}},
        range=[0, 1.05 * top],
        fixedrange=True,
        gridcolor="rgba(128,128,128,0.25)",
        zeroline=False,
        tickfont={"color": ink},
    )
    return figure


def dots(rows: Sequence[str], series: Sequence[Dots], measure: str, *, dark: bool = False) -> go.Figure:
    """One row a language, one mark a tokeniser; a hollow mark says that a part of the text was unknown to it."""
    ink = _INK[dark]
    figure = go.Figure()
    # What is unknown makes a text look short: such numbers do not set the scale, and may stand at its end.
    sure = [value for one in series for value, hollow in zip(one.values, one.hollow, strict=True) if not hollow]
    top = 1.1 * max(sure or [value for one in series for value in one.values] or [1.0])
    for i, one in enumerate(series):
        mark, colour = _MARKS[i % len(_MARKS)], _COLOURS[i % len(_COLOURS)]
        figure.add_scatter(
            x=[min(value, top) for value in one.values],
            y=list(range(len(rows))),
            mode="markers",
            cliponaxis=False,
            name=label(one.name),
            marker={
                "size": 12,
                "color": colour,
                "line": {"color": colour, "width": 2},
                "symbol": [f"{mark}-open" if hollow else mark for hollow in one.hollow],
            },
            customdata=[
                f"{label(row)}: {value:.2f}" + (", part of it unknown" if hollow else "")
                for row, value, hollow in zip(rows, one.values, one.hollow, strict=True)
            ],
            hovertemplate="%{customdata}<extra>" + label(one.name) + "</extra>",
        )
    legend_rows = (len(series) + 1) // 2
    lay_out(
        figure,
        **_layout(dark, 90 + 30 * len(rows) + 20 * legend_rows),
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
    )
    figure.update_xaxes(
        title={"text": label(measure), "font": {"color": ink}},
        range=[0, 1.03 * top],
        fixedrange=True,
        zeroline=False,
        gridcolor="rgba(128,128,128,0.25)",
        tickfont={"color": ink},
    )
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(rows))),
        ticktext=[label(row) for row in rows],
        range=[len(rows) - 0.4, -0.6],
        fixedrange=True,
        automargin=True,
        zeroline=False,
        gridcolor="rgba(128,128,128,0.25)",
        tickfont={"color": ink},
        ticks="",
    )
    return figure


def shares(bars: Sequence[Bar], *, dark: bool = False) -> go.Figure:
    """A bar a model: the vectors that read words, and the matrix that scores them where it is another."""
    ink = _INK[dark]
    figure = go.Figure()
    rows = list(range(len(bars)))
    for name, parts, colour, shape in (
        ("reads the words", [bar.reads for bar in bars], LINES[dark][0], ""),
        ("scores them, a matrix of its own", [bar.writes for bar in bars], LINES[dark][1], "/"),
    ):
        figure.add_bar(
            x=[100 * part / bar.total for part, bar in zip(parts, bars, strict=True)],
            y=rows,
            orientation="h",
            name=name,
            width=0.72,
            marker={"color": colour, "pattern": {"shape": shape, "solidity": 0.3}},
            customdata=[
                f"{label(bar.name)}: {percent(part / bar.total)}, {in_words(part)} of {in_words(bar.total)}"
                for part, bar in zip(parts, bars, strict=True)
            ],
            hovertemplate="%{customdata}<extra>" + name + "</extra>",
        )
    ends = [100 * (bar.reads + bar.writes) / bar.total for bar in bars]
    figure.add_scatter(
        x=ends,
        y=rows,
        mode="text",
        text=[f" {label(percent(end / 100))}" for end in ends],
        hoverinfo="skip",
        textposition="middle right",
        textfont={"color": ink, "size": 12},
        showlegend=False,
        cliponaxis=False,
    )
    top = max(ends, default=1.0)
    lay_out(
        figure,
        **_layout(dark, 90 + 24 * len(bars)),
        barmode="stack",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "xanchor": "left", "traceorder": "normal"},
    )
    figure.update_xaxes(
        title={"text": "share of all parameters, %", "font": {"color": ink}},
        range=[0, 1.14 * top],
        fixedrange=True,
        gridcolor="rgba(128,128,128,0.25)",
        tickfont={"color": ink},
    )
    figure.update_yaxes(
        tickmode="array",
        tickvals=rows,
        ticktext=[label(bar.name) for bar in bars],
        range=[len(bars) - 0.4, -0.6],
        fixedrange=True,
        automargin=True,
        ticks="",
        showgrid=False,
        tickfont={"color": ink, "size": 13},
    )
    return figure


def _layout(dark: bool, height: int) -> dict[str, object]:
    ink = _INK[dark]
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "dragmode": False,
        "font": {"color": ink},
        "plot_bgcolor": "rgba(0,0,0,0)",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": _GROUND[dark], "font": {"color": ink}},
    }
