"""Cross-attention as figures: a heat map, and the lines that join two rows of tokens.

Both show the same numbers: for each token that was written, how its weight of one is shared out among the tokens that
were read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.figures.attention import Theme, scale
from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.language.types import Token

Weights = NDArray[np.float32]
LEAST = 0.1
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_MOST_LABELS = 60


def choose(weights: NDArray[np.float32], layer: int | None, head: int | None) -> NDArray[np.float32]:
    """One map (T, S) out of (L, H, T, S): a layer and head counted from 0, or the mean where one is None."""
    chosen = weights if layer is None else weights[layer : layer + 1]
    chosen = chosen if head is None else chosen[:, head : head + 1]
    return np.asarray(chosen.mean(axis=(0, 1), dtype=np.float64), dtype=np.float32)


def heat_map(source: Sequence[Token], target: Sequence[Token], weights: NDArray[np.float32], theme: Theme) -> go.Figure:
    """What each written token (down) looked at among the tokens read (across); ``weights`` is (T, S)."""
    read, written = _names(source), _names(target)
    figure = go.Figure(
        go.Heatmap(
            z=np.round(weights, 4),
            x=list(range(len(read))),
            y=list(range(len(written))),
            zmin=0.0,
            zmax=max(0.1, float(weights.max())),
            colorscale=scale(theme),
            colorbar={"title": {"text": "weight"}, "thickness": 12, "tickformat": ".2~f"},
            xgap=1 if len(read) <= 40 else 0,
            ygap=1 if len(written) <= 40 else 0,
            customdata=np.array([[[w, r] for r in read] for w in written], dtype=object),
            hovertemplate="<b>%{customdata[0]}</b> looked at <b>%{customdata[1]}</b><br>weight %{z:.3f}<extra></extra>",
        )
    )
    lay_out(
        figure,
        xaxis={"side": "top", "title": {"text": "read", "standoff": 6}, "tickangle": -60, **_ticks(read)},
        yaxis={"autorange": "reversed", "title": {"text": "written", "standoff": 6}, **_ticks(written)},
        height=int(min(860, max(280, 140 + 26 * len(written)))),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        hoverlabel={"font": {"family": _MONO}},
    )
    return figure


def lines(weights: NDArray[np.float32]) -> list[tuple[int, int, float]]:
    """The lines worth drawing between two rows of tokens, as (written, read, weight); ``weights`` is (T, S).

    Those of at least :data:`LEAST`, and each written token's strongest, so that none stands alone.
    """
    if not weights.size:
        return []
    strong = weights >= LEAST
    strong[np.arange(len(weights)), weights.argmax(axis=1)] = True
    return [(int(t), int(s), round(float(weights[t, s]), 3)) for t, s in zip(*np.nonzero(strong), strict=True)]


def table(source: Sequence[Token], target: Sequence[Token], weights: NDArray[np.float32]) -> list[dict[str, object]]:
    """One row for each written token: the three tokens that it looked at most, and how much."""
    rows: list[dict[str, object]] = []
    for index, (token, line) in enumerate(zip(target, weights, strict=True)):
        best = np.argsort(-line)[:3]
        row: dict[str, object] = {"Step": index + 1, "Written": token.text or token.piece}
        for rank, s in enumerate(best.tolist(), start=1):
            row[f"Looked at ({rank})"] = source[s].text or source[s].piece
            row[f"Weight ({rank})"] = round(float(line[s]), 3)
        rows.append(row)
    return rows


def _names(tokens: Sequence[Token]) -> list[str]:
    """Tokens as labels: what reads, or the piece itself; plotly reads some HTML, so it is escaped."""
    return [label(token.text.strip() or token.piece) for token in tokens]


def _ticks(names: Sequence[str]) -> dict[str, object]:
    step = max(1, -(-len(names) // _MOST_LABELS))
    shown = list(range(0, len(names), step))
    return {"tickvals": shown, "ticktext": [names[i] for i in shown], "tickfont": {"family": _MONO}}
