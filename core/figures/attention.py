"""Attention as plotly figures: one head as a heat map, all heads as thumbnails, head scores as a grid.

Colours run from the page's background (zero) through cividis; in a light page cividis is reversed, so that a weight of
zero never shines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sequential

from core.attention.trace import AttentionMap
from core.figures.cells import write
from core.figures.labels import label
from core.figures.lay_out import lay_out

Theme = Literal["light", "dark"]

_BACKGROUND = {"light": "#ffffff", "dark": "#12161b"}
_UNSEEN = {"light": "#d3dae1", "dark": "#39424d"}
_TEXT = {"light": "#1a1f24", "dark": "#e8ecf0"}
_EVERY_LABEL = 20  # up to here every token is named; beyond, as many as the screen has room for
_NUMBERED_HEADS = 16  # of a grid; with more there is no room for a number in each cell
_MOST_CELLS = 28  # of a thumbnail's side
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def scale(theme: Theme) -> list[tuple[float, str]]:
    """A colour scale for amounts: zero is the background."""
    colours = list(sequential.Cividis) if theme == "dark" else list(reversed(sequential.Cividis))
    start = 0.06 if theme == "dark" else 0.18  # cividis opens with a bright yellow: small weights are to look small
    stops = [start + (1 - start) * i / (len(colours) - 1) for i in range(len(colours))]
    return [(0.0, _BACKGROUND[theme]), *zip(stops, colours, strict=True)]


def heat_map(found: AttentionMap, layer: int, head: int, theme: Theme = "light") -> go.Figure:
    """One head: queries down, keys across; a grey ground where nothing was computed. Layer and head count from 0."""
    weights, computed = found.weights[layer, head], found.computed(layer, head)  # (Q, K)
    queries, keys = _names(found.query_tokens), _names(found.key_tokens)
    figure = go.Figure(
        go.Heatmap(
            z=np.where(computed, np.round(weights, 4), np.float32(np.nan)),
            x=keys,
            y=queries,
            zmin=0.0,
            zmax=max(0.2, float(weights.max())),
            colorscale=scale(theme),
            colorbar=_colorbar("weight", theme),
            xgap=1 if weights.shape[1] <= 40 else 0,
            ygap=1 if weights.shape[0] <= 40 else 0,
            hovertemplate="<b>%{y}</b> looks at <b>%{x}</b><br>weight %{z:.3f}<extra></extra>",
            hoverongaps=False,
        )
    )
    rows = weights.shape[0]
    lay_out(
        figure,
        xaxis={
            "side": "top",
            "title": _title("key: looked at", theme),
            "tickangle": -60 if len(keys) <= _EVERY_LABEL else -90,
            **_ticks(found.key_tokens, keys, theme),
        },
        yaxis={
            "autorange": "reversed",
            "title": _title(_query_title(found), theme),
            **_ticks(found.query_tokens, queries, theme),
        },
        plot_bgcolor=None if computed.all() else _UNSEEN[theme],
        height=int(min(860, max(340, 150 + rows * (24 if rows <= 24 else 16)))),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        hoverlabel={"font": {"family": _MONO}},
    )
    return figure


def overview(found: AttentionMap, layer: int, head: int, theme: Theme = "light", accent: str = "#767676") -> go.Figure:
    """Every head as a thumbnail, layers down and heads across; the chosen one is framed in ``accent``.

    Each thumbnail runs from zero to its own largest weight; long texts are drawn with several tokens a cell (the
    largest weight of the cell). Invisible points in the middle of the thumbnails carry the hover text and take clicks;
    the point of (layer, head) has the index layer * H + head.
    """
    pictures = _thumbnails(found.weights)  # (L, H, q, k), uint8
    layers, heads, rows, columns = pictures.shape
    high, wide = rows + 2, columns + 2
    sheet = np.zeros((layers * high, heads * wide), dtype=np.uint8)
    for row in range(layers):
        for column in range(heads):
            sheet[row * high : row * high + rows, column * wide : column * wide + columns] = pictures[row, column]
    figure = go.Figure(
        go.Heatmap(z=sheet, zmin=0, zmax=255, colorscale=scale(theme), showscale=False, hoverinfo="skip")
    )
    middles_x = np.array([column * wide + (columns - 1) / 2 for _ in range(layers) for column in range(heads)])
    middles_y = np.array([row * high + (rows - 1) / 2 for row in range(layers) for _ in range(heads)])
    figure.add_scatter(
        x=middles_x.astype(np.float32),
        y=middles_y.astype(np.float32),
        mode="markers",
        marker={"size": 34, "symbol": "square", "color": accent, "opacity": 0.0},
        selected={"marker": {"opacity": 0.0}},
        unselected={"marker": {"opacity": 0.0}},
        text=[f"layer {row + 1}, head {column + 1}" for row in range(layers) for column in range(heads)],
        hovertemplate="%{text}<br>click to open<extra></extra>",
        showlegend=False,
    )
    # The frames of all are one shape: plotly checks and draws each shape by itself.
    corners = [(column * wide - 0.5, row * high - 0.5) for row in range(layers) for column in range(heads)]
    frames = "".join(f"M{x},{y}H{x + columns}V{y + rows}H{x}Z" for x, y in corners)
    x, y = corners[layer * heads + head]
    lay_out(
        figure,
        shapes=[
            {"type": "path", "path": frames, "line": {"color": "rgba(128,128,128,0.45)", "width": 1}},
            {
                "type": "rect",
                "x0": x,
                "x1": x + columns,
                "y0": y,
                "y1": y + rows,
                "line": {"color": accent, "width": 3},
            },
        ],
    )
    lay_out(
        figure,
        xaxis={
            "title": "head",
            "side": "top",
            "tickvals": [c * wide + (columns - 1) / 2 for c in range(heads)],
            "ticktext": [str(c + 1) for c in range(heads)],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
            "range": [-1.0, heads * wide - 1.0],
        },
        yaxis={
            "title": "layer",
            "tickvals": [r * high + (rows - 1) / 2 for r in range(layers)],
            "ticktext": [str(r + 1) for r in range(layers)],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
            "range": [layers * high - 1.0, -1.0],
        },
        height=70 + layers * max(46, min(92, 900 // heads)),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        dragmode=False,
        clickmode="event+select",
    )
    return figure


def score_grid(grid: NDArray[np.float32], meaning: str, theme: Theme = "light") -> go.Figure:
    """One score of every head in percent, layers down and heads across. ``grid`` has shape (L, H), from 0 to 1."""
    layers, heads = grid.shape
    figure = go.Figure(
        go.Heatmap(
            z=np.round(grid, 3),
            x=[str(head + 1) for head in range(heads)],
            y=[str(layer + 1) for layer in range(layers)],
            zmin=0.0,
            zmax=1.0,
            colorscale=scale(theme),
            xgap=2,
            ygap=2,
            colorbar=_colorbar("%", theme) | {"tickvals": [0, 0.25, 0.5, 0.75, 1], "ticktext": [0, 25, 50, 75, 100]},
            hovertemplate="layer %{y}, head %{x}<br>" + label(meaning) + ": %{z:.1%}<extra></extra>",
        )
    )
    lay_out(
        figure,
        xaxis={"title": "head", "side": "top", "type": "category", "fixedrange": True},
        yaxis={"title": "layer", "autorange": "reversed", "type": "category", "fixedrange": True},
        height=110 + 34 * layers,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
    )
    if heads <= _NUMBERED_HEADS:
        write(figure, [["" if np.isnan(value) else f"{100 * value:.0f}" for value in row] for row in grid])
    return figure


def _colorbar(title: str, theme: Theme) -> dict[str, object]:
    """Below the picture, where a narrow screen has room for it."""
    return {
        "orientation": "h",
        "thickness": 10,
        "len": 0.6,
        "x": 0.0,
        "xanchor": "left",
        "y": 0.0,
        "yanchor": "top",
        "ypad": 14,
        "title": {"text": title, "side": "right", "font": {"color": _TEXT[theme]}},
        "tickformat": ".2~f",
        "nticks": 4,
        "tickangle": 0,
        "tickfont": {"color": _TEXT[theme]},
        "outlinewidth": 0,
    }


def _title(text: str, theme: Theme) -> dict[str, object]:
    return {"text": text, "standoff": 10, "font": {"color": _TEXT[theme]}}


def _query_title(found: AttentionMap) -> str:
    return "query: being produced" if found.kind == "cross" else "query: looks"


def _names(tokens: Sequence[str]) -> list[str]:
    """One unlike name for each position, safe for plotly: ``3 · cat``."""
    return [f"{index + 1} · {label(token)}" for index, token in enumerate(tokens)]


def _ticks(tokens: Sequence[str], names: Sequence[str], theme: Theme) -> dict[str, object]:
    return {
        "type": "category",
        "tickmode": "array" if len(tokens) <= _EVERY_LABEL else "auto",
        "tickvals": list(names) if len(tokens) <= _EVERY_LABEL else None,
        "labelalias": {name: label(_short(token)) for name, token in zip(names, tokens, strict=True)},
        "tickfont": {"family": _MONO, "size": 12 if len(tokens) <= 40 else 10, "color": _TEXT[theme]},
        "automargin": True,
        "showgrid": False,
        "fixedrange": True,
    }


def _short(token: str) -> str:
    return token if len(token) <= 14 else token[:13] + "…"


def _thumbnails(weights: NDArray[np.float32]) -> NDArray[np.uint8]:
    """(L, H, Q, K) -> (L, H, q, k) with q, k small: the largest weight of each cell, scaled to 0 ... 255 by head."""
    for axis in (2, 3):
        size = weights.shape[axis]
        if size > _MOST_CELLS:
            starts = np.unique(np.linspace(0, size, _MOST_CELLS, endpoint=False).astype(int))
            weights = np.maximum.reduceat(weights, starts, axis=axis)
    largest = np.maximum(weights.max(axis=(2, 3), keepdims=True), 1e-9)
    return np.asarray(np.rint(weights / largest * 255), dtype=np.uint8)
