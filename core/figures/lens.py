"""The logit lens as pictures: what each layer would answer, and how the final answer comes up through the layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from core.figures.attention import Theme, scale
from core.figures.cells import write
from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.predictions import percent

if TYPE_CHECKING:
    from core.attention.inside.lens import LensTrajectory

_TEXT = {"light": "#1a1f24", "dark": "#e8ecf0"}
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def layer_names(count: int) -> list[str]:
    """What the rows are called: the embeddings, then each layer from 1."""
    return ["embeddings", *(f"layer {i}" for i in range(1, count))]


def answers(trajectory: LensTrajectory, accent: str, theme: Theme = "light") -> go.Figure:
    """Layers down, their best answers across, the most probable first; the final answer is framed wherever it is."""
    k = max(len(guess.tokens) for guess in trajectory.predictions)
    shown = np.full((len(trajectory.predictions), k), np.nan, dtype=np.float32)
    texts = [[""] * k for _ in trajectory.predictions]
    whole = [[""] * k for _ in trajectory.predictions]
    for row, guess in enumerate(trajectory.predictions):
        for column, (token, probability) in enumerate(zip(guess.tokens, guess.probabilities, strict=True)):
            shown[row, column] = probability
            texts[row][column] = f"{label(_short(token))}<br>{label(percent(probability).replace('< ', '<'))}"
            whole[row][column] = label(token)
    rows = layer_names(len(trajectory.predictions))
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            x=[str(i + 1) for i in range(k)],
            y=rows,
            zmin=0.0,
            zmax=max(0.1, float(np.nanmax(shown))),
            colorscale=scale(theme),
            customdata=whole,
            xgap=3,
            ygap=3,
            showscale=False,
            hovertemplate="%{y}, answer %{x}: <b>%{customdata}</b><br>probability %{z:.3f}<extra></extra>",
        )
    )
    final = trajectory.predictions[-1].ids[0]
    for row, guess in enumerate(trajectory.predictions):
        if final in guess.ids:
            column = guess.ids.index(final)
            figure.add_shape(
                type="rect",
                x0=column - 0.47,
                x1=column + 0.47,
                y0=row - 0.45,
                y1=row + 0.45,
                line={"color": accent, "width": 3},
            )
    figure.update_xaxes(
        side="top",
        type="category",
        fixedrange=True,
        showgrid=False,
        title={"text": "answers, the most probable first", "standoff": 6, "font": {"color": _TEXT[theme]}},
    )
    figure.update_yaxes(
        autorange="reversed",
        type="category",
        fixedrange=True,
        showgrid=False,
        automargin=True,
        tickfont={"color": _TEXT[theme]},
    )
    lay_out(
        figure,
        height=80 + 42 * len(rows),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        font={"color": _TEXT[theme]},
        dragmode=False,
        hoverlabel={"font": {"family": _MONO}},
    )
    write(figure, texts, size=11, family=_MONO)
    return figure


def path(trajectory: LensTrajectory, accent: str, theme: Theme = "light") -> go.Figure:
    """The final answer's probability and, below it, its place among all answers, over the layers."""
    figure = make_subplots(rows=2, shared_xaxes=True, vertical_spacing=0.12, row_heights=[0.55, 0.45])
    layers = list(range(len(trajectory.probabilities)))
    line = {"mode": "lines+markers", "line": {"color": accent, "width": 2}, "showlegend": False, "cliponaxis": False}
    figure.add_scatter(
        x=layers,
        y=trajectory.probabilities,
        marker={"size": 8, "color": accent},
        hovertemplate="after layer %{x}<br>probability %{y:.4f}<extra></extra>",
        row=1,
        col=1,
        **line,
    )
    figure.add_scatter(
        x=layers,
        y=trajectory.ranks,
        marker={"size": 8, "color": accent, "symbol": "square"},
        hovertemplate="after layer %{x}<br>place %{y:,} of " + f"{trajectory.answers:,}<extra></extra>",
        row=2,
        col=1,
        **line,
    )
    ink = {"color": _TEXT[theme]}
    ends = math.log10(max(trajectory.ranks) * 1.5)
    powers = [10**i for i in range(math.ceil(math.log10(max(trajectory.answers, 2))) + 1)]
    places = powers if trajectory.answers > 9 else list(range(1, trajectory.answers + 1))
    top = max(0.1, *trajectory.probabilities)
    figure.update_yaxes(
        title={"text": "probability", "font": ink}, range=[-0.04 * top, 1.06 * top], nticks=4, row=1, col=1
    )
    figure.update_yaxes(
        title={"text": "place", "font": ink},
        type="log",
        range=[max(ends, 0.7), -0.12],
        row=2,
        col=1,
        tickvals=places,
        tickformat=",",
    )
    figure.update_xaxes(
        title={"text": "after layer (0: embeddings)", "font": ink}, dtick=1 if len(layers) <= 13 else None, row=2, col=1
    )
    figure.update_xaxes(fixedrange=True, zeroline=False, showgrid=False)
    figure.update_yaxes(fixedrange=True, zeroline=False, automargin=True)
    lay_out(figure, height=340, margin={"l": 8, "r": 12, "t": 8, "b": 8}, font=ink, dragmode=False)
    return figure


def said(trajectory: LensTrajectory, names: Sequence[str]) -> str:
    """The path in a sentence: since when the final answer stands first."""
    since = len(trajectory.ranks)
    while since and trajectory.ranks[since - 1] == 1:
        since -= 1
    if since == 0:
        return "It stands first from the embeddings on."
    names = ["the embeddings" if name == "embeddings" else name for name in names]
    worst = max(range(len(trajectory.ranks)), key=trajectory.ranks.__getitem__)
    return f"It stands first from {names[since]} on; after {names[worst]} it was number {trajectory.ranks[worst]:,}."


def _short(token: str) -> str:
    return token if len(token) <= 8 else token[:7] + "…"
