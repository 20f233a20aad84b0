"""How many tokens a clean and a noisy text are, for each reader, as pairs of bars."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.language.bytewise import Cut


def token_bars(cuts: Sequence[Cut], colour: str, *, dark: bool = False) -> go.Figure:
    """Two bars a reader: the clean text plain, the noisy one hatched, both with their numbers."""
    ink = "#E8ECF0" if dark else "#1A1F24"
    names = [label(one.reader) for one in cuts]
    figure = go.Figure()
    for name, counts, shape in (
        ("clean", [len(one.clean) for one in cuts], ""),
        ("noisy", [len(one.noisy) for one in cuts], "/"),
    ):
        figure.add_bar(
            x=counts,
            y=names,
            orientation="h",
            name=name,
            text=counts,
            textposition="outside",
            cliponaxis=False,
            marker={"color": colour, "opacity": 0.85, "pattern": {"shape": shape, "fgcolor": ink, "solidity": 0.35}},
            hovertemplate=f"%{{y}}, {name}: %{{x}} tokens<extra></extra>",
        )
    most = max((max(len(one.clean), len(one.noisy)) for one in cuts), default=1)
    lay_out(
        figure,
        height=70 + 62 * len(names),
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        barmode="group",
        bargap=0.3,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        font={"color": ink},
        legend={"orientation": "h", "y": 1.15, "x": 0, "traceorder": "normal"},
        xaxis={"visible": False, "range": [0, 1.15 * most], "fixedrange": True},
        yaxis={"autorange": "reversed", "fixedrange": True, "automargin": True, "ticks": ""},
    )
    return figure
