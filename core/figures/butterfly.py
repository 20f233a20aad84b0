"""Parameters of two networks, part by part, in two directions from one axis. No torch, no streamlit here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.anatomy.compare import Comparison
from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.numbers import in_words, short
from core.figures.parameters import ROLE_COLOURS

_ROOM = 0.3
"""Room for the number at a bar's end, in the longest bar's length."""
_LINE = {"width": 0.5, "color": "rgba(128, 128, 128, 0.7)"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One part on both sides."""

    name: str
    role: str
    left: int
    right: int


def bars(comparison: Comparison, *, by_part: bool) -> tuple[Bar, ...]:
    """A bar for each group of parts, or for each part; those without parameters on both sides are left out."""
    found = []
    for section in comparison.sections:
        if not by_part:
            found.append(Bar(section.name, section.group.role, *section.parameters))
            continue
        found += [
            Bar(f"{section.name}: {row.name}", "norms" if row.norm else section.group.role, *row.parameters)
            for row in section.rows
        ]
    return tuple(bar for bar in found if bar.left or bar.right)


def butterfly(comparison: Comparison, *, by_part: bool = False) -> go.Figure:
    """Left bars for the left network, right bars for the right one, on one scale; the numbers at their ends."""
    found = bars(comparison, by_part=by_part)
    most = max((max(bar.left, bar.right) for bar in found), default=1)
    names = [label(bar.name) for bar in found]
    figure = go.Figure()
    for side, sign in ((comparison.left, -1), (comparison.right, 1)):
        amounts = [bar.left if sign < 0 else bar.right for bar in found]
        figure.add_bar(
            name=label(side.name),
            orientation="h",
            y=names,
            x=[sign * amount for amount in amounts],
            marker={"color": [ROLE_COLOURS[bar.role] for bar in found], "line": _LINE},
            text=[short(amount) if amount else "none" for amount in amounts],
            textposition="outside",
            cliponaxis=False,
            customdata=[[in_words(amount)] for amount in amounts],
            hovertemplate="<b>%{y}</b><br>" + label(side.name) + ": %{customdata[0]} parameters<extra></extra>",
        )
    figure.add_vline(x=0, line={"width": 1, "color": "rgba(128, 128, 128, 0.9)"})
    for side, place, anchor in ((comparison.left, 0.0, "left"), (comparison.right, 1.0, "right")):
        figure.add_annotation(
            text=f"<b>{'← ' if place == 0 else ''}{label(side.name)}{' →' if place else ''}</b>",
            x=place,
            xref="paper",
            xanchor=anchor,
            y=1,
            yref="paper",
            yanchor="bottom",
            showarrow=False,
        )
    longest = [max(amounts) + _ROOM * most for amounts in ([bar.left for bar in found], [bar.right for bar in found])]
    lay_out(
        figure,
        xaxis={"range": [-longest[0], longest[1]], "visible": False, "fixedrange": True},
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True, "ticklabelstandoff": 6},
        barmode="overlay",
        bargap=0.3,
        height=70 + 34 * max(len(found), 3),
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        showlegend=False,
    )
    return figure


def bars_table(comparison: Comparison, *, by_part: bool = False) -> list[dict[str, object]]:
    """The bars as a table, with the totals."""
    left, right = comparison.left, comparison.right
    one, other = left.name, right.name if right.name != left.name else f"{right.name} again"
    found: Sequence[Bar] = bars(comparison, by_part=by_part)
    rows: list[dict[str, object]] = [
        {"Part": bar.name, one: bar.left, other: bar.right, "Difference": bar.right - bar.left} for bar in found
    ]
    whole = {"Part": "All", one: left.parameters, other: right.parameters}
    return [*rows, {**whole, "Difference": right.parameters - left.parameters}]
