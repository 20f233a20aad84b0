"""Heads of many models as dots: how deep each stands, and one of its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.figures.attention import Theme
from core.figures.labels import label
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TEXT = {"light": "#1a1f24", "dark": "#e8ecf0"}
SHAPES = ("circle", "diamond", "square", "triangle-up", "cross")
"""A branch has a shape as well as a colour."""
_SIZE = 9
QUARTERS = 4


@dataclass(frozen=True, slots=True)
class Dots:
    """The heads of one branch; all sequences are as long."""

    title: str
    colour: str
    depth: Sequence[float]
    """From 0, the input, to 1, the output."""
    score: Sequence[float]
    names: Sequence[str]
    """What a dot is called under the pointer."""
    shape: str = SHAPES[0]


def means(depth: Sequence[float], score: Sequence[float]) -> list[float | None]:
    """The mean score in each quarter of the depth; None where no head is."""
    quarter = np.minimum((np.asarray(depth) * QUARTERS).astype(int), QUARTERS - 1)
    values = np.asarray(score, dtype=np.float64)
    return [float(values[quarter == q].mean()) if (quarter == q).any() else None for q in range(QUARTERS)]


def depth_dots(groups: Sequence[Dots], theme: Theme = "light") -> go.Figure:
    """One dot a head, a trace for each group in the given order, and the mean of every quarter of the depth.

    Curve i is group i, and its point j the group's j-th head.
    """
    import plotly.graph_objects as go

    ink = _TEXT[theme]
    figure = go.Figure()
    for dots in groups:
        figure.add_scatter(
            x=[round(value, 4) for value in dots.depth],
            y=[round(value, 4) for value in dots.score],
            mode="markers",
            name=dots.title,
            text=[label(name) for name in dots.names],
            marker={
                "size": _SIZE,
                "color": dots.colour,
                "opacity": 0.72,
                "symbol": dots.shape,
                "line": {"width": 0.5, "color": ink},
            },
            selected={"marker": {"opacity": 1.0, "size": _SIZE + 4}},
            unselected={"marker": {"opacity": 0.72}},
            hovertemplate="%{text}<br>%{y:.3f}<extra></extra>",
        )
    x: list[float | None] = []
    y: list[float | None] = []
    together = means([d for dots in groups for d in dots.depth], [s for dots in groups for s in dots.score])
    for quarter, mean in enumerate(together):
        x += [quarter / QUARTERS, (quarter + 1) / QUARTERS, None]
        y += [mean, mean, None]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": ink, "width": 3},
        name="mean of a quarter",
        hoverinfo="skip",
    )
    highest = max((value for dots in groups for value in dots.score), default=1.0)
    lay_out(
        figure,
        height=380,
        margin={"l": 8, "r": 26, "t": 8, "b": 8},
        font={"color": ink},
        dragmode=False,
        clickmode="event+select",
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        legend={
            "orientation": "h",
            "y": 1.0,
            "yanchor": "bottom",
            "x": 0,
            "font": {"size": 13, "color": ink},
            "itemclick": False,
            "itemdoubleclick": False,
        },
        xaxis={
            "title": {"text": "from the input to the output", "font": {"color": ink}},
            "range": [-0.015, 1.03],
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "tickformat": ".0%",
            "fixedrange": True,
            "zeroline": False,
            "tickfont": {"color": ink},
        },
        yaxis={"fixedrange": True, "range": [-0.03 * highest, 1.06 * highest], "tickfont": {"color": ink}},
    )
    return figure
