"""Pictures of costs: bytes on a device as stacked bars, and what a cache grows to with the length of a text.

A part has its colour and its hatching in every picture; a memory is a line that bars stay below or cross.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from core.figures.labels import label
from core.figures.lay_out import lay_out, upright
from core.figures.numbers import in_bytes

if TYPE_CHECKING:
    import plotly.graph_objects as go

PARTS: dict[str, tuple[str, str, str]] = {
    "weights": ("#3F5E9A", "#FFFFFF", ""),
    "gradients": ("#8C96A1", "#14181D", "/"),
    "optimiser": ("#C9B458", "#14181D", ""),
    "activations": ("#A05C7B", "#FFFFFF", "."),
    "key-value cache": ("#4F7F6E", "#FFFFFF", "\\"),
    "in all": ("#8C96A1", "#14181D", ""),
}
"""Colour, ink on it and hatching of each part."""
_LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C96A1", "#4F7F6E")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_WRAP = 19
"""Characters of a label's line."""
_MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down", "pentagon")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label and its parts in bytes."""

    label: str
    parts: tuple[tuple[str, float], ...]
    chosen: bool = False

    @property
    def total(self) -> float:
        """The whole bar."""
        return sum(amount for _, amount in self.parts)


def held_bars(
    bars: Sequence[Bar], limit: float | None = None, *, limit_name: str = "", dark: bool = False
) -> go.Figure:
    """Stacked bars of bytes; a dashed line at ``limit`` bytes where there is one. The chosen bar's label is bold."""
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    # long labels wrap, so that bars keep their room on a telephone
    wrapped = ["<br>".join(map(label, wrap(bar.label, _WRAP))) for bar in bars]
    labels = [f"<b>{text}</b>" if bar.chosen else text for text, bar in zip(wrapped, bars, strict=True)]
    tallest = max((text.count("<br>") for text in wrapped), default=0)
    figure = go.Figure()
    for part, (colour, text, hatch) in PARTS.items():
        amounts = [dict(bar.parts).get(part, 0.0) for bar in bars]
        if not any(amounts):
            continue
        figure.add_bar(
            name=part,
            orientation="h",
            y=labels,
            x=[amount / 1e9 for amount in amounts],
            marker={
                "color": colour,
                "pattern": {"shape": hatch, "fillmode": "overlay", "fgcolor": text, "fgopacity": 0.35, "size": 6},
                "line": {"width": 0.5, "color": "rgba(128,128,128,0.6)"},
            },
            customdata=[in_bytes(amount) for amount in amounts],
            hovertemplate="%{y}<br>" + part + ": %{customdata}<extra></extra>",
        )
    longest = max([bar.total for bar in bars] + ([limit] if limit else []), default=1.0) / 1e9
    figure.add_scatter(
        x=[bar.total / 1e9 for bar in bars],
        y=labels,
        mode="text",
        text=[f" {in_bytes(bar.total)}" for bar in bars],
        textposition="middle right",
        textfont={"color": ink},
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )
    if limit:
        figure.add_annotation(
            x=limit / 1e9,
            y=1,
            yref="paper",
            yanchor="bottom",
            text=label(limit_name),
            showarrow=False,
            font={"color": ink, "size": 12},
            xanchor="right" if limit / 1e9 > 0.6 * longest else "left",
        )
    # the legend begins a fixed number of pixels below the plot, whatever the plot's height, with two entries a row
    rows = math.ceil(sum(bool(trace.name) for trace in figure.data) / 2)
    above, plot, below = 30 if limit else 10, 54 + (42 + 20 * max(0, tallest - 1)) * max(2, len(bars)), 56 + 22 * rows
    lay_out(
        figure,
        shapes=[upright(limit / 1e9, line={"color": ink, "width": 2, "dash": "dash"})] if limit else [],
        xaxis={
            "title": {"text": "GB on one device", "font": {"color": ink}},
            "tickfont": {"color": ink},
            "range": [0, 1.28 * longest],
            "fixedrange": True,
            "gridcolor": "rgba(128,128,128,0.25)",
            "zeroline": False,
        },
        yaxis={
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "ticklabelstandoff": 6,
            "tickfont": {"color": ink},
        },
        barmode="stack",
        bargap=0.35,
        height=above + plot + below,
        margin={"l": 8, "r": 16, "t": above, "b": below},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        font={"color": ink},
        dragmode=False,
        legend={
            "orientation": "h",
            "yanchor": "top",
            "y": -52 / plot,
            "x": 0,
            "traceorder": "normal",
            "font": {"color": ink},
        },
    )
    return figure


def held_alt(bars: Sequence[Bar], limit: float | None = None) -> str:
    """The bars in words, for screen readers."""
    said = "; ".join(f"{bar.label}: {in_bytes(bar.total)}" for bar in bars)
    return f"Bytes on one device. {said}." + (f" The line stands at {in_bytes(limit)}." if limit else "")


def held_rows(bars: Sequence[Bar]) -> list[dict[str, object]]:
    """The bars as rows of bytes: what, each part, in all."""
    shown = [part for part in PARTS if any(dict(bar.parts).get(part) for bar in bars)]
    return [
        {
            "What": bar.label,
            **{f"{part}, bytes": round(dict(bar.parts).get(part, 0)) for part in shown},
            "in all, bytes": round(bar.total),
        }
        for bar in bars
    ]


@dataclass(frozen=True, slots=True)
class Growth:
    """One line: a model, and bytes at each of the lengths."""

    name: str
    lengths: tuple[int, ...]
    bytes: tuple[float, ...]


def cache_lines(lines: Sequence[Growth], at: int, *, dark: bool = False) -> go.Figure:
    """Bytes over the length of a text, both on logarithmic scales; a line at the length that is asked for."""
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    figure = go.Figure()
    for number, line in enumerate(lines):
        colour = _LINES[number % len(_LINES)]
        figure.add_scatter(
            x=list(line.lengths),
            y=[max(1.0, value) for value in line.bytes],
            name=label(line.name),
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": _DASHES[number % len(_DASHES)]},
            marker={"symbol": _MARKERS[number % len(_MARKERS)], "size": 8, "color": colour},
            customdata=[in_bytes(value) for value in line.bytes],
            hovertemplate="%{x:,} tokens: %{customdata}<extra>" + label(line.name) + "</extra>",
        )
    figure.add_vline(x=at, line={"color": ink, "width": 1, "dash": "dash"})
    top = max((value for line in lines for value in line.bytes), default=1e9)
    low = min((value for line in lines for value in line.bytes), default=1e3)
    ticks = [10.0**power for power in range(3, 16) if low / 10 <= 10.0**power <= top * 10]
    axis = {"gridcolor": "rgba(128,128,128,0.25)", "zeroline": False, "fixedrange": True, "tickfont": {"color": ink}}
    lay_out(
        figure,
        xaxis={
            "type": "log",
            "title": {"text": "tokens of the text", "font": {"color": ink}},
            "dtick": 1,
            "tickformat": "~s",
            "tickangle": 0,
            **axis,
        },
        yaxis={
            "type": "log",
            "title": {"text": "key-value cache", "font": {"color": ink}},
            "tickvals": ticks,
            "automargin": True,
            "ticktext": [in_bytes(tick).replace(".00", "").replace(".0", "") for tick in ticks],
            **axis,
        },
        height=430,
        margin={"l": 8, "r": 16, "t": 12, "b": 8},
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        paper_bgcolor="rgba(0,0,0,0)",
        font={"color": ink},
        legend={"orientation": "h", "yanchor": "top", "y": -0.24, "x": 0, "font": {"color": ink}},
    )
    return figure


def hours_bars(
    names: Sequence[str], hours: Sequence[float], said: Sequence[str], chosen: str, *, dark: bool = False
) -> go.Figure:
    """Hours by device as bars; the chosen one is dark and its name bold."""
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    labels = [f"<b>{label(name)}</b>" if name == chosen else label(name) for name in names]
    figure = go.Figure(
        go.Bar(
            orientation="h",
            y=labels,
            x=list(hours),
            text=[f" {text}" for text in said],
            textposition="outside",
            cliponaxis=False,
            textfont={"color": ink},
            hovertemplate="%{y}: %{text}<extra></extra>",
            marker={"color": ["#3F5E9A" if name == chosen else "#8C96A1" for name in names]},
        )
    )
    lay_out(
        figure,
        xaxis={
            "title": {"text": "hours", "font": {"color": ink}},
            "range": [0, 1.25 * max(hours, default=1)],
            "fixedrange": True,
            "gridcolor": "rgba(128,128,128,0.25)",
            "zeroline": False,
            "tickfont": {"color": ink},
        },
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True, "tickfont": {"color": ink}},
        height=110 + 30 * max(2, len(names)),
        margin={"l": 8, "r": 24, "t": 8, "b": 8},
        bargap=0.35,
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        font={"color": ink},
    )
    return figure
