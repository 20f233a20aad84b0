"""Heads as dots and bars: sharpness against effect, and one word in several models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.figures.bars import hatched
from core.figures.heatmap import cells, names
from core.figures.labels import label
from core.figures.plot import Json, cut, figure, note, scatter, title, upright
from core.lazy import go
from core.theme import MONO, SMALL, Theme

ELSEWHERE = "other tokens"
_MODEL = 118
"""Pixels of a model's row."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelWeights:
    """One word's attention weights in one model."""

    title: str
    color: str
    weights: NDArray[np.float32]  # (n,)
    computed: NDArray[np.bool_]  # (n,)
    rest: float
    """Weight on tokens of no word."""


def sharp_and_idle(
    names: Sequence[str], sharpness: Sequence[float], bits: Sequence[float], color: str, *, theme: Theme
) -> go.Figure:
    """One dot per head: attention sharpness against the effect of ablation in bits (square-root scale)."""
    roots = np.sqrt(np.asarray(bits, dtype=np.float64))
    top = max(0.3, float(roots.max(initial=0.0)))
    ticks = [t for t in (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0) if t**0.5 <= top]
    dots = scatter(
        list(sharpness),
        roots,
        "markers",
        marker={"size": 10, "color": color, "opacity": 0.8},
        text=list(names),
        customdata=list(bits),
        hovertemplate="%{text}<br>sharpness %{x:.2f}, effect %{customdata:.3f} bits<extra></extra>",
    )
    return figure(
        theme,
        [dots],
        height=320,
        xaxis={**title("attention sharpness"), "range": [0, 1.03]},
        yaxis={
            **title("effect of ablation (bits)"),
            "tickmode": "array",
            "tickvals": [t**0.5 for t in ticks],
            "ticktext": [f"{t:g}" for t in ticks],
            "range": [-0.03 * top, 1.08 * top],
        },
    )


def word_bars(words: Sequence[str], chosen: int, models: Sequence[ModelWeights], *, theme: Theme) -> go.Figure:
    """Attention weights from one word in several models: bars from 0 to 1 over all words and one for other tokens.

    Gray where a model never computes a weight. The chosen word is marked in each row.
    """
    names = [*(f"{i + 1} · {label(word)}" for i, word in enumerate(words)), ELSEWHERE]
    count = len(models)
    gap = 0.3 / (count + 1)
    room = (1 - gap * (count - 1)) / count
    across: Json = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": names,
        "tickmode": "array",
        "tickvals": names,
        "tickangle": -60,
        "tickfont": {"family": MONO, "size": SMALL},
        "labelalias": {name: label(cut(word, 14)) for name, word in zip(names, words, strict=False)}
        | {ELSEWHERE: "others"},
    }
    traces, notes = [], []
    axes: Json = {}
    for number, model in enumerate(models):
        key = "" if number == 0 else str(number + 1)
        on = {"type": "bar", "xaxis": f"x{key}", "yaxis": f"y{key}", "showlegend": False}
        unseen = [name for name, seen in zip(names, model.computed, strict=False) if not seen]
        traces += [
            {
                **on,
                "x": names,
                "y": [*np.round(model.weights, 4).tolist(), round(model.rest, 4)],
                "marker": {"color": [model.color] * len(words) + [theme.muted]},
                "hovertemplate": "%{x}: %{y:.3f}<extra></extra>",
            },
            {
                **on,
                "x": unseen,
                "y": [1.0] * len(unseen),
                "width": 1.0,
                "marker": hatched(theme.ground, "/", theme),
                "hovertemplate": "%{x}: not computed<extra></extra>",
            },
        ]
        over: Json = {"xref": "paper", "xanchor": "left", "yanchor": "bottom", "yref": f"y{key} domain"}
        notes.append(note(f"<b>{label(model.title)}</b>", 0, 1.04, **over))
        top = 1 - number * (room + gap)
        axes[f"yaxis{key}"] = {
            "range": [0, 1.02],
            "tickvals": [0, 0.5, 1],
            "anchor": f"x{key}",
            "domain": [max(0.0, top - room), top],
        }
        last = number == count - 1
        linked: Json = {} if last else {"matches": f"x{'' if count == 1 else count}", "showticklabels": False}
        axes[f"xaxis{key}"] = {**across, "anchor": f"y{key}", **linked}
    return figure(
        theme,
        traces,
        **axes,
        annotations=notes,
        shapes=[upright(chosen, row=row, color=theme.ink, width=1, dash="dot") for row in range(1, count + 1)],
        height=_MODEL * count + 90,
        margin={"t": 26},
        barmode="overlay",
        bargap=0.25,
    )


def small_maps(weights: NDArray[np.float32], tokens: Sequence[str], *, theme: Theme) -> go.Figure:
    """The maps of all heads (L, H, n, n) in one picture: layers down, heads across, each with its queries down."""
    layers, heads, n, _ = weights.shape
    apart = max(1, n // 8)
    grid = np.full((layers * (n + apart) - apart, heads * (n + apart) - apart), np.nan, np.float32)
    words = np.full(grid.shape, "", object)
    named = [label(token) for token in tokens]
    over = [[f"<b>{query}</b> attends to <b>{key}</b>" for key in named] for query in named]
    for layer in range(layers):
        for head in range(heads):
            down, across = layer * (n + apart), head * (n + apart)
            grid[down : down + n, across : across + n] = np.round(weights[layer, head], 3)
            words[down : down + n, across : across + n] = over
    middle = [at * (n + apart) + (n - 1) / 2 for at in range(max(layers, heads))]
    axis: Json = {"tickmode": "array", "showgrid": False, "zeroline": False, "tickvals": middle}
    trace = {
        **cells(grid, names([""] * len(grid)), names([""] * grid.shape[1]), theme, ends=(0.0, 1.0)),
        **{"customdata": words, "hovertemplate": "%{customdata}: %{z:.2f}<extra></extra>", "hoverongaps": False},
        **{"xgap": 0, "ygap": 0},
    }
    return figure(
        theme,
        [trace],
        height=70 + 78 * layers,
        xaxis={**axis, "side": "top", "ticktext": [f"head {head + 1}" for head in range(heads)]},
        yaxis={**axis, "autorange": "reversed", "ticktext": [f"layer {layer + 1}" for layer in range(layers)]},
        margin={"t": 30, "b": 10},
    )
