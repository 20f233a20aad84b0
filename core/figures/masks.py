"""Masks as pictures: one as a map, the layers that news needs from token to token, and what one token has learnt.

What is allowed carries a dot, so that colour is never the only sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.figures.cells import write
from core.figures.labels import label
from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

Bools = npt.NDArray[np.bool_]
MARKED_UP_TO = 32
"""Tokens up to which each cell that is seen carries a dot: beyond, dots would be smaller than the gaps."""
_NAMED_UP_TO = 34
"""Tokens up to which each has its name beside a map; beyond, some are left out."""
_NUMBERED_UP_TO = 24
_SHORT = 12


def ink(dark: bool) -> tuple[str, str]:
    """The colour of writing and of an empty cell."""
    return ("#E8ECF0", "#1D232B") if dark else ("#1A1F24", "#EEF1F4")


def seen_trace(
    seen: Bools, rows: Sequence[str], columns: Sequence[str], colour: str, empty: str, title: str, *, dots: bool
) -> go.Heatmap:
    """A map of who sees whom, rows looking at columns: cells with a dot are seen. Names are escaped already."""
    import plotly.graph_objects as go

    words = [["sees" if cell else "cannot see" for cell in line] for line in seen.tolist()]
    return go.Heatmap(
        z=seen.astype(int),
        x=list(range(len(columns))),
        y=list(range(len(rows))),
        zmin=0,
        zmax=1,
        colorscale=[[0, empty], [1, colour]],
        showscale=False,
        xgap=1,
        ygap=1,
        opacity=0.85,
        text=[["●" if cell and dots else "" for cell in line] for line in seen.tolist()],
        texttemplate="%{text}",
        textfont={"color": "#ffffff", "size": 9},
        customdata=[[f"{rows[i]} {word} {columns[j]}" for j, word in enumerate(line)] for i, line in enumerate(words)],
        hovertemplate="%{customdata}<extra>" + title + "</extra>",
    )


def seen_map(
    seen: Bools, rows: Sequence[str], columns: Sequence[str], colour: str, *, title: str = "", dark: bool = False
) -> go.Figure:
    """One mask, (rows, columns), as a small square picture."""
    import plotly.graph_objects as go

    dots = max(seen.shape) <= MARKED_UP_TO
    trace = seen_trace(seen, _names(rows), _names(columns), colour, ink(dark)[1], title, dots=dots)
    figure = go.Figure(trace)
    _axes(figure, rows, columns, dark)
    lay_out(figure, height=110 + min(24 * len(rows), 480))
    return figure


def levels_map(
    levels: npt.NDArray[np.int16],
    rows: Sequence[str],
    columns: Sequence[str],
    layers: int,
    chosen: int,
    *,
    dark: bool = False,
) -> go.Figure:
    """Layers that news needs from each column to each row; blank where it needs more than ``layers`` or never comes.

    :param levels: (rows, columns) as `core.attention.masks.influence` counts them, -1 for never.
    :param chosen: the row that is framed.
    """
    import plotly.graph_objects as go

    shown = (levels >= 0) & (levels <= layers)
    names, keys = _names(rows), _names(columns)
    few = max(levels.shape) <= _NUMBERED_UP_TO

    def said(level: int) -> str:
        if level < 0:
            return "never reaches it"
        return "is itself" if level == 0 else f"reaches it after {level} {'layer' if level == 1 else 'layers'}"

    figure = go.Figure(
        go.Heatmap(
            z=np.where(shown, levels, np.nan),
            x=list(range(len(keys))),
            y=list(range(len(names))),
            zmin=0,
            zmax=max(2, layers),
            colorscale="Cividis",
            xgap=1,
            ygap=1,
            showscale=not few,
            colorbar={"title": {"text": "layers"}, "thickness": 10, "outlinewidth": 0, "dtick": 1 if layers < 9 else 4},
            hoverongaps=True,
            customdata=[
                [f"{keys[j]} → {names[i]}: {said(level)}" for j, level in enumerate(line)]
                for i, line in enumerate(levels.tolist())
            ],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    figure.add_shape(
        type="rect",
        x0=-0.5,
        x1=len(keys) - 0.5,
        y0=chosen - 0.5,
        y1=chosen + 0.5,
        line={"color": ink(dark)[0], "width": 2},
    )
    _axes(figure, rows, columns, dark)
    lay_out(figure, height=130 + min(24 * len(rows), 480))
    if few:
        written = [
            [str(value) if there else "" for value, there in zip(*pair, strict=True)]
            for pair in zip(levels.tolist(), shown.tolist(), strict=True)
        ]
        write(figure, written)
    return figure


def levels_table(
    levels: npt.NDArray[np.int16], rows: Sequence[str], columns: Sequence[str], layers: int
) -> list[dict[str, object]]:
    """One row a token: what has reached it after each number of layers up to ``layers``."""
    table: list[dict[str, object]] = []
    for place, (token, line) in enumerate(zip(rows, levels, strict=True)):
        row: dict[str, object] = {"place": place, "token": token}
        for layer in range(1, layers + 1):
            there = int(((line >= 0) & (line <= layer)).sum())
            row[f"after {layer}"] = there
        row["never"] = ", ".join(columns[j] for j in np.flatnonzero(line < 0).tolist()) or "none"
        table.append(row)
    return table


def growing(
    line: npt.NDArray[np.int16], token: str, columns: Sequence[str], layers: int, colour: str, *, dark: bool = False
) -> go.Figure:
    """What one token's output can rest on: a row for each number of layers, from 1 down to ``layers``.

    :param line: the token's row of levels.
    """
    import plotly.graph_objects as go

    seen = np.stack([(line >= 0) & (line <= layer) for layer in range(1, layers + 1)])  # (layers, columns)
    names = ["1 layer", *(f"{layer} layers" for layer in range(2, layers + 1))]
    keys = _names(columns)
    trace = seen_trace(seen, names, keys, colour, ink(dark)[1], "", dots=len(columns) <= MARKED_UP_TO)
    trace.customdata = [
        [
            f"{keys[j]} {'reaches' if there else 'does not reach'} {label(_cut(token))} after {names[i]}"
            for j, there in enumerate(row)
        ]
        for i, row in enumerate(seen.tolist())
    ]
    figure = go.Figure(trace)
    _axes(figure, names, columns, dark)
    lay_out(figure, height=130 + min(26 * len(names), 420))
    return figure


def _axes(figure: go.Figure, rows: Sequence[str], columns: Sequence[str], dark: bool) -> None:
    axis: dict[str, Any] = {
        "tickmode": "array",
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 12, "color": ink(dark)[0]},
    }
    lay_out(
        figure,
        xaxis={**axis, **_ticks(columns), "tickangle": -60, "side": "top"},
        yaxis={**axis, **_ticks(rows), "autorange": "reversed", "automargin": True},
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        font={"color": ink(dark)[0]},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
    )


def _ticks(names: Sequence[str]) -> dict[str, Any]:
    every = -(-len(names) // _NAMED_UP_TO)
    places = list(range(0, len(names), every))
    return {"tickvals": places, "ticktext": [label(_cut(names[place])) for place in places]}


def _names(tokens: Sequence[str]) -> list[str]:
    return [label(_cut(token)) for token in tokens]


def _cut(token: str) -> str:
    return token if len(token) <= _SHORT else token[: _SHORT - 1] + "…"
