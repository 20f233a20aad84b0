"""Attention as figures: a head, scores of heads as a grid, alignments."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from core.attention.trace import AttentionMap
from core.figures.heatmap import heat_map, numbers, points, tokens
from core.figures.labels import label
from core.figures.plot import scatter, title
from core.language.types import Token
from core.lazy import go
from core.theme import Theme

Weights = NDArray[np.float32]
LEAST = 0.1
"""The least weight of a line between two rows of tokens."""
_NUMBERED_HEADS = 16  # of a grid; with more there is no room for a number in each cell


def attention_map(
    attention_map: AttentionMap, layer: int, head: int, query: int | None = None, *, theme: Theme
) -> go.Figure:
    """One head: queries down, keys across, hatched where no weight was computed; the row of ``query`` is framed.

    All count from 0. A click on a cell selects a point, cell by cell in rows, where there are few enough.
    """
    weights = np.where(
        attention_map.computed(layer, head), attention_map.weights[layer, head], np.float32(np.nan)
    )  # (Q, K)
    down = "query: generated token" if attention_map.crosses else "query"
    gaps = "masked" if attention_map.causal else "not computed"
    return weight_map(weights, attention_map.query_tokens, attention_map.key_tokens, query, down, gaps, theme=theme)


def weight_map(
    weights: Weights,
    queries: Sequence[str],
    keys: Sequence[str],
    query: int | None = None,
    down: str = "query: generated token",
    gaps: str = "not computed",
    *,
    theme: Theme,
) -> go.Figure:
    """Attention weights (Q, K), NaN where nothing was computed.

    The map is clickable, and the row of ``query`` framed, if there is one.

    Args:
        down: the title of the queries.
        gaps: what cells without a weight are.
    """
    rows, columns = weights.shape
    return heat_map(
        np.round(weights, 4),
        tokens(queries, **title(down)),
        tokens(keys, tickangle=-60 if columns <= 20 else -90, **title("key")),
        theme,
        ends=(0.0, max(0.2, float(np.nanmax(weights, initial=0.0)))),
        colorbar="attention weight" + (f" (hatched: {gaps})" if np.isnan(weights).any() else ""),
        hovertemplate="<b>%{y}</b> attends to <b>%{x}</b><br>attention weight %{z:.3f}<extra></extra>",
        mono=True,
        clickable=query is not None,
        selected=query,
        height=int(min(860, max(340, 150 + rows * (24 if rows <= 24 else 16)))),
    )


def score_grid(
    grid: NDArray[np.floating], meaning: str, selected: tuple[int, int] | None = None, *, theme: Theme
) -> go.Figure:
    """(L, H) scores from 0 to 1, layers down and heads across; NaN where a head has none.

    A frame marks the head ``selected``; if there is one, the grid is clickable.
    """
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
        clickable=selected is not None,
        selected=selected,
        height=110 + 34 * max(2, layers),
    )


def effect_grid(
    bits: Weights, ablated: Collection[tuple[int, int]], accent: str, more: Sequence[str] = (), *, theme: Theme
) -> go.Figure:
    """The effect of ablating each head in bits: layers down, heads across; a cross marks ablated heads.

    ``bits`` (L, C), ``ablated`` (layer, column) from 0. The invisible point of a cell has the index layer * C + column.

    Args:
        more: names of the last columns, which are no heads: they may have larger effects than the scale shows.
    """
    layers, columns = bits.shape
    heads = columns - len(more)
    down, across = numbers(layers, **title("layer")), numbers(heads, **title("head"))
    across = across._replace(at=[*across.at, *more])
    texts = [
        f"layer {at // columns + 1}, {more[column - heads] if column >= heads else f'head {column + 1}'}: "
        f"{effect:.3f} bits" + (", ablated" if divmod(at, columns) in ablated else "")
        for at, effect in enumerate(bits.ravel().tolist())
        for column in (at % columns,)
    ]
    places = [*across.at] * layers, [row for row in down.at for _ in range(columns)]
    over = [points(*places, 30, text=texts, hovertemplate="%{text}<br>click to ablate or restore<extra></extra>")]
    if ablated:
        always = {"marker": {"opacity": 1.0}}
        over.append(
            scatter(
                [across.at[head] for _, head in ablated],
                [down.at[layer] for layer, _ in ablated],
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
        ends=(0.0, max(0.05, float(bits[:, :heads].max(initial=0.0)))),
        xgap=2,
        ygap=2,
        hoverinfo="skip",
        colorbar="bits",
        more=over,
        height=120 + 34 * layers,
        layout={"clickmode": "event+select"},
    )


def choose(weights: Weights, layer: int | None, head: int | None) -> Weights:
    """One map (T, S) out of (L, H, T, S): a layer and head counted from 0, or the mean where one is None."""
    chosen = weights if layer is None else weights[layer : layer + 1]
    chosen = chosen if head is None else chosen[:, head : head + 1]
    return np.asarray(chosen.mean(axis=(0, 1), dtype=np.float64), dtype=np.float32)


def alignment_map(
    source: Sequence[Token], target: Sequence[Token], weights: Weights, step: int, *, theme: Theme
) -> go.Figure:
    """Cross-attention from generated tokens (down) to source tokens (across); ``weights`` is (T, S).

    The row of ``step``, from 0, is framed.
    """
    read, written = ([token.text.strip() or token.piece for token in side] for side in (source, target))
    return weight_map(weights, written, read, step, theme=theme)


def alignment_lines(weights: Weights) -> list[tuple[int, int, float]]:
    """The alignment lines to draw, as (target, source, weight); ``weights`` is (T, S).

    Weights of at least :data:`LEAST`, and each target token's largest, so that every target has a line.
    """
    if not weights.size:
        return []
    strong = weights >= LEAST
    strong[np.arange(len(weights)), weights.argmax(axis=1)] = True
    return [(int(t), int(s), round(float(weights[t, s]), 3)) for t, s in zip(*np.nonzero(strong), strict=True)]


def alignment_table(source: Sequence[Token], target: Sequence[Token], weights: Weights) -> list[dict[str, object]]:
    """One row for each generated token: the three source tokens with the largest attention weights."""
    rows: list[dict[str, object]] = []
    for index, (token, line) in enumerate(zip(target, weights, strict=True)):
        row: dict[str, object] = {"Step": index + 1, "Generated": token.text or token.piece}
        for rank, s in enumerate(np.argsort(-line)[:3].tolist(), start=1):
            row[f"Attends to ({rank})"] = source[s].text or source[s].piece
            row[f"Weight ({rank})"] = round(float(line[s]), 3)
        rows.append(row)
    return rows
