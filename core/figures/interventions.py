"""What an intervention changes, and what parts of a model write: maps and bars of states, heads, logits and losses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.figures.bars import Series, bars, hatched
from core.figures.heatmap import Labels, heat_map, numbers, points
from core.figures.heatmap import names as named
from core.figures.labels import label
from core.figures.plot import box, cut, figure, note, title, upright
from core.lazy import go
from core.theme import Theme

_WRITTEN = 14
"""The most columns with a number in each cell."""


def patch_map(
    recovered: NDArray[np.float32],
    rows: Sequence[str],
    columns: Sequence[str],
    selected: tuple[int, int],
    *,
    heads: bool,
    causal: bool,
    theme: Theme,
) -> go.Figure:
    """(R, C) shares of a logit difference that return, states down and tokens or heads across; clickable.

    The selected cell is framed, and what it can reach in later rows: with ``causal`` its own column and those after it.
    """
    count, wide = recovered.shape
    row, column = selected
    reach = [
        box(
            column - 0.5 if causal else -0.5, wide - 0.5, row + 0.5, count - 0.5, color=theme.ink, width=1.5, dash="dot"
        )
    ]
    if heads:
        across = numbers(wide, **title("head"))
    else:
        texts = [label(cut(text, 16)) for text in columns]
        across = Labels(
            list(range(wide)),
            {
                "tickmode": "array",
                "tickvals": list(range(wide)),
                "ticktext": texts,
                "tickangle": -60,
                "showgrid": False,
            },
        )
    shares = [[f"{value:.0%}".replace("-0%", "0%").removesuffix("%") for value in line] for line in recovered.tolist()]
    return heat_map(
        np.round(recovered, 4),
        named(rows),
        across,
        theme,
        scale="differences",
        ends=(-1.0, 1.0),
        xgap=2,
        ygap=2,
        colorbar={
            "title": {"text": "% of the logit difference"},
            "tickvals": [-1, -0.5, 0, 0.5, 1],
            "ticktext": [-100, -50, 0, 50, 100],
        },
        hovertemplate="%{y}, %{x}<br>%{z:.1%} of the difference returns<extra></extra>",
        texts=shares if wide <= _WRITTEN else None,
        clickable=True,
        selected=selected,
        layout={"shapes": reach if row < count - 1 and not heads else []},
        height=190 + 32 * count,
    )


def feature_map(
    activations: NDArray[np.float32],
    features: Sequence[str],
    tokens: Sequence[str],
    selected: tuple[int, int] | None,
    *,
    theme: Theme,
) -> go.Figure:
    """(F, n) activations, features down and tokens across; clickable, the selected cell framed."""
    return heat_map(
        np.round(activations, 2),
        named([cut(name, 34) for name in features]),
        named([cut(token, 12) for token in tokens], tickangle=-60),
        theme,
        xgap=2,
        ygap=2,
        colorbar="activation",
        hovertemplate="feature %{y}<br>%{x}: %{z:.1f}<extra></extra>",
        clickable=True,
        selected=selected,
        height=150 + 28 * len(features),
    )


def share_bars(parts: Sequence[str], shares: Sequence[float], total: float, *, theme: Theme) -> go.Figure:
    """A bar for each part, to the right above zero and to the left below, and their sum below them."""
    values = [*shares, total]
    below, above = theme.differences[0][1], theme.differences[-1][1]
    colors = [below if value < 0 else above for value in shares] + [theme.muted]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.22 * ((high - low) or 1.0)
    return bars(
        [*map(label, parts), "<b>sum</b>"],
        [Series("share", values, colors, texts=[f"{value:+.2f}" for value in values], hover="%{customdata}: %{x:.3f}")],
        theme,
        end=high + room,
        height=26 * len(values) + 40,
        xaxis={
            "range": [low - (room if low else 0), high + room],
            "zeroline": True,
            "showticklabels": False,
            "showgrid": False,
        },
        margin={"r": 8, "t": 4, "b": 4},
        showlegend=False,
    )


def written_map(shares: NDArray[np.float32], rows: Sequence[str], *, theme: Theme) -> go.Figure:
    """(R, H) what each head wrote, layers down and heads across."""
    heads = shares.shape[1]
    written = [[f"{value:.1f}".replace("-0.0", "0.0") for value in line] for line in shares.tolist()]
    return heat_map(
        np.round(shares, 4),
        named(rows),
        numbers(heads, **title("head")),
        theme,
        scale="differences",
        xgap=2,
        ygap=2,
        colorbar="nats",
        hovertemplate="%{y}, head %{x}<br>%{z:.2f} nats<extra></extra>",
        texts=written if heads <= _WRITTEN else None,
        height=130 + 34 * len(rows),
    )


def loss_bars(
    names: Sequence[str],
    losses: Sequence[float],
    selected: int,
    lines: Sequence[tuple[str, float]],
    color: str,
    *,
    measure: str,
    theme: Theme,
) -> go.Figure:
    """Horizontal bars of the loss with each part broken, clickable; the ``selected`` one stands out.

    Bars that reach far beyond the lines end at the edge, infinite ones, too.

    Args:
        lines: the name and the loss of upright lines over the bars, the intact model's first.
        measure: what the bars count.
    """
    chosen = [row == selected for row in range(len(names))]
    shown = [f"<b>▸ {name}</b>" if is_chosen else name for name, is_chosen in zip(names, chosen, strict=True)]
    words = [f"{name}: {loss:.2f}" for name, loss in zip(names, losses, strict=True)]
    most = 1.6 * max(loss for _, loss in lines)
    drawn = [min(loss, most) for loss in losses]
    series = Series(
        "loss",
        drawn,
        [color if is_chosen else theme.muted for is_chosen in chosen],
        ["/" if is_chosen else "" for is_chosen in chosen],
        texts=["overflow" if math.isinf(loss) else f"{loss:.1f}" for loss in losses],
        words=words,
    )
    room = 1.35 if math.inf in losses else 1.15
    middles = [loss / 2 for loss in drawn]
    return bars(
        [f"{name}  " for name in shown],
        [series],
        theme,
        measure=measure,
        height=96 + 25 * len(names),
        end=room * max([*drawn, *(loss for _, loss in lines)]),
        size=13,
        # a click counts for the nearest point, so that a short bar is as easy to hit
        more=[points(middles, list(range(len(names))), 24, text=words, hovertemplate="%{text}<extra></extra>")],
        shapes=[
            upright(loss, color=theme.ink, width=2, dash=dash) | {"layer": layer}
            for (_, loss), (dash, layer) in zip(lines, (("solid", "above"), ("dot", "below")), strict=True)
        ],
        annotations=[
            note(f"{name} {loss:.1f}", loss, 1, yref="paper", yanchor="bottom", yshift=2 + 17 * row)
            for row, (name, loss) in enumerate(lines)
        ],
        margin={"t": 44, "r": 14},
        clickmode="event+select",
        hoverdistance=150,
    )


def token_bars(
    tokens: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], measure: str, *, theme: Theme
) -> go.Figure:
    """Bars side by side above each token, one for each of the ``series``, as shares."""
    at = list(range(len(tokens)))
    traces = [
        {
            "type": "bar",
            "x": at,
            "y": list(values),
            "name": name,
            "marker": hatched(theme.categorical[number], ("", "/", ".")[number], theme),
            "hovertemplate": f"%{{x}}, {label(name)}: %{{y:.1%}}<extra></extra>",
        }
        for number, (name, values) in enumerate(series)
    ]
    names = [label(cut(token, 12)) for token in tokens]
    tokens_axis = {"tickmode": "array", "tickvals": at, "ticktext": names, "tickangle": -60 if len(at) > 8 else 0}
    shares = {**title(measure), "tickformat": ".0%", "rangemode": "tozero"}
    return figure(theme, traces, height=320, margin={"t": 48}, bargap=0.25, xaxis=tokens_axis, yaxis=shares)
