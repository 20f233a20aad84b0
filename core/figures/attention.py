"""Attention as figures: a head, all heads as thumbnails, scores of heads as a grid, the parts of scores, alignments."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.attention.trace import AttentionMap
from core.figures.heatmap import Labels, heat_map, names, numbers, tokens
from core.figures.labels import label
from core.figures.plot import BARE, box, cut, scatter, title
from core.language.types import Token
from core.theme import MONO, Theme

if TYPE_CHECKING:
    import plotly.graph_objects as go

Weights = NDArray[np.float32]
LEAST = 0.1
"""The least weight of a line between two rows of tokens."""
_NUMBERED_HEADS = 16  # of a grid; with more there is no room for a number in each cell
_MOST_CELLS = 28  # of a thumbnail's side
_MOST_LABELS = 60
_CLICKS = {"selected": {"marker": {"opacity": 0.0}}, "unselected": {"marker": {"opacity": 0.0}}, "showlegend": False}
"""Of invisible points that take clicks and carry hover texts."""


def attention_map(found: AttentionMap, layer: int, head: int, *, theme: Theme) -> go.Figure:
    """One head: queries down, keys across; a gray ground where nothing was computed. Layer and head count from 0."""
    weights, computed = found.weights[layer, head], found.computed(layer, head)  # (Q, K)
    rows, columns = weights.shape
    down = "query: generated token" if found.kind == "cross" else "query"
    return heat_map(
        np.where(computed, np.round(weights, 4), np.float32(np.nan)),
        tokens(found.query_tokens, **title(down)),
        tokens(found.key_tokens, tickangle=-60 if columns <= 20 else -90, **title("key")),
        theme,
        ends=(0.0, max(0.2, float(weights.max()))),
        colorbar="weight",
        hovertemplate="<b>%{y}</b> attends to <b>%{x}</b><br>weight %{z:.3f}<extra></extra>",
        mono=True,
        height=int(min(860, max(340, 150 + rows * (24 if rows <= 24 else 16)))),
        layout={} if computed.all() else {"plot_bgcolor": theme.unseen},
    )


def overview(found: AttentionMap, layer: int, head: int, accent: str, *, theme: Theme) -> go.Figure:
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
    middle_x = [column * wide + (columns - 1) / 2 for column in range(heads)]
    middle_y = [row * high + (rows - 1) / 2 for row in range(layers)]
    points = scatter(
        np.tile(np.array(middle_x, np.float32), layers),
        np.repeat(np.array(middle_y, np.float32), heads),
        "markers",
        marker={"size": 34, "symbol": "square", "color": accent, "opacity": 0.0},
        text=[f"layer {row + 1}, head {column + 1}" for row in range(layers) for column in range(heads)],
        hovertemplate="%{text}<br>click to open<extra></extra>",
        **_CLICKS,
    )
    # The frames of all are one shape: plotly checks and draws each shape by itself.
    corners = [(column * wide - 0.5, row * high - 0.5) for row in range(layers) for column in range(heads)]
    frames = "".join(f"M{x},{y}H{x + columns}V{y + rows}H{x}Z" for x, y in corners)
    x, y = corners[layer * heads + head]

    def axis(middles: Sequence[float], name: str, ends: tuple[float, float]) -> Labels:
        named = {"tickvals": list(middles), "ticktext": [str(i + 1) for i in range(len(middles))]}
        return Labels([], {**named, **title(name), **BARE, "range": ends, "autorange": None})

    return heat_map(
        sheet,
        axis(middle_y, "layer", (layers * high - 1.0, -1.0)),
        axis(middle_x, "head", (-1.0, heads * wide - 1.0)),
        theme,
        ends=(0, 255),
        x=None,
        y=None,
        hoverinfo="skip",
        more=[points],
        height=70 + layers * max(46, min(92, 900 // heads)),
        layout={
            "shapes": [
                {"type": "path", "path": frames, "line": {"color": "rgba(128,128,128,0.45)", "width": 1}},
                box(x, x + columns, y, y + rows, color=accent, width=3),
            ],
            "clickmode": "event+select",
        },
    )


def score_grid(grid: NDArray[np.floating], meaning: str, *, theme: Theme) -> go.Figure:
    """(L, H) scores from 0 to 1, layers down and heads across; NaN where a head has none."""
    layers, heads = grid.shape
    texts = [["" if np.isnan(value) else f"{100 * value:.0f}" for value in row] for row in grid]
    return heat_map(
        np.round(grid, 4),
        numbers(layers, **title("layer")),
        numbers(heads, **title("head")),
        theme,
        ends=(0.0, 1.0),
        xgap=2,
        ygap=2,
        colorbar={"title": {"text": "%"}, "tickvals": [0, 0.25, 0.5, 0.75, 1], "ticktext": [0, 25, 50, 75, 100]},
        hovertemplate="layer %{y}, head %{x}<br>" + label(meaning) + ": %{z:.1%}<extra></extra>",
        texts=texts if heads <= _NUMBERED_HEADS else None,
        height=110 + 34 * layers,
    )


def effect_grid(bits: Weights, off: Collection[tuple[int, int]], accent: str, *, theme: Theme) -> go.Figure:
    """What an answer loses without each head: layers down, heads across; a cross on every head that is off.

    ``bits`` (L, H), ``off`` from 0. The invisible point of (layer, head) has the index layer * H + head.
    """
    layers, heads = bits.shape
    down, across = numbers(layers, **title("layer")), numbers(heads, **title("head"))
    places = [(layer, head) for layer in range(layers) for head in range(heads)]
    over = [
        scatter(
            [across.at[head] for _, head in places],
            [down.at[layer] for layer, _ in places],
            "markers",
            marker={"size": 26, "symbol": "square", "opacity": 0.0},
            text=[
                f"layer {layer + 1}, head {head + 1}: {float(bits[layer, head]):.3f} bits"
                + (", off" if (layer, head) in off else "")
                for layer, head in places
            ],
            hovertemplate="%{text}<br>click to switch it<extra></extra>",
            **_CLICKS,
        )
    ]
    if off:
        always = {"marker": {"opacity": 1.0}}
        over.append(
            scatter(
                [across.at[head] for _, head in off],
                [down.at[layer] for layer, _ in off],
                "markers",
                hoverinfo="skip",
                marker={"symbol": "x-thin", "size": 15, "line": {"width": 4, "color": accent}},
                showlegend=False,
                selected=always,
                unselected=always,
            )
        )
    return heat_map(
        np.round(bits, 4),
        down,
        across,
        theme,
        ends=(0.0, max(0.05, float(bits.max(initial=0.0)))),
        xgap=2,
        ygap=2,
        hoverinfo="skip",
        colorbar="bits",
        more=over,
        height=120 + 34 * layers,
        layout={"clickmode": "event+select"},
    )


def score_map(scores: Weights, texts: Sequence[str], query: int, limit: float, *, theme: Theme) -> go.Figure:
    """One part of one head's scores, (n, n): queries down, keys across, the row of ``query`` framed.

    The scale runs from ``-limit`` to ``limit``, so that several maps can share it.
    """
    n = len(texts)
    at = [f"{i + 1} {label(token)}" for i, token in enumerate(texts)]
    axis = {
        "ticktext": [label(token) for token in texts],
        "tickvals": at,
        "tickfont": {"size": 10 if n > 16 else 12},
        "showgrid": False,
    }
    return heat_map(
        np.round(scores, 4),
        Labels(at, axis),
        Labels(at, axis | {"tickangle": -90}),
        theme,
        scale="differences",
        ends=(-limit, limit),
        xgap=1,
        ygap=1,
        hovertemplate="<b>%{y}</b> for <b>%{x}</b><br>%{z:.3f}<extra></extra>",
        height=min(620, 110 + 20 * n),
        layout={"shapes": [box(-0.5, n - 0.5, query - 0.5, query + 0.5, color=theme.ink, width=2)]},
    )


def choose(weights: Weights, layer: int | None, head: int | None) -> Weights:
    """One map (T, S) out of (L, H, T, S): a layer and head counted from 0, or the mean where one is None."""
    chosen = weights if layer is None else weights[layer : layer + 1]
    chosen = chosen if head is None else chosen[:, head : head + 1]
    return np.asarray(chosen.mean(axis=(0, 1), dtype=np.float64), dtype=np.float32)


def alignment_map(source: Sequence[Token], target: Sequence[Token], weights: Weights, *, theme: Theme) -> go.Figure:
    """What each written token (down) looked at among the tokens read (across); ``weights`` is (T, S)."""
    read, written = ([token.text.strip() or token.piece for token in side] for side in (source, target))
    shown = {"tickfont": {"family": MONO}, "fixedrange": False}
    return heat_map(
        np.round(weights, 4),
        names(_short(written), max(1, -(-len(written) // _MOST_LABELS)), **title("written", 6), **shown),
        names(_short(read), max(1, -(-len(read) // _MOST_LABELS)), tickangle=-60, **title("read", 6), **shown),
        theme,
        ends=(0.0, max(0.1, float(weights.max()))),
        colorbar="weight",
        customdata=np.array([[[label(w), label(r)] for r in read] for w in written], dtype=object),
        hovertemplate="<b>%{customdata[0]}</b> attended to <b>%{customdata[1]}</b><br>weight %{z:.3f}<extra></extra>",
        mono=True,
        height=int(min(860, max(300, 200 + 26 * len(written)))),
    )


def _short(texts: Sequence[str]) -> list[str]:
    """Names that leave the map its room: what stands before a text, such as a task, can be long."""
    return [cut(text, 14) for text in texts]


def alignment_lines(weights: Weights) -> list[tuple[int, int, float]]:
    """The lines worth drawing between two rows of tokens, as (written, read, weight); ``weights`` is (T, S).

    Those of at least :data:`LEAST`, and each written token's strongest, so that none stands alone.
    """
    if not weights.size:
        return []
    strong = weights >= LEAST
    strong[np.arange(len(weights)), weights.argmax(axis=1)] = True
    return [(int(t), int(s), round(float(weights[t, s]), 3)) for t, s in zip(*np.nonzero(strong), strict=True)]


def alignment_table(source: Sequence[Token], target: Sequence[Token], weights: Weights) -> list[dict[str, object]]:
    """One row for each written token: the three tokens that it looked at most, and how much."""
    rows: list[dict[str, object]] = []
    for index, (token, line) in enumerate(zip(target, weights, strict=True)):
        row: dict[str, object] = {"Step": index + 1, "Written": token.text or token.piece}
        for rank, s in enumerate(np.argsort(-line)[:3].tolist(), start=1):
            row[f"Attends to ({rank})"] = source[s].text or source[s].piece
            row[f"Weight ({rank})"] = round(float(line[s]), 3)
        rows.append(row)
    return rows


def _thumbnails(weights: Weights) -> NDArray[np.uint8]:
    """(L, H, Q, K) -> (L, H, q, k) with q, k small: the largest weight of each cell, scaled to 0 ... 255 by head."""
    for axis in (2, 3):
        size = weights.shape[axis]
        if size > _MOST_CELLS:
            starts = np.unique(np.linspace(0, size, _MOST_CELLS, endpoint=False).astype(int))
            weights = np.maximum.reduceat(weights, starts, axis=axis)
    largest = np.maximum(weights.max(axis=(2, 3), keepdims=True), 1e-9)
    return np.asarray(np.rint(weights / largest * 255), dtype=np.uint8)
