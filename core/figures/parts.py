"""The parts of attention scores as heat maps: nought is the page's background, orange below and purple above."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.attention import Theme
from core.figures.labels import label
from core.figures.lay_out import lay_out

Floats = NDArray[np.float32]
_GROUND = {"light": "#ffffff", "dark": "#12161b"}
_INK = {"light": "#1a1f24", "dark": "#e8ecf0"}
_LOW, _HIGH = ("#b35806", "#f1a340"), ("#998ec3", "#542788")
"""Ends and middles of a scale from orange to purple, which colour-blind eyes tell apart."""


def score_scale(theme: Theme) -> list[tuple[float, str]]:
    """A colour scale for numbers on both sides of nought, which is the background; in a dark page the ends shine."""
    if theme == "dark":
        return [(0.0, _LOW[1]), (0.25, _LOW[0]), (0.5, _GROUND[theme]), (0.75, _HIGH[1]), (1.0, "#d8c8ff")]
    return [(0.0, _LOW[0]), (0.25, _LOW[1]), (0.5, _GROUND[theme]), (0.75, _HIGH[0]), (1.0, _HIGH[1])]


def score_map(scores: Floats, tokens: Sequence[str], query: int, limit: float, theme: Theme = "light") -> go.Figure:
    """One part of one head, (n, n): queries down, keys across, the row of ``query`` framed.

    Args:
        limit: the colour scale runs from ``-limit`` to ``limit``, so that several maps can share it.
    """
    names = [f"{i + 1} {label(token)}" for i, token in enumerate(tokens)]
    n = len(tokens)
    figure = go.Figure(
        go.Heatmap(
            z=np.round(scores, 4),
            x=names,
            y=names,
            zmin=-limit,
            zmax=limit,
            colorscale=score_scale(theme),
            showscale=False,
            xgap=1,
            ygap=1,
            hovertemplate="<b>%{y}</b> for <b>%{x}</b><br>%{z:.3f}<extra></extra>",
        )
    )
    ink = _INK[theme]
    figure.add_shape(type="rect", x0=-0.5, x1=n - 0.5, y0=query - 0.5, y1=query + 0.5, line={"color": ink, "width": 2})
    ticks = {"tickfont": {"size": 10 if n > 16 else 12, "color": ink}, "fixedrange": True, "showgrid": False}
    lay_out(
        figure,
        xaxis={"side": "top", "tickangle": -90, "ticktext": [label(t) for t in tokens], "tickvals": names, **ticks},
        yaxis={"autorange": "reversed", "ticktext": [label(t) for t in tokens], "tickvals": names, **ticks},
        height=min(620, 110 + 20 * n),
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
    )
    return figure
