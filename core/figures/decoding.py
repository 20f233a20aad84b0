"""Truncation of the next-token distribution: bars before and after, removed candidates hatched, and the threshold; and
what the KV cache holds at a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.figures import heatmap
from core.figures.bars import Series, bars
from core.figures.labels import label, percent, sentence
from core.figures.plot import BARE, HIDDEN, Json, Trace, cut, level, note, scatter, title, upright
from core.language.decoding.reader import RuleEffect
from core.lazy import go
from core.theme import SMALL, Theme, mixed

_ROW = 27
_BARS = 0.7
"""The share of the width for the bars; the rest is for the numbers."""
SHOWN = 24
"""Tokens of a text whose queries, keys and values are drawn."""
_IN_CELLS = 12
_FAINT = "rgba(138,147,156,0.45)"


def truncation_bars(
    effect: RuleEffect, names: Sequence[str], color: str, *, taken: int | None = None, theme: Theme
) -> go.Figure:
    """Two bars a token: the probability before truncation (wide, gray, hatched where removed) and after it.

    Args:
        names: of the tokens of ``effect.rows``.
        taken: id of the sampled token; its label is bold.
    """
    texts = [f"{percent(row.before)} → {'cut' if row.removed else percent(row.after)}" for row in effect.rows]
    words, hatch = _words(names, texts), ["/" if row.removed else "" for row in effect.rows]
    right = max([max(row.before, row.after) for row in effect.rows], default=1e-9) / _BARS
    # a separate column for the numbers, where no line crosses them
    column = scatter(
        [right] * len(texts), list(range(len(texts))), "text", text=texts, textposition="middle left", **HIDDEN
    )
    sums, shapes = _threshold(effect, theme)
    return _bars(
        effect,
        names,
        [
            Series("before", [row.before for row in effect.rows], _FAINT, hatch, words=words, width=0.8),
            Series("after", [row.after for row in effect.rows], color, words=words, width=0.4),
        ],
        theme,
        taken=taken,
        top=-1.2 if effect.summary.rule == "min_p" else -0.6,
        end=right,
        more=[column, *sums],
        height=_ROW * max(1, len(names)) + 40,
        margin={"r": 4, "t": 24, "b": 4},
        barmode="overlay",
        **shapes,
    )


def surprisal_bars(
    effect: RuleEffect, names: Sequence[str], color: str, *, taken: int | None = None, theme: Theme
) -> go.Figure:
    """The surprisal of each token in bits, and the entropy as a line: typical sampling keeps tokens near it."""
    entropy = effect.summary.entropy
    texts = [f"{row.surprisal:.1f} bits{', cut' if row.removed else ''}" for row in effect.rows]
    series = Series(
        "surprisal",
        [row.surprisal - entropy for row in effect.rows],
        [_FAINT if row.removed else color for row in effect.rows],
        ["/" if row.removed else "" for row in effect.rows],
        words=_words(names, texts),
        width=0.55,
        base=entropy,
    )
    return _bars(
        effect,
        names,
        [series],
        theme,
        taken=taken,
        top=-0.6,
        end=1.1 * max([row.surprisal for row in effect.rows] + [entropy]),
        xaxis=title("surprisal (bits)"),
        height=_ROW * max(1, len(names)) + 66,
        margin={"r": 4, "t": 26, "b": 40},
        shapes=[upright(entropy, color=theme.ink, width=1.5, dash="dash")],
        annotations=[note(f"H = {entropy:.1f} bits", entropy, 1, yref="paper", yanchor="bottom")],
    )


def truncation_alt(effect: RuleEffect, names: Sequence[str], what: str) -> str:
    """The bars in a few sentences."""
    values = "; ".join(
        f"{name} {percent(row.before)}, {'cut off' if row.removed else f'then {percent(row.after)}'}"
        for name, row in zip(names, effect.rows, strict=True)
    )
    around = effect.summary
    numbers = {"kept": f"{around.remaining:,}", "count": f"{around.of:,}", "mass": percent(around.mass)}
    return f"{sentence('Truncation', processor=what, **numbers)} {values}."


def _threshold(effect: RuleEffect, theme: Theme) -> tuple[list[Trace], Json]:
    """The line at the truncation threshold: its traces and its layout."""
    around, rows = effect.summary, effect.rows
    dashed: Json = {"color": theme.ink, "width": 1.5, "dash": "dash"}
    if around.rule == "min_p" and rows:
        least = around.value * rows[0].before
        text = note(f"m · p_max = {percent(least)}", least, -0.9, xanchor="left")
        return [], {"shapes": [upright(least, **dashed)], "annotations": [text]}
    if around.rule == "top_k" and around.value < len(rows):
        edge = around.value - 0.5
        text = note(f"the {around.value:.0f} best above", _BARS, edge, xref="paper", yanchor="bottom", xanchor="right")
        return [], {"shapes": [level(edge, **dashed)], "annotations": [text]}
    if around.rule != "top_p":
        return [], {}
    sums = scatter(
        [row.reached for row in rows],
        list(range(len(rows))),
        "lines+markers",
        xaxis="x2",
        name="sum",
        line={"color": theme.ink, "width": 1.5},
        marker={"size": 6, "color": theme.ink},
        hovertemplate="cumulative: %{x:.1%}<extra></extra>",
    )
    p = around.value
    axis = {
        "overlaying": "x",
        "side": "top",
        "range": [0, 1 / _BARS],
        "tickvals": [0, 0.5, p, 1.0],
        "ticktext": ["0", "0.5" if abs(p - 0.5) > 0.12 else "", f"p = {p:g}", "1" if p < 0.85 else ""],
    }
    return [sums], {"shapes": [upright(p, **dashed) | {"xref": "x2", "yref": "paper"}], "xaxis2": axis}


def _words(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    return [f"{label(name)}: {text}" for name, text in zip(names, texts, strict=True)]


def _bars(
    effect: RuleEffect,
    names: Sequence[str],
    series: Sequence[Series],
    theme: Theme,
    *,
    taken: int | None,
    top: float,
    **look: Any,
) -> go.Figure:
    """Bars of the candidates, the sampled one marked, with room above the first row up to ``top``."""
    shown = []
    for name, row in zip(names, effect.rows, strict=True):
        escaped = label(cut(name, 18))
        shown.append(f"<b>▸ {escaped}</b> " if row.id == taken else f"{escaped} ")
    rows = {"autorange": None, "range": [len(names) - 0.4, top]}
    return bars(shown, series, theme, yaxis=rows, showlegend=False, **look)


def cache_map(names: Sequence[str], at: int, *, theme: Theme) -> go.Figure:
    """Queries, keys and values (rows) of tokens (columns) while token ``at``, from 1, is computed.

    Keys and values of earlier tokens are stored, paler than the new ones; their queries are dropped. What comes later
    is hatched: it is not computed yet.
    """
    colors: list[str] = [theme.raised, theme.query]
    for color in (theme.key, theme.value):
        colors += [mixed(color, theme.ground, 0.6), color]
    values, texts = np.full((3, len(names)), np.nan), [[""] * len(names) for _ in range(3)]
    for row, before in enumerate(("–", "kept", "kept")):
        values[row, : at - 1], values[row, at - 1] = 2 * row, 2 * row + 1
        if len(names) <= _IN_CELLS:
            texts[row][:at] = [before] * (at - 1) + ["new"]
    down = heatmap.Labels(["query", "key", "value"], {"type": "category", "tickfont": {"size": SMALL}} | BARE)
    return heatmap.heat_map(
        values,
        down,
        heatmap.tokens(names),
        theme,
        scale=colors,
        ygap=4,
        texts=texts,
        hovertemplate="%{y} of %{x}<extra></extra>",
        height=230,
    )
