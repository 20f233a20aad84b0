"""A discriminator's verdicts: one bar a token, the replaced ones hatched, so that colour is not the only sign."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.predictions import percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TOKEN = 34
"""Height of one token's row in pixels."""


def verdict_bars(
    tokens: Sequence[str],
    probabilities: Sequence[float],
    replaced: Collection[int],
    colour: str,
    *,
    threshold: float = 0.5,
    dark: bool = False,
) -> go.Figure:
    """Horizontal bars in reading order, with a line at ``threshold``.

    :param tokens: as they read.
    :param probabilities: of having been replaced, 0 to 1.
    :param replaced: indices of the tokens that were.
    """
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    rows = list(range(len(tokens)))
    hatch = ["/" if i in replaced else "" for i in rows]
    names = [f"<b>{label(text)} ◂</b>  " if i in replaced else f"{label(text)}  " for i, text in enumerate(tokens)]
    figure = go.Figure(
        go.Bar(
            x=list(probabilities),
            y=rows,
            orientation="h",
            width=0.7,
            marker={
                "color": [colour if p > threshold else "#9AA3AB" for p in probabilities],
                "pattern": {"shape": hatch, "fgcolor": "#ffffff", "solidity": 0.35},
            },
            text=[percent(p) for p in probabilities],
            textposition="outside",
            cliponaxis=False,
            textfont={"color": ink, "size": 13},
            customdata=[label(t) for t in tokens],
            hovertemplate="%{customdata}: %{x:.4f}<extra></extra>",
        )
    )
    figure.add_vline(x=threshold, line={"color": ink, "width": 1, "dash": "dot"}, opacity=0.6)
    lay_out(
        figure,
        height=_TOKEN * len(rows) + 40,
        margin={"l": 0, "r": 0, "t": 4, "b": 30},
        showlegend=False,
        bargap=0.2,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        font={"color": ink},
        xaxis={
            "range": [0, 1.14],
            "fixedrange": True,
            "tickvals": [0, threshold, 1],
            "tickformat": ".0%",
            "showgrid": False,
            "zeroline": False,
            "tickfont": {"size": 13, "color": ink},
        },
        yaxis={
            "autorange": "reversed",
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": names,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "ticks": "",
            "tickfont": {"size": 15, "color": ink},
        },
    )
    return figure


def verdict_alt(tokens: Sequence[str], probabilities: Sequence[float], replaced: Collection[int]) -> str:
    """The bars in one sentence, for screen readers."""
    said = ", ".join(
        f"{text}{' (replaced)' if i in replaced else ''} {percent(p)}"
        for i, (text, p) in enumerate(zip(tokens, probabilities, strict=True))
    )
    return f"Probability of having been replaced: {said}."
