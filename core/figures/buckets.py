"""Hashing as figures: a text sorted by bucket and cut into chunks, who meets whom, what more rounds catch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.labels import label
from core.figures.lay_out import band, lay_out, upright

Theme = Literal["light", "dark"]
ACCENT, SECOND, GREY = "#CC79A7", "#0072B2", "#767676"
SCALES: dict[Theme, list[tuple[float, str]]] = {
    "light": [(0, "#F3F5F7"), (0.5, "#56B4E9"), (1, "#1F4E79")],
    "dark": [(0, "#1D232B"), (0.5, "#2F7FB0"), (1, "#A8D8F5")],
}
"""Faint to strong, in one hue."""
_QUIET = {"l": 8, "r": 8, "t": 8, "b": 8}


def sorted_text(
    order: NDArray[np.int64], buckets: NDArray[np.int64], labels: Sequence[str], chunk: int, marked: int | None = None
) -> go.Figure:
    """Where each byte (up the side) stands after sorting (along the bottom); lines cut the chunks.

    Args:
        order: (n',) positions in the sorted order; n and above are filling and are left out.
        buckets: (n,) bucket of each position.
        labels: (n,) each byte as it reads.
        chunk: positions of a chunk.
        marked: a position whose chunk and the one before are shaded.
    """
    n = len(labels)
    places = np.flatnonzero(order < n)
    at = order[places]
    shown = [f"{label(labels[i])} at {i}, bucket {buckets[i]}" for i in at.tolist()]
    points = {
        "type": "scattergl",
        "x": places,
        "y": at,
        "mode": "markers",
        "showlegend": False,
        "customdata": shown,
        "marker": {
            "size": 5,
            "color": np.where(buckets[at] % 2 == 0, ACCENT, SECOND),
            "symbol": np.where(buckets[at] % 2 == 0, "circle", "square"),
        },
        "hovertemplate": "%{customdata}<br>place %{x} after sorting<extra></extra>",
    }
    figure = go.Figure([points])  # a trace of its own would have each of its many colours checked a second time
    edges = [
        upright(edge - 0.5, line={"width": 1, "dash": "dot", "color": GREY}) for edge in range(chunk, len(order), chunk)
    ]
    read = []
    if marked is not None:
        own = int(np.flatnonzero(order == marked)[0]) // chunk
        for piece in {own, (own - 1) % (len(order) // chunk)}:
            ends = piece * chunk - 0.5, (piece + 1) * chunk - 0.5
            read.append(band(*ends, fillcolor=GREY, opacity=0.18, line={"width": 0}))
    lay_out(
        figure,
        shapes=edges + read,
        xaxis={"title": "place after sorting by bucket", "range": [-1, len(order)], "showgrid": False},
        yaxis={"title": "place in the text", "range": [n, -1], "showgrid": False},
        height=430,
        margin=_QUIET,
    )
    return figure


def meetings(shares: NDArray[np.float64], cell: int, *, theme: Theme = "light") -> go.Figure:
    """The share of pairs met in each cell of queries (down) by keys (across), fainter for less; nothing looks ahead."""
    middle = cell * (np.arange(len(shares)) + 0.5)
    past = np.where(np.tril(np.ones(shares.shape)) > 0, shares, np.nan)
    figure = go.Figure(
        go.Heatmap(
            z=past,
            x=middle,
            y=middle,
            zmin=0,
            zmax=max(0.05, float(shares.max())),
            colorscale=SCALES[theme],
            colorbar={"title": "met", "tickformat": ".0%", "thickness": 12},
            hoverongaps=False,
            hovertemplate="queries around byte %{y}<br>keys around byte %{x}<br>%{z:.0%} met<extra></extra>",
        )
    )
    end = cell * len(shares)
    lay_out(
        figure,
        xaxis={
            "title": "key: byte looked at",
            "range": [0, end],
            "side": "top",
            "constrain": "domain",
            "showgrid": False,
        },
        yaxis={
            "title": "query: byte that looks",
            "range": [end, 0],
            "scaleanchor": "x",
            "constrain": "domain",
            "showgrid": False,
        },
        height=430,
        margin=_QUIET,
    )
    return figure


def rounds(rows: Sequence[tuple[int, float, float, float]]) -> go.Figure:
    """Against the number of rounds: weight caught, largest weight found, pairs met; shares from 0 to 1."""
    figure = go.Figure()
    for index, (name, colour, dash, symbol) in enumerate(
        (
            ("weight caught", ACCENT, "solid", "circle"),
            ("largest weight found", SECOND, "dash", "square"),
            ("pairs met", GREY, "dot", "diamond"),
        ),
        1,
    ):
        figure.add_scatter(
            x=[str(row[0]) for row in rows],
            y=[row[index] for row in rows],
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 3, "dash": dash},
            marker={"symbol": symbol, "size": 9},
            hovertemplate="%{x} rounds: %{y:.1%}<extra>" + name + "</extra>",
        )
    lay_out(
        figure,
        xaxis={"title": "rounds of hashing", "type": "category"},
        yaxis={"tickformat": ".0%", "range": [0, 1.05]},
        height=330,
        margin={**_QUIET, "t": 40},
        legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"},
    )
    return figure


def reading(lengths: Sequence[int], bits: Sequence[float]) -> go.Figure:
    """Bits per byte of the same end of a text against how many bytes are read."""
    figure = go.Figure(
        go.Scatter(
            x=list(lengths),
            y=list(bits),
            mode="lines+markers",
            line={"color": ACCENT, "width": 3},
            marker={"size": 9},
            hovertemplate="%{x:,} bytes read: %{y:.3f} bits per byte<extra></extra>",
        )
    )
    lay_out(
        figure,
        xaxis={"title": "bytes read, the last ones of the text", "tickformat": ","},
        yaxis={"title": "bits per byte of the last ones"},
        height=360,
        margin=_QUIET,
    )
    return figure


def growth(lengths: Sequence[int], full: Sequence[int], hashed: Sequence[tuple[str, Sequence[int]]]) -> go.Figure:
    """Scores of one head against the length on two logarithmic axes: full, and one line for each number of rounds."""
    figure = go.Figure()
    figure.add_scatter(
        x=list(lengths),
        y=list(full),
        name="full attention",
        mode="lines+markers",
        line={"color": GREY, "width": 3, "dash": "dash"},
        marker={"symbol": "square"},
    )
    for (name, values), (colour, dash) in zip(hashed, ((ACCENT, "solid"), (SECOND, "dot")), strict=False):
        figure.add_scatter(
            x=list(lengths),
            y=list(values),
            name=name,
            mode="lines+markers",
            line={"color": colour, "width": 3, "dash": dash},
        )
    lay_out(
        figure,
        xaxis={"title": "tokens in the text", "type": "log"},
        yaxis={"title": "scores of one head", "type": "log"},
        height=340,
        margin={**_QUIET, "t": 40},
        legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"},
    )
    return figure
