"""The builder of every figure: traces and layout on a theme's template.

A template carries fonts, colors, grid lines, hover labels and margins; a figure adds only its own settings. Traces and
layout are passed together: ``update_layout`` and ``add_trace`` would validate each value again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from core.figures.labels import label
from core.lazy import go
from core.theme import FONT, SMALL, THEMES, Name, Theme

Json = dict[str, Any]
Trace = dict[str, Any]

_LINE, _AROUND, _SCALE = 16, 100, 25
"""Pixels of a line of type, around a picture, and of a map's scale below it."""
GRID = "rgba(128,128,128,0.25)"
CLEAR = "rgba(0,0,0,0)"
EDGE = {"width": 0.5, "color": "rgba(128,128,128,0.6)"}
"""Of bars and tiles."""
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down", "cross", "pentagon", "hexagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
HIDDEN: Json = {"hoverinfo": "skip", "showlegend": False}
"""A trace without hover text and legend."""

ABOVE: Json = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"}
"""A legend above its figure."""
BELOW: Json = {"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top"}
"""A legend under the title of the axis."""
TURNED: Json = {"autorange": "reversed"}
"""An axis that points down."""
BARE: Json = {"showgrid": False}
ROWS: Json = TURNED | BARE | {"ticklabelstandoff": 6}
"""An axis of bars with their names, the first on top."""


def figure(theme: Theme, traces: Sequence[Trace], **layout: object) -> go.Figure:
    """The figure of ``traces``, each a dictionary with its type, on the template of ``theme``."""
    import pandas  # noqa: F401  # plotly takes a module that another thread still imports for a whole one

    return go.Figure(data=list(traces), layout={"template": template(theme.name), **layout})


@cache
def template(name: Name) -> go.layout.Template:
    """The template of a theme; from here on plotly puts none of its own into figures."""
    import plotly.io as pio

    pio.templates.default = None

    theme = THEMES[name]
    axis = {
        "fixedrange": True,
        "automargin": True,
        "ticks": "",
        "zeroline": False,
        "zerolinecolor": theme.ink,
        "gridcolor": GRID,
        "linecolor": theme.line,
        "tickfont": {"size": SMALL},
        "title": {"font": {"size": SMALL}, "standoff": 10},
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": SMALL, "color": theme.ink},
            "colorway": theme.categorical,
            "paper_bgcolor": theme.ground,
            "plot_bgcolor": theme.ground,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 4},
            "xaxis": {**axis, "showgrid": False},
            "yaxis": axis,
            "legend": ABOVE | {"bgcolor": CLEAR, "traceorder": "normal"},
            "hoverlabel": {"bgcolor": theme.ground, "bordercolor": theme.line, "font": {"color": theme.ink}},
            "hovermode": "closest",
            "dragmode": False,
            "annotationdefaults": {"showarrow": False, "font": {"color": theme.ink}},
            "shapedefaults": {"line": {"color": theme.ink}},
        },
        data={
            "bar": [{"cliponaxis": False, "textfont": {"color": theme.ink}, "marker": {"line": EDGE}}],
            "scatter": [{"cliponaxis": False, "textfont": {"color": theme.ink}}],
            "heatmap": [
                {
                    "hoverongaps": False,
                    "colorscale": theme.amounts,
                    # below the picture, where a narrow screen has room for it
                    "colorbar": {
                        "orientation": "h",
                        "thickness": 10,
                        "len": 0.6,
                        "x": 0.0,
                        "xanchor": "left",
                        "y": 0.0,
                        "yanchor": "top",
                        "ypad": 14,
                        "outlinewidth": 0,
                        "nticks": 4,
                        "tickangle": 0,
                        "tickformat": ".2~f",
                        "title": {"side": "top", "font": {"size": SMALL}},
                    },
                }
            ],
        },
    )


def scatter(x: Sequence[Any] | Any, y: Sequence[Any] | Any, mode: str, **looks: object) -> Trace:
    """Points, lines or texts."""
    return {"type": "scatter", "x": x, "y": y, "mode": mode, **looks}


def hover(texts: Sequence[str], of: str = "") -> Trace:
    """Hover names of points, bars or cells, followed by the trace's name; already escaped."""
    return {"customdata": list(texts), "hovertemplate": f"%{{customdata}}<extra>{of}</extra>"}


def upright(x: float, *, row: int = 1, **line: object) -> Json:
    """A vertical line at ``x``; in a column of charts in ``row``, from 1 at the top."""
    axis = "" if row == 1 else str(row)
    reach = {"xref": f"x{axis}", "yref": f"y{axis} domain"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, **reach, "line": line}


def level(y: float, **line: object) -> Json:
    """A horizontal line at ``y`` across the chart."""
    return {"type": "line", "x0": 0, "x1": 1, "y0": y, "y1": y, "xref": "x domain", "yref": "y", "line": line}


def band(x0: float, x1: float, color: str, opacity: float) -> Json:
    """A colored band from ``x0`` to ``x1`` over the chart's height."""
    ends = {"x0": x0, "x1": x1, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    return {"type": "rect", **ends, "fillcolor": color, "opacity": opacity, "line": {"width": 0}}


def box(x0: float, x1: float, y0: float, y1: float, **line: object) -> Json:
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line}


def note(text: str, x: float, y: float, **looks: object) -> Json:
    """A text at a position; the caller escapes visitors' texts."""
    return {"text": text, "x": x, "y": y, "showarrow": False, **looks}


def title(text: str, standoff: int | None = None) -> Json:
    return {"title": {"text": text} | ({} if standoff is None else {"standoff": standoff})}


def ticks(names: Sequence[str], every: int = 1) -> Json:
    """Every ``every``-th of the names at positions 0, 1, ...; escaped here."""
    at = list(range(0, len(names), every))
    return {"tickmode": "array", "tickvals": at, "ticktext": [label(names[i]) for i in at]}


def cut(text: str, room: int) -> str:
    """``text`` truncated to ``room`` characters."""
    return text if len(text) <= room else text[: room - 1] + "…"


def least_height(figure: go.Figure) -> int:
    """Pixels below which the names down an axis, or the notes below each other, would stand on each other."""
    columns = [trace.y for trace in figure.data if "y" in trace and trace.y is not None]
    names = [len(axis.ticktext or ()) for axis in figure.select_yaxes()]
    names += [len({name for name in column if isinstance(name, str)}) for column in columns]
    lines: dict[object, int] = {}
    for text in figure.layout.annotations:
        lines[text.y] = max(lines.get(text.y, 0), str(text.text).count("<br>") + 1)
    scaled = any(trace.type == "heatmap" and trace.showscale is not False for trace in figure.data)
    return _LINE * max(*names, sum(lines.values()), 0) + _AROUND + _SCALE * scaled
