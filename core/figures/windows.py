"""The answers of several ways of attention as figures: one group of bars a word, one bar a way."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.predictions import percent

WAYS: tuple[tuple[str, str], ...] = (("#767676", "/"), ("#CC79A7", ""), ("#0072B2", "."), ("#E69F00", "x"))
"""Colour and hatching of each way, in order."""


def bars(names: Sequence[str], words: Sequence[tuple[str, Sequence[float]]]) -> go.Figure:
    """Horizontal bars for ``words`` (label, probability in each way), the first on top; ``names`` are the ways'."""
    ordered = list(reversed(words))
    shown = [label(word) for word, _ in ordered]
    figure = go.Figure()
    for index, (name, (colour, shape)) in reversed(list(enumerate(zip(names, WAYS, strict=False)))):
        values = [chances[index] for _, chances in ordered]
        figure.add_bar(
            y=list(range(len(ordered))),
            x=values,
            name=name,
            orientation="h",
            legendrank=index,
            marker={"color": colour, "pattern": {"shape": shape}},
            customdata=shown,
            text=[percent(value) for value in values],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{customdata}: %{x:.4f}<extra>" + name + "</extra>",
        )
    top = max((max(chances) for _, chances in words), default=1.0)
    lay_out(
        figure,
        xaxis={"range": [0, min(1.15, top * 1.25)], "tickformat": ".0%", "title": "probability"},
        yaxis={"tickvals": list(range(len(ordered))), "ticktext": shown},
        height=max(240, 90 + 62 * len(ordered)),
        margin={"l": 8, "r": 30, "t": 60, "b": 8},
        bargap=0.25,
        legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"},
    )
    return figure
