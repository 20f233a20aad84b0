"""How much adapters add in each layer: two bars a layer, one of them hatched, so that colour is not the only sign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

PLACES = ("attention", "feed-forward")
_GREY = "#9AA3AB"


def update_bars(updates: Sequence[float], colour: str, *, dark: bool = False) -> go.Figure:
    """Bars for the layers from left to right.

    :param updates: 2 L shares of the state's length, attention and feed-forward by turns.
    """
    import plotly.graph_objects as go

    ink = "#E8ECF0" if dark else "#1A1F24"
    layers = [str(number + 1) for number in range(len(updates) // 2)]
    figure = go.Figure()
    for place, shade, pattern in ((0, colour, ""), (1, _GREY, "/")):
        figure.add_bar(
            x=layers,
            y=list(updates[place::2]),
            name=f"after {PLACES[place]}",
            marker={"color": shade, "pattern": {"shape": pattern, "fgcolor": ink, "solidity": 0.25}},
            hovertemplate=f"layer %{{x}}, after {PLACES[place]}: %{{y:.0%}} of |h|<extra></extra>",
        )
    lay_out(
        figure,
        height=280,
        margin={"l": 0, "r": 0, "t": 48, "b": 4},
        bargap=0.3,
        bargroupgap=0.06,
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        font={"color": ink, "size": 13},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        xaxis={"title": "layer", "fixedrange": True, "showgrid": False, "type": "category"},
        yaxis={
            "title": "added, as a share of |h|",
            "tickformat": ".0%",
            "rangemode": "tozero",
            "fixedrange": True,
            "gridcolor": "rgba(128,128,128,0.25)",
        },
    )
    return figure


def update_rows(updates: Sequence[float]) -> list[dict[str, object]]:
    """The same numbers as rows of a table."""
    return [
        {"layer": at // 2 + 1, "after": PLACES[at % 2], "added, as a share of |h|": value}
        for at, value in enumerate(updates)
    ]


def update_alt(updates: Sequence[float]) -> str:
    """The bars in one sentence, for screen readers."""
    if not updates:
        return "No adapters."
    most, least = (max(range(len(updates)), key=lambda i: sign * updates[i]) for sign in (1, -1))

    def said(at: int) -> str:
        return f"{100 * updates[at]:.0f} % of the state after {PLACES[at % 2]} in layer {at // 2 + 1}"

    return f"What adapters add in {len(updates) // 2} layers: most, {said(most)}; least, {said(least)}."
