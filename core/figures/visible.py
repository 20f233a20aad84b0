"""Who may look at whom, as one small map: rows look, columns are looked at; a filled cell is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy.typing as npt

from core.figures.labels import label
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import numpy as np
    import plotly.graph_objects as go

_NAMED_UP_TO = 20
"""Tokens up to which the rows and columns carry names, and allowed cells a dot."""


def visible_map(
    allowed: npt.NDArray[np.bool_], queries: Sequence[str], keys: Sequence[str], colour: str, *, dark: bool = False
) -> go.Figure:
    """:param allowed: (queries, keys), True where a score is computed."""
    import plotly.graph_objects as go

    ink, empty = ("#E8ECF0", "#1D232B") if dark else ("#1A1F24", "#EEF1F4")
    rows, columns = [label(name) for name in queries], [label(name) for name in keys]
    named = max(len(rows), len(columns)) <= _NAMED_UP_TO
    said = [
        [f"{row} {'sees' if cell else 'cannot see'} {column}" for column, cell in zip(columns, cells, strict=True)]
        for row, cells in zip(rows, allowed.tolist(), strict=True)
    ]
    figure = go.Figure(
        go.Heatmap(
            z=allowed.astype(int),
            x=list(range(len(columns))),
            y=list(range(len(rows))),
            zmin=0,
            zmax=1,
            colorscale=[[0, empty], [1, colour]],
            showscale=False,
            xgap=1,
            ygap=1,
            opacity=0.85,
            text=[["●" if cell and named else "" for cell in cells] for cells in allowed.tolist()],
            texttemplate="%{text}",
            textfont={"color": "#ffffff", "size": 8},
            customdata=said,
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    axis = {
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickmode": "array",
        "tickfont": {"size": 11, "color": ink},
    }
    lay_out(
        figure,
        xaxis={
            **axis,
            "tickangle": -60,
            "tickvals": list(range(len(columns))) if named else [],
            "ticktext": columns if named else [],
        },
        yaxis={
            **axis,
            "autorange": "reversed",
            "automargin": True,
            "tickvals": list(range(len(rows))) if named else [],
            "ticktext": rows if named else [],
        },
        height=(80 if named else 20) + min(12 * len(rows), 220),
        margin={"l": 0, "r": 0, "t": 8, "b": 0},
        font={"color": ink},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
    )
    return figure


def visible_said(allowed: npt.NDArray[np.bool_]) -> str:
    """The map in a sentence: how many of the pairs are allowed."""
    seen, pairs = int(allowed.sum()), int(allowed.size)
    if seen == pairs:
        return f"Everyone sees everyone: all {pairs:,} pairs of places."
    return f"{seen:,} of {pairs:,} pairs of places are allowed."
