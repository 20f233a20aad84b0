"""A masked word in one picture: the tokens, one head's attention from the mask to them, and the predictions as bars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.figures.labels import label
from core.figures.plot import CLEAR, EDGE, Json, cut, figure, hover, note, scatter
from core.figures.predictions import percent
from core.lazy import go
from core.theme import Theme

ROWS = 16
"""Tokens that are drawn at most: those with the largest weights."""
HEIGHT = 290
"""Pixels, whatever the text: nothing moves when another one is drawn."""
_TOKENS, _LINES, _MASK, _WORDS, _BARS = 0.2, (0.215, 0.345), (0.35, 0.505), 0.715, 0.73
"""Where tokens end, lines and the mask's box reach from and to, words end and bars begin, as shares of the width."""


def masked_word(
    tokens: Sequence[str],
    weights: NDArray[np.float32],
    at: int,
    words: Sequence[str],
    chances: Sequence[float],
    color: str,
    *,
    special: Sequence[int],
    theme: Theme,
) -> go.Figure:
    """The picture, from left to right: ``tokens``, lines to the mask, the mask, ``words`` with their bars.

    Args:
        weights: (n,) of the query at the mask, in one head; a line's width and strength.
        at: the mask's position.
        chances: the probability of each of ``words``, the highest first.
        special: positions of special tokens, which are gray.
    """
    shown = sorted(np.argsort(-weights, kind="stable")[:ROWS].tolist())
    rows = np.linspace(0, 1, len(shown)) if len(shown) > 1 else np.array([0.5])
    places = np.linspace(0.12, 0.88, len(words)) if len(words) > 1 else np.array([0.5])
    longest, width = max(chances), 0.6 / max(1, len(words))
    names = scatter(
        [_TOKENS] * len(shown),
        rows,
        "text",
        text=[label(cut(tokens[i], 14)) for i in shown],
        textposition="middle left",
        textfont={"size": 14, "color": [theme.muted if i in special else theme.ink for i in shown]},
        showlegend=False,
        **hover([f"{label(tokens[i])}: {weights[i]:.2f} of the attention" for i in shown]),
    )
    bars: Json = {
        "type": "bar",
        "orientation": "h",
        "base": _BARS,
        "x": [0.18 * chance / longest for chance in chances],
        "y": places,
        "width": width,
        "marker": {"color": color, "opacity": 0.85, "line": EDGE},
        "text": [percent(chance) for chance in chances],
        "textposition": "outside",
        "textfont": {"size": 14},
        "showlegend": False,
        **hover([f"{label(word)}: {percent(chance)}" for word, chance in zip(words, chances, strict=True)]),
    }
    lines = [_line(row, float(weights[i]), color) for i, row in zip(shown, rows, strict=True)]
    lines += [_fan(place, theme.muted) for place in places]
    box: Json = {"type": "rect", "x0": _MASK[0], "x1": _MASK[1], "y0": 0.44, "y1": 0.56, "line": {"color": color}}
    answers = [
        note(f"<b>{label(cut(word, 12))}</b>" if not n else label(cut(word, 12)), _WORDS, place, xanchor="right")
        for n, (word, place) in enumerate(zip(words, places, strict=True))
    ]
    mask = note(f"<b>{label(tokens[at])}</b>", sum(_MASK) / 2, 0.5, font={"size": 12, "color": color})
    bare: Json = {"visible": False, "fixedrange": True}
    return figure(
        theme,
        [names, bars],
        shapes=[*lines, box | {"line": {"color": color, "width": 2}, "fillcolor": CLEAR}],
        annotations=[mask, *(answer | {"font": {"size": 15}} for answer in answers)],
        xaxis=bare | {"range": [0, 1]},
        yaxis=bare | {"range": [1.05, -0.05]},
        height=HEIGHT,
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
    )


def _line(row: float, weight: float, color: str) -> Json:
    """From a token to the mask."""
    begin, end = _LINES
    middle = (begin + end) / 2
    looks = {"color": color, "width": 0.6 + 11 * weight}
    path = f"M {begin},{row} C {middle},{row} {middle},0.5 {end},0.5"
    return {"type": "path", "path": path, "line": looks, "opacity": min(1.0, 0.25 + weight), "layer": "below"}


def _fan(place: float, color: str) -> Json:
    """From the mask to a word."""
    begin, end = _MASK[1] + 0.003, _MASK[1] + 0.04
    middle = (begin + end) / 2
    path = f"M {begin},0.5 C {middle},0.5 {middle},{place} {end},{place}"
    return {"type": "path", "path": path, "line": {"color": color, "width": 1}, "opacity": 0.5, "layer": "below"}
