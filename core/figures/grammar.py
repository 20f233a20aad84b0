"""How well heads follow grammar: the best head of each relation beside a fixed distance and published figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.attention.roles.rolefiles import Counted

_ROW = 34
"""Pixels of one relation."""


def best_heads(
    rows: Sequence[Counted], published: dict[str, tuple[float, int, int]], colour: str, *, dark: bool = False
) -> go.Figure:
    """One line a relation: a dot with its interval, a bar where the fixed distance is, a ring for BERT-base."""
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    names = [row.relation for row in rows]
    lows, highs = zip(*(row.interval for row in rows), strict=True)
    accuracy = [row.accuracy for row in rows]
    figure = go.Figure()
    figure.add_scatter(
        x=[row.baseline for row in rows],
        y=names,
        mode="markers",
        name="fixed distance",
        marker={"symbol": "line-ns", "size": 17, "line": {"width": 3, "color": ink}},
        customdata=[f"{row.offset:+d}" for row in rows],
        hovertemplate="the word at %{customdata}: %{x:.1%}<extra></extra>",
    )
    known = [name for name in names if name in published]
    figure.add_scatter(
        x=[published[name][0] / 100 for name in known],
        y=known,
        mode="markers",
        name="BERT-base, Clark et al. 2019",
        marker={"symbol": "circle-open", "size": 13, "line": {"width": 2, "color": "#808691"}},
        customdata=[f"{published[name][1]}-{published[name][2]}" for name in known],
        hovertemplate="BERT-base, head %{customdata}: %{x:.1%}<extra></extra>",
    )
    figure.add_scatter(
        x=accuracy,
        y=names,
        mode="markers",
        name="best head here",
        marker={"size": 12, "color": colour},
        error_x={
            "array": [high - x for high, x in zip(highs, accuracy, strict=True)],
            "arrayminus": [x - low for low, x in zip(lows, accuracy, strict=True)],
            "color": colour,
            "thickness": 2,
            "width": 0,
        },
        customdata=[f"{row.best[0] + 1}-{row.best[1] + 1}" for row in rows],
        hovertemplate="head %{customdata}: %{x:.1%}<extra></extra>",
    )
    lay_out(
        figure,
        height=_ROW * len(names) + 90,
        margin={"l": 0, "r": 8, "t": 8, "b": 8},
        font={"color": ink},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 13, "color": ink}},
        xaxis={
            "range": [0, 1.04],
            "tickformat": ".0%",
            "fixedrange": True,
            "zeroline": False,
            "tickfont": {"size": 13, "color": ink},
        },
        yaxis={
            "autorange": "reversed",
            "fixedrange": True,
            "automargin": True,
            "ticks": "",
            "tickfont": {"size": 15, "color": ink},
        },
    )
    return figure
