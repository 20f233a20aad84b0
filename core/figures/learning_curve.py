"""Learning curves: one measure over the tokens seen, a line for each set of texts."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.checkpoints.curve import Point
from core.figures.lay_out import lay_out

_DASHES = ("solid", "dash", "dot", "dashdot")


def learning_curve(points: Sequence[Point], measure: str, accent: str) -> go.Figure:
    """``measure`` against millions of tokens. Lines differ by dash and marker, not by colour alone."""
    figure = go.Figure()
    splits = list(dict.fromkeys(point.split for point in points if point.measure == measure))
    for number, split in enumerate(splits):
        chosen = [point for point in points if point.measure == measure and point.split == split]
        figure.add_scatter(
            x=[point.tokens / 1e6 for point in chosen],
            y=[point.value for point in chosen],
            name=split,
            mode="lines+markers" if len(chosen) <= 60 else "lines",
            line={"color": accent if number == 0 else "#767676", "dash": _DASHES[number % len(_DASHES)], "width": 2},
            marker={"symbol": number, "size": 6},
            cliponaxis=False,
            hovertemplate="%{x:.2f} M tokens: %{y:.4g}<extra>" + split + "</extra>",
        )
    lay_out(
        figure,
        height=260,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        showlegend=len(splits) > 1,
        legend={"orientation": "h", "y": 1.1},
        xaxis_title="tokens seen, millions",
        yaxis_title=measure,
    )
    return figure
