"""A measure by layer: a line for each thing that is measured, or for each model over the share of its layers.

Names stand at the lines' ends where there is room for them and in the legend otherwise; lines differ by dash and marker
as well as by colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.vectors import ink

if TYPE_CHECKING:
    import plotly.graph_objects as go

_GRID = "rgba(128,128,128,0.25)"
_MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down", "cross")


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``values`` may have gaps."""

    name: str
    places: Sequence[float]
    values: Sequence[float | None]
    colour: str
    dash: str = "solid"
    spread: Sequence[float] | None = None
    """Half the height of a band around the line."""


def curves(
    lines: Sequence[Line],
    measure: str,
    ticks: Sequence[str] | None = None,
    *,
    across: str = "layer",
    dark: bool = False,
    markers: bool = True,
    height: int = 380,
) -> go.Figure:
    """Lines over places.

    :param ticks: names of the places 0, 1, ...; numbers where there are none.
    :param across: what the places are.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    for number, line in enumerate(lines):
        if line.spread is not None:
            _band(figure, line)
        figure.add_scatter(
            x=list(line.places),
            y=list(line.values),
            name=label(line.name),
            connectgaps=False,
            cliponaxis=False,
            mode="lines+markers" if markers else "lines",
            line={"color": line.colour, "width": 2, "dash": line.dash},
            marker={"symbol": _MARKERS[number % len(_MARKERS)], "size": 8, "color": line.colour},
            hovertemplate="%{y:.3f}<extra>" + label(line.name) + "</extra>",
        )
    axis: dict[str, Any] = {"fixedrange": True, "gridcolor": _GRID, "zeroline": False, "tickfont": {"color": ink(dark)}}
    places: dict[str, Any] = {}
    if ticks is not None:
        places = {"tickmode": "array", "tickvals": list(range(len(ticks))), "ticktext": [label(tick) for tick in ticks]}
    lay_out(
        figure,
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        dragmode=False,
        font={"color": ink(dark)},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        hovermode="x unified" if markers else "closest",
        legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0},
        showlegend=len(lines) > 1,
        xaxis=axis | {"title": {"text": across, "standoff": 12}} | places,
        yaxis=axis | {"title": {"text": measure, "standoff": 4}, "automargin": True},
    )
    return figure


def _band(figure: go.Figure, line: Line) -> None:
    """A pale band from a spread below the line to a spread above."""
    assert line.spread is not None
    both = [(value or 0.0, around) for value, around in zip(line.values, line.spread, strict=True)]
    figure.add_scatter(
        x=[*line.places, *reversed(list(line.places))],
        y=[*(value + around for value, around in both), *(value - around for value, around in reversed(both))],
        fill="toself",
        fillcolor=line.colour,
        opacity=0.18,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
        mode="lines",
    )


def alt(lines: Sequence[Line], measure: str, ticks: Sequence[str]) -> str:
    """The picture in a few sentences, for screen readers."""
    said = []
    for line in lines:
        known = [
            (ticks[int(place)] if ticks else f"{place:g}", value)
            for place, value in zip(line.places, line.values, strict=True)
            if value is not None
        ]
        if known:
            said.append(f"{line.name} from {known[0][1]:.2f} ({known[0][0]}) to {known[-1][1]:.2f} ({known[-1][0]})")
    return f"{measure} by layer. {'; '.join(said)}."
