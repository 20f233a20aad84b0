"""A word's vectors as pictures: points of a plane by sense, and cosines as a grid.

Senses differ by colour and by symbol, and each point carries the name of its line. What a visitor typed is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.figures.cells import write
from core.figures.labels import label
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676")
"""Okabe-Ito's, those that are seen on light and dark ground."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x", "pentagon", "triangle-down")
_GRID = "rgba(128,128,128,0.25)"
_HOVER = 60
"""Characters of a line of a hover text."""


@dataclass(frozen=True, slots=True)
class Point:
    """One vector on a plane."""

    x: float
    y: float
    name: str
    """The short name beside it."""
    group: str
    """Its sense; may be empty."""
    hover: tuple[str, str, str]
    """What stands before the word in its sentence, the word, what stands after it."""


def ink(dark: bool) -> str:
    """The colour of texts."""
    return "#E8ECF0" if dark else "#1A1F24"


def style(groups: Sequence[str]) -> dict[str, tuple[str, str]]:
    """(colour, symbol) of each group, in the order in which they first occur."""
    return {
        group: (COLOURS[i % len(COLOURS)], SYMBOLS[i % len(SYMBOLS)]) for i, group in enumerate(dict.fromkeys(groups))
    }


def plane(points: Sequence[Point], titles: tuple[str, str], *, dark: bool = False) -> go.Figure:
    """Points on a plane with equal scales, a symbol and a colour for each group."""
    import plotly.graph_objects as go

    groups = style([point.group for point in points])
    figure = go.Figure()
    for group, (colour, symbol) in groups.items():
        own = [point for point in points if point.group == group]
        figure.add_scatter(
            x=[point.x for point in own],
            y=[point.y for point in own],
            mode="markers",
            name=label(group) or "word",
            marker={"size": 14, "color": colour, "symbol": symbol, "line": {"width": 1, "color": ink(dark)}},
            hovertext=[_hover(point) for point in own],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    figure.add_scatter(  # names last, so that no marker lies over them
        x=[point.x for point in points],
        y=[point.y for point in points],
        mode="markers+text",
        hoverinfo="skip",
        marker={"size": 14, "opacity": 0},
        text=[label(point.name) for point in points],
        textposition="top center",
        textfont={"color": ink(dark)},
        showlegend=False,
        cliponaxis=False,
    )
    (left, right), (low, high) = (_span([getattr(point, axis) for point in points]) for axis in "xy")
    reach = max(right - left, high - low) / 2
    axis: dict[str, Any] = {
        "fixedrange": True,
        "showgrid": True,
        "gridcolor": _GRID,
        "zeroline": False,
        "showticklabels": False,
        "ticks": "",
    }
    lay_out(
        figure,
        height=430,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        dragmode=False,
        font={"color": ink(dark)},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        showlegend=list(groups) != [""],
        legend={"orientation": "h", "y": -0.08, "yanchor": "top", "x": 0, "itemclick": False, "itemdoubleclick": False},
        hoverlabel={"align": "left"},
        xaxis=axis | {"title": {"text": titles[0], "standoff": 4}, "range": _around((left + right) / 2, reach)},
        yaxis=axis
        | {"title": {"text": titles[1], "standoff": 4}, "range": _around((low + high) / 2, reach), "scaleanchor": "x"},
    )
    return figure


def _span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _around(middle: float, reach: float) -> list[float]:
    reach = 1.15 * reach or 1.0
    return [middle - reach, middle + reach]


def _hover(point: Point) -> str:
    """The sentence with its word in bold, broken into lines."""
    before, word, after = point.hover
    lines, room = [""], _HOVER
    marked = [(part, False) for part in before.split(" ")], [(word, True)], [(part, False) for part in after.split(" ")]
    for number, parts in enumerate(marked):
        for i, (part, bold) in enumerate(parts):
            space = " " if i > 0 else ""
            if len(part) + 1 > room and (space or number == 0) and lines[-1]:
                lines.append("")
                space, room = "", _HOVER
            lines[-1] += space + (f"<b>{label(part)}</b>" if bold else label(part))
            room -= len(part) + len(space)
    head = f"{label(point.name)}: {label(point.group)}" if point.group else label(point.name)
    return f"{head}<br>" + "<br>".join(lines)


def cosines(matrix: NDArray[np.floating], names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """(P, P) cosines as a grid with their values in the cells, the diagonal left out."""
    import plotly.graph_objects as go

    from core.figures.attention import scale

    count = len(names)
    shown = np.where(np.eye(count, dtype=bool), np.nan, np.round(matrix, 2))
    off = matrix[~np.eye(count, dtype=bool)]
    low, high = (float(off.min()), float(off.max())) if off.size else (0.0, 1.0)
    places = list(range(count))
    labels = [label(name) for name in names]
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            x=places,
            y=places,
            colorscale=scale("dark" if dark else "light"),
            zmin=min(low, high - 0.05),
            zmax=high,
            xgap=1,
            ygap=1,
            showscale=False,
            hoverongaps=False,
            customdata=[[f"{a} and {b}" for b in labels] for a in labels],
            hovertemplate="%{customdata}: %{z:.2f}<extra></extra>",
        )
    )
    axis: dict[str, Any] = {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": labels,
        "fixedrange": True,
        "showgrid": False,
        "ticks": "",
        "zeroline": False,
        "tickfont": {"color": ink(dark)},
    }
    lay_out(
        figure,
        height=90 + 27 * count,
        margin={"l": 8, "r": 56, "t": 8, "b": 8},
        dragmode=False,
        font={"color": ink(dark)},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        xaxis=axis | {"side": "top", "tickangle": -60},
        yaxis=axis | {"autorange": "reversed"},
    )
    if count <= 16:
        written = [
            ["" if i == j else f"{value:.2f}".replace("0.", ".") for j, value in enumerate(row)]
            for i, row in enumerate(matrix.tolist())
        ]
        write(figure, written, size=11)
    return figure
