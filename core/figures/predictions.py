"""Guesses as horizontal bars: the most probable token on top, its probability written at the bar's end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.figures.labels import label
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

_ROW = 30
"""Height of one bar with the space around it, in pixels."""


def percent(probability: float) -> str:
    """A probability as a person reads it: ``97 %``, ``3.1 %``, ``0.04 %``, ``< 0.01 %``."""
    value = 100 * probability
    if value >= 9.95:
        return f"{value:.0f} %" if value < 99.5 or value >= 99.995 else f"{value:.1f} %"
    if value >= 0.995:
        return f"{value:.1f} %"
    return f"{value:.2f} %" if value >= 0.01 else "< 0.01 %"


def guess_bars(
    labels: Sequence[str],
    probabilities: Sequence[float],
    colour: str,
    *,
    kept: Sequence[float] | None = None,
    chosen: int | None = None,
    scale: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """Horizontal bars for ``labels`` (most probable first) with ``probabilities`` from 0 to 1.

    :param kept: the probabilities after temperature and cuts, drawn as a thin dark bar inside each bar.
    :param chosen: the row that was taken; its label is bold and marked with an arrow.
    :param scale: the probability at the right edge; the largest one shown when None, so that bars of one picture are
        comparable with each other but not across pictures.
    :param dark: for a dark page.
    """
    import plotly.graph_objects as go

    # Rows are numbered and labelled afterwards: two different tokens may read the same.
    rows = list(range(len(labels)))
    shown = [_label(text, i == chosen) for i, text in enumerate(labels)]
    numbers = [percent(p) if kept is None else f"{percent(p)} → {percent(k)}" for p, k in _pairs(probabilities, kept)]
    longer = [k > p for p, k in _pairs(probabilities, kept)]  # the number stands at the end of the longer bar
    ink = "#E8ECF0" if dark else "#1A1F24"
    outside = {"textposition": "outside", "textfont": {"color": ink, "size": 13}, "cliponaxis": False}
    figure = go.Figure(
        go.Bar(
            x=list(probabilities),
            y=rows,
            orientation="h",
            marker={"color": colour, "opacity": 0.85},
            width=0.72,
            text=["" if other else number for number, other in zip(numbers, longer, strict=True)],
            **outside,
            customdata=[label(t) for t in labels],
            hovertemplate="%{customdata}: %{x:.4f}<extra></extra>",
        )
    )
    if kept is not None:
        figure.add_bar(
            x=list(kept),
            y=rows,
            orientation="h",
            width=0.22,
            marker={"color": "rgba(128,128,128,0.95)"},
            text=[number if other else "" for number, other in zip(numbers, longer, strict=True)],
            **outside,
            hovertemplate="after temperature and cuts: %{x:.4f}<extra></extra>",
        )
    widest = max([*probabilities, *(kept or ()), 1e-9])
    room = 1.32 if kept is None else 1.75  # the numbers stand to the right of the bars
    lay_out(
        figure,
        height=_ROW * len(rows) + 16,
        margin={"l": 0, "r": 14, "t": 4, "b": 4},
        showlegend=False,
        bargap=0.2,
        barmode="overlay",
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        xaxis={"visible": False, "range": [0, (scale or widest) * room], "fixedrange": True},
        yaxis={
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": shown,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "ticks": "",
            "tickfont": {"size": 15, "color": ink},
        },
        font={"color": ink},
        uniformtext={"minsize": 12, "mode": "show"},
    )
    return figure


def bars_alt(labels: Sequence[str], probabilities: Sequence[float], what: str) -> str:
    """The bars in one sentence, for screen readers."""
    said = ", ".join(f"{text} {percent(p)}" for text, p in zip(labels, probabilities, strict=True))
    return f"{what}: {said}."


def _pairs(probabilities: Sequence[float], kept: Sequence[float] | None) -> list[tuple[float, float]]:
    return list(zip(probabilities, probabilities if kept is None else kept, strict=True))


def _label(text: str, chosen: bool) -> str:
    escaped = label(text if len(text) <= 24 else text[:23] + "…")
    return f"<b>▸ {escaped}</b>  " if chosen else f"{escaped}  "
