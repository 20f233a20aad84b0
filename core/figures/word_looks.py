"""Where one word of a sentence looks in several models: a row of bars for each model over the same words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.figures.attention import Theme
from core.figures.labels import label
from core.figures.lay_out import lay_out, upright

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TEXT = {"light": "#1a1f24", "dark": "#e8ecf0"}
_UNSEEN = {"light": "#d3dae1", "dark": "#39424d"}
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_ROW = 118
"""Pixels of a model's row."""
ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """One model's row."""

    title: str
    colour: str
    weights: NDArray[np.float32]  # (n,)
    computed: NDArray[np.bool_]  # (n,)
    rest: float
    """What goes to no word."""


def word_looks(words: Sequence[str], chosen: int, models: Sequence[Looks], theme: Theme = "light") -> go.Figure:
    """Bars from 0 to 1 over all words and one for the rest; grey where a model never computes a weight."""
    from plotly.subplots import make_subplots

    ink = _TEXT[theme]
    names = [*(f"{i + 1} · {label(word)}" for i, word in enumerate(words)), ELSEWHERE]
    figure = make_subplots(rows=len(models), cols=1, shared_xaxes=True, vertical_spacing=0.3 / (len(models) + 1))
    for row, model in enumerate(models, 1):
        figure.add_bar(
            x=names,
            y=[*np.round(model.weights, 4).tolist(), round(model.rest, 4)],
            marker={"color": [model.colour] * len(words) + ["#808691"]},
            showlegend=False,
            row=row,
            col=1,
            hovertemplate="%{x}: %{y:.3f}<extra></extra>",
        )
        unseen = [name if not seen else None for name, seen in zip(names, model.computed, strict=False)]
        figure.add_bar(
            x=[name for name in unseen if name],
            y=[1.0 for name in unseen if name],
            width=1.0,
            showlegend=False,
            marker={"color": _UNSEEN[theme]},
            hovertemplate="%{x}: not computed<extra></extra>",
            row=row,
            col=1,
        )
        figure.add_annotation(
            text=f"<b>{label(model.title)}</b>",
            x=0,
            xref="paper",
            xanchor="left",
            y=1.04,
            yanchor="bottom",
            yref="y domain" if row == 1 else f"y{row} domain",
            showarrow=False,
            font={"color": ink, "size": 13},
        )
    across = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": names,
        "fixedrange": True,
        "showgrid": False,
        "tickangle": -60,
        "tickfont": {"family": _MONO, "size": 12, "color": ink},
        "automargin": True,
        "labelalias": {name: label(_short(word)) for name, word in zip(names, words, strict=False)},
    }
    up = {"range": [0, 1.02], "tickvals": [0, 0.5, 1], "fixedrange": True, "tickfont": {"color": ink}}
    rows = ["", *range(2, len(models) + 1)]  # as plotly numbers axes
    axes = {f"xaxis{row}": across for row in rows} | {f"yaxis{row}": up for row in rows}
    named = {"tickmode": "array", "tickvals": names}  # under the last row alone
    here = {"color": ink, "width": 1, "dash": "dot"}
    lay_out(
        figure,
        **axes | {f"xaxis{rows[-1]}": across | named},
        shapes=[upright(chosen, row=row, line=here) for row in range(1, len(models) + 1)],
        height=_ROW * len(models) + 90,
        margin={"l": 8, "r": 8, "t": 26, "b": 8},
        barmode="overlay",
        bargap=0.25,
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        font={"color": ink},
    )
    return figure


def _short(word: str) -> str:
    return word if len(word) <= 14 else word[:13] + "…"
