"""Numbers as strips of coloured cells: rows with a name each, columns with a name each, values in the cells.

Amounts run from the page's background; values that may be negative run through it in two colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.figures.cells import write
from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.vectors import ink

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MANY = 40
_LINE = 16
"""Pixels of a row from which each has its name beside it, however many there are."""
_WIDE = 5
"""Columns up to which a cell has room for larger figures on a telephone."""
_SIDE_BY_SIDE = 12
"""Numbers that stand side by side under a picture on a telephone."""
_MOST_NAMED = 4_000
_GROUND = {False: "#ffffff", True: "#12161b"}
_ENDS = {False: ("#B2500C", "#0072B2"), True: ("#F0954A", "#4FB3E8")}
"""Below and above zero, on light and dark ground; colour-blind eyes tell them apart."""


def strips(
    values: NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    signed: bool = False,
    digits: int | None = 2,
    reach: float | None = None,
    across: str = "",
    down: str = "",
    what: str = "",
    row_height: int = 30,
    dark: bool = False,
) -> go.Figure:
    """(R, C) values as cells.

    :param signed: whether zero is in the middle of the scale.
    :param digits: written into each cell; None for none.
    :param reach: the end of the scale; by default the largest value.
    :param what: what a value is, for hovering.
    """
    import plotly.graph_objects as go

    from core.figures.attention import scale

    known = values[~np.isnan(values)]
    high = reach or float(np.abs(known).max(initial=0.0)) or 1.0
    below, above = _ENDS[dark]
    colours = [(0.0, below), (0.5, _GROUND[dark]), (1.0, above)] if signed else scale("dark" if dark else "light")
    names, tops = [label(row) for row in rows], [label(column) for column in columns]
    few = values.size <= _MOST_NAMED  # a name for each cell would make a large picture slow
    named = {"customdata": [[f"{name}, {top}" for top in tops] for name in names]} if few else {}
    where = "%{customdata}" if few else f"{label(down) or 'row'} %{{y}}, column %{{x}}"
    hover = f"{where}<br>{label(what)} %{{z:.3f}}<extra></extra>"
    figure = go.Figure(
        go.Heatmap(
            z=np.round(values.astype(np.float32), 4),
            x=list(range(len(tops))),
            y=list(range(len(names))),
            colorscale=colours,
            zmin=-high if signed else 0.0,
            zmax=high,
            showscale=digits is None,
            hoverongaps=False,
            xgap=1 if len(tops) <= 40 else 0,
            ygap=1 if len(names) <= 40 else 0,
            colorbar={"thickness": 10, "outlinewidth": 0, "tickfont": {"color": ink(dark)}},
            hovertemplate=hover,
            **named,
        )
    )
    axis: dict[str, Any] = {
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"color": ink(dark)},
        "automargin": True,
    }
    lay_out(
        figure,
        height=70 + row_height * len(names) + (20 if across else 0),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        dragmode=False,
        font={"color": ink(dark)},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        xaxis=axis | _ticks(tops) | {"side": "top", "title": across, "tickangle": 0 if _short(tops) else -60},
        yaxis=axis | (_all(names) if row_height >= _LINE else _ticks(names)) | {"autorange": "reversed", "title": down},
    )
    if digits is not None:
        write(
            figure,
            [["" if np.isnan(value) else f"{value:.{digits}f}" for value in row] for row in values],
            size=12 if len(tops) <= _WIDE else 11,
        )
    return figure


def _short(names: Sequence[str]) -> bool:
    """Whether names fit side by side; of many only a few are written."""
    return len(names) > _MANY or max((len(name) for name in names), default=0) * len(names) <= 60


def _all(names: Sequence[str]) -> dict[str, Any]:
    return {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names)}


def _ticks(names: Sequence[str]) -> dict[str, Any]:
    """Every name where there are few, every second number where they would run together, of many about five."""
    step = max(1, len(names) // 5) if len(names) > _MANY else 1 + (len(names) > _SIDE_BY_SIDE and names[-1].isdigit())
    places = list(range(0, len(names), step))
    return {"tickmode": "array", "tickvals": places, "ticktext": [names[i] for i in places]}
