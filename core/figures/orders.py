"""Who sees whom when words are found in an order: two masks side by side, rows looking at columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.masks import MARKED_UP_TO, seen_trace
from core.figures.masks import ink as ink_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

Bools = npt.NDArray[np.bool_]
_TITLES = ("Content stream", "Query stream")


def named(tokens: Sequence[str], rank: Sequence[int]) -> list[str]:
    """Names of the rows and columns: the token, and for one that is found the step in which it is."""
    return [f"{text} ({step})" if step else text for text, step in zip(tokens, rank, strict=True)]


def masks(
    tokens: Sequence[str], rank: Sequence[int], content: Bools, query: Bools, colour: str, *, dark: bool = False
) -> go.Figure:
    """Two maps in the text's order; a cell with a dot is seen.

    :param tokens: n tokens as they read.
    :param rank: the step in which each is found, 0 for a known one.
    :param content: (n, n) True where the row's content stream sees the column.
    :param query: (n, n) likewise for the query stream.
    """
    from plotly.subplots import make_subplots

    ink, empty = ink_of(dark)
    count = len(tokens)
    places = list(range(count))
    names = [label(name) for name in named(tokens, rank)]
    figure = make_subplots(cols=2, subplot_titles=_TITLES, horizontal_spacing=0.04, shared_yaxes=True)
    for column, (title, seen) in enumerate(zip(_TITLES, (content, query), strict=True), start=1):
        trace = seen_trace(seen, names, names, colour, empty, title, dots=count <= MARKED_UP_TO)
        figure.add_trace(trace, row=1, col=column)
    axis = {
        "tickmode": "array",
        "tickvals": places,
        "ticktext": names,
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "tickfont": {"size": 12, "color": ink},
    }
    figure.update_xaxes(**axis, tickangle=-60)
    figure.update_yaxes(**axis, autorange="reversed", automargin=True)
    lay_out(
        figure,
        height=150 + min(26 * count, 700),
        margin={"l": 0, "r": 0, "t": 28, "b": 0},
        font={"color": ink},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
    )
    return figure


def masks_table(tokens: Sequence[str], rank: Sequence[int], content: Bools, query: Bools) -> list[dict[str, object]]:
    """One row a token: whom its two streams see."""

    def seen(row: Bools) -> str:
        return "all" if row.all() else ", ".join(text for text, there in zip(tokens, row, strict=True) if there)

    return [
        {
            "token": text,
            "found in step": step or None,
            "its content stream sees": seen(content[i]),
            "its query stream sees": seen(query[i]),
        }
        for i, (text, step) in enumerate(zip(tokens, rank, strict=True))
    ]


def masks_alt(tokens: Sequence[str], rank: Sequence[int]) -> str:
    """The two maps in one sentence, for screen readers."""
    order = sorted((step, text) for text, step in zip(tokens, rank, strict=True) if step)
    said = ", then ".join(text for _, text in order)
    known = ", ".join(text for text, step in zip(tokens, rank, strict=True) if not step)
    return (
        f"Who sees whom. Known to all from the start: {known}. Found one after the other: {said}; each sees the known "
        "ones and those found before it, in the content stream itself, too."
    )
