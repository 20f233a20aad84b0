"""The matrix behind a contrastive loss: how alike every two points are, and what the softmax makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.figures.labels import label
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

_COSINES = [[0.0, "#F1A340"], [0.5, "#F7F7F7"], [1.0, "#67A9CF"]]
"""Differences from zero: orange below, blue above, all of it light enough for dark numbers."""
_LIGHT_FROM = 0.55
"""The probability from which cividis is light enough for dark numbers."""


def matrix(
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    wanted: NDArray[np.bool_],
    *,
    cosines: bool,
    dark: bool = False,
) -> go.Figure:
    """A map with every number written in its cell; what the loss wants large has a frame.

    :param values: (rows, columns) cosines from -1 to 1, or probabilities from 0 to 1.
    :param wanted: (rows, columns) the pairs that belong together.
    :param cosines: which of the two scales.
    """
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    what = "cosine" if cosines else "probability"
    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=list(range(len(columns))),
            y=list(range(len(rows))),
            zmin=-1 if cosines else 0,
            zmax=1,
            colorscale=_COSINES if cosines else "Cividis",
            showscale=False,
            xgap=2,
            ygap=2,
            customdata=[[f"{label(row)} and {label(column)}" for column in columns] for row in rows],
            hovertemplate="%{customdata}<br>" + what + " %{z:.3f}<extra></extra>",
        )
    )
    numbers = [
        {
            "x": column,
            "y": row,
            "text": f"{value:.2f}",
            "showarrow": False,
            "font": {"size": 12, "color": "#1A1F24" if cosines or value >= _LIGHT_FROM else "#FFFFFF"},
        }
        for (row, column), value in np.ndenumerate(values.astype(float))
    ]
    frames = [
        {
            "type": "rect",
            "x0": column - 0.47,
            "x1": column + 0.47,
            "y0": row - 0.47,
            "y1": row + 0.47,
            "line": {"color": "#D55E00" if not cosines else "#1A1F24", "width": 3},
        }
        for row, column in np.argwhere(wanted).tolist()
    ]
    axis = {
        "tickmode": "array",
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 12, "color": ink},
    }
    lay_out(
        figure,
        xaxis={**axis, "tickvals": list(range(len(columns))), "ticktext": [label(c) for c in columns], "side": "top"},
        yaxis={
            **axis,
            "tickvals": list(range(len(rows))),
            "ticktext": [label(r) for r in rows],
            "autorange": "reversed",
            "automargin": True,
        },
        height=70 + 40 * len(rows),
        margin={"l": 0, "r": 0, "t": 30, "b": 0},
        font={"color": ink},
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        annotations=numbers,
        shapes=frames,
    )
    return figure


def matrix_table(
    cosines: NDArray[np.float64],
    chances: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    wanted: NDArray[np.bool_],
) -> list[dict[str, object]]:
    """One row a pair."""
    return [
        {
            "one": row,
            "other": column,
            "cosine": round(float(cosines[i, j]), 4),
            "probability": round(float(chances[i, j]), 4),
            "belong together": "yes" if wanted[i, j] else "no",
        }
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def matrix_alt(values: NDArray[np.float64], wanted: NDArray[np.bool_], what: str) -> str:
    """The map in one sentence, for screen readers."""
    inside = values[wanted] if wanted.any() else np.zeros(1)
    outside = values[~wanted] if (~wanted).any() else np.zeros(1)
    return (
        f"{what} of every two points: {inside.mean():.2f} on average for those that belong together, "
        f"{outside.mean():.2f} for the others. The table has every number."
    )
