"""Heads as dots and bars: scores against depth, sharpness against effect, relations, and one word in several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.attention.roles.relations import RelationCounts
from core.figures.bars import hatched
from core.figures.labels import label
from core.figures.plot import TURNED, Json, cut, figure, note, scatter, title, upright
from core.lazy import go
from core.theme import MONO, Theme

SHAPES = ("circle", "diamond", "square", "triangle-up", "cross")
"""A branch has a shape as well as a color."""
QUARTERS = 4
ELSEWHERE = "other tokens"
_SIZE = 9
_RELATION = 34
"""Pixels of one relation."""
_MODEL = 118
"""Pixels of a model's row."""


@dataclass(frozen=True, slots=True)
class Dots:
    """The heads of one branch; all sequences have equal length."""

    title: str
    color: str
    depth: Sequence[float]
    """From 0, the input, to 1, the output."""
    score: Sequence[float]
    names: Sequence[str]
    """The hover text of each dot."""
    shape: str = SHAPES[0]


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One word's attention weights in one model."""

    title: str
    color: str
    weights: NDArray[np.float32]  # (n,)
    computed: NDArray[np.bool_]  # (n,)
    rest: float
    """Weight on tokens of no word."""


def means(depth: Sequence[float], score: Sequence[float]) -> list[float | None]:
    """The mean score in each quarter of the depth; None for a quarter without heads."""
    quarter = np.minimum((np.asarray(depth) * QUARTERS).astype(int), QUARTERS - 1)
    values = np.asarray(score, dtype=np.float64)
    return [float(values[quarter == q].mean()) if (quarter == q).any() else None for q in range(QUARTERS)]


def depth_dots(groups: Sequence[Dots], *, theme: Theme) -> go.Figure:
    """One dot per head, a trace per group in the given order, and the mean of each quarter of the depth.

    Curve i is group i, and its point j the group's j-th head.
    """
    traces = [
        scatter(
            [round(value, 4) for value in dots.depth],
            [round(value, 4) for value in dots.score],
            "markers",
            name=dots.title,
            text=[label(name) for name in dots.names],
            marker={
                "size": _SIZE,
                "color": dots.color,
                "opacity": 0.72,
                "symbol": dots.shape,
                "line": {"width": 0.5, "color": theme.ink},
            },
            selected={"marker": {"opacity": 1.0, "size": _SIZE + 4}},
            unselected={"marker": {"opacity": 0.72}},
            hovertemplate="%{text}<br>%{y:.3f}<extra></extra>",
        )
        for dots in groups
    ]
    x: list[float | None] = []
    y: list[float | None] = []
    together = means([d for dots in groups for d in dots.depth], [s for dots in groups for s in dots.score])
    for quarter, mean in enumerate(together):
        x += [quarter / QUARTERS, (quarter + 1) / QUARTERS, None]
        y += [mean, mean, None]
    line = {"color": theme.ink, "width": 3}
    traces.append(scatter(x, y, "lines", line=line, name="mean per quarter of the depth", hoverinfo="skip"))
    highest = max((value for dots in groups for value in dots.score), default=1.0)
    return figure(
        theme,
        traces,
        height=380,
        margin={"r": 26},
        clickmode="event+select",
        legend={"itemclick": False, "itemdoubleclick": False},
        xaxis={
            **title("depth, from the first to the last layer"),
            "range": [-0.015, 1.03],
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "tickformat": ".0%",
        },
        yaxis={"range": [-0.03 * highest, 1.06 * highest]},
    )


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


def best_heads(
    rows: Sequence[RelationCounts], published: Mapping[str, tuple[float, int, int]], color: str, *, theme: Theme
) -> go.Figure:
    """One row per relation: a dot with its interval, a bar at the fixed-offset baseline, a ring for BERT-base."""
    names = [row.relation for row in rows]
    lows, highs = zip(*(row.interval for row in rows), strict=True)
    accuracy = [row.accuracy for row in rows]
    known = [name for name in names if name in published]
    traces = [
        scatter(
            [row.baseline for row in rows],
            names,
            "markers",
            name="fixed-offset baseline",
            marker={"symbol": "line-ns", "size": 17, "line": {"width": 3, "color": theme.ink}},
            customdata=[f"{row.offset:+d}" for row in rows],
            hovertemplate="offset %{customdata}: %{x:.1%}<extra></extra>",
        ),
        scatter(
            [published[name][0] / 100 for name in known],
            known,
            "markers",
            name="BERT-base, Clark et al. 2019",
            marker={"symbol": "circle-open", "size": 13, "line": {"width": 2, "color": theme.muted}},
            customdata=[f"{published[name][1]}-{published[name][2]}" for name in known],
            hovertemplate="BERT-base, head %{customdata}: %{x:.1%}<extra></extra>",
        ),
        scatter(
            accuracy,
            names,
            "markers",
            name="best head here",
            marker={"size": 12, "color": color},
            error_x={
                "array": [high - x for high, x in zip(highs, accuracy, strict=True)],
                "arrayminus": [x - low for low, x in zip(lows, accuracy, strict=True)],
                "color": color,
                "thickness": 2,
                "width": 0,
            },
            customdata=[f"{row.best[0] + 1}-{row.best[1] + 1}" for row in rows],
            hovertemplate="head %{customdata}: %{x:.1%}<extra></extra>",
        ),
    ]
    return figure(
        theme,
        traces,
        height=_RELATION * len(names) + 90,
        margin={"l": 0},
        xaxis={"range": [0, 1.04], "tickformat": ".0%", "showgrid": True},
        yaxis=TURNED | {"tickfont": {"size": 15}},
    )


def word_bars(words: Sequence[str], chosen: int, models: Sequence[Row], *, theme: Theme) -> go.Figure:
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
        "tickfont": {"family": MONO, "size": 12},
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
