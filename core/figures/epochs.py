"""Which tokens are asked in which epoch: a grid of epochs (rows) and tokens (columns)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.figures.labels import label
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

Bools = npt.NDArray[np.bool_]
_NAMED_UP_TO = 40


def grid(asked: Bools, tokens: Sequence[str], colour: str, *, here: int | None = None, dark: bool = False) -> go.Figure:
    """One map; a filled cell is asked.

    :param asked: (epochs, tokens).
    :param here: an epoch, counted from 1, that gets a frame.
    """
    import plotly.graph_objects as go

    ink, empty = ("#E8ECF0", "#1D232B") if dark else ("#1A1F24", "#EEF1F4")
    count = len(tokens)
    rows = [str(epoch) for epoch in range(1, len(asked) + 1)]
    names = [label(token) for token in tokens]
    words = [
        [f"epoch {epoch}, {name}: {'asked' if cell else 'not asked'}" for name, cell in zip(names, row, strict=True)]
        for epoch, row in enumerate(asked.tolist(), 1)
    ]
    figure = go.Figure(
        go.Heatmap(
            z=asked.astype(int),
            x=list(range(count)),
            y=list(range(1, len(asked) + 1)),
            zmin=0,
            zmax=1,
            colorscale=[[0, empty], [1, colour]],
            showscale=False,
            xgap=1,
            ygap=1,
            customdata=words,
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    if here is not None:
        figure.add_shape(
            type="rect", x0=-0.5, x1=count - 0.5, y0=here - 0.5, y1=here + 0.5, line={"color": ink, "width": 2}
        )
    axis = {
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 12, "color": ink},
    }
    shown = names if count <= _NAMED_UP_TO else []
    ticks = [int(row) for row in rows if int(row) == 1 or int(row) % 10 == 0]
    lay_out(
        figure,
        xaxis={
            **axis,
            "tickmode": "array",
            "tickvals": list(range(len(shown))),
            "ticktext": shown,
            "tickangle": -60,
        },
        yaxis={**axis, "autorange": "reversed", "tickmode": "array", "tickvals": ticks, "title": "epoch"},
        height=110 + 9 * len(rows),
        margin={"l": 0, "r": 0, "t": 8, "b": 0},
        font={"color": ink},
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
    )
    return figure


def grid_table(asked: Bools, tokens: Sequence[str]) -> list[dict[str, object]]:
    """One row an epoch: the tokens that are asked."""
    return [
        {"epoch": epoch, "asked": ", ".join(token for token, cell in zip(tokens, row, strict=True) if cell)}
        for epoch, row in enumerate(asked.tolist(), 1)
    ]
