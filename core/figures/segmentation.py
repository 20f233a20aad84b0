"""How one word is cut, as pictures: the tree of BPE's joins, WordPiece's tries, the lattice of Unigram.

In all three the word's letters stand side by side along the foot.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sin
from typing import Any

import plotly.graph_objects as go

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.predictions import percent
from core.tokenizers.unigram import Edge
from core.tokenizers.wordpiece import Try

ACCENT = {False: "#0072B2", True: "#56B4E9"}
_INK = {False: "#1A1F24", True: "#E8ECF0"}
_GROUND = {False: "#FFFFFF", True: "#12161B"}
_GREY = "#808691"
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
TRIES = 60
"""Rows of the picture of tries; the table has all."""
_SHOWN = 0.005
"""A piece that fewer of the cuts go through is named on hover only."""


def join_tree(leaves: Sequence[str], joins: Sequence[tuple[int, str, int]], *, dark: bool = False) -> go.Figure:
    """The joins as a tree over the letters, in the order in which they happened.

    Args:
        leaves: the letters or bytes, as they are shown.
        joins: (index of the left piece, the joined piece as it is shown, rank from 0), in order.
    """
    traces: list[dict[str, Any]] = []
    nodes = [(float(i), 0.0) for i in range(len(leaves))]
    accent, ink = ACCENT[dark], _INK[dark]
    marks: list[tuple[float, float, str, str]] = []
    for step, (at, piece, rank) in enumerate(joins, start=1):
        (x0, y0), (x1, y1) = nodes[at], nodes[at + 1]
        last = step == len(joins)
        traces.append(
            {
                "x": [x0, x0, x1, x1],
                "y": [y0, step, step, y1],
                "mode": "lines",
                "hoverinfo": "skip",
                "line": {"color": accent, "width": 3 if last else 1.5},
            }
        )
        nodes[at : at + 2] = [((x0 + x1) / 2, float(step))]
        marks.append(((x0 + x1) / 2, float(step), piece, f"step {step}: {piece}, join number {rank + 1:,}"))
    if marks:
        traces.append(
            {
                "x": [mark[0] for mark in marks],
                "y": [mark[1] for mark in marks],
                "mode": "markers",
                "marker": {"size": 9, "color": accent},
                "hovertext": [label(mark[3]) for mark in marks],
                "hoverinfo": "text",
            }
        )
    figure = go.Figure([{"type": "scatter", **trace} for trace in traces])
    lay_out(figure, annotations=[_tag(x, y, piece, dark=dark, shift=13) for x, y, piece, _ in marks])
    rows = max(1, len(joins))
    _letters(figure, leaves, [float(i) for i in range(len(leaves))], ink)
    _frame(figure, dark, height=70 + min(40, max(28, 520 // (rows + 1))) * (rows + 1))
    figure.update_xaxes(range=[-0.7, max(0, len(leaves) - 1) + 0.7])
    figure.update_yaxes(range=[-0.2, rows + 0.8], tickvals=list(range(1, rows + 1)), title={"text": "join"})
    return figure


def tries(word: str, found: Sequence[Try], *, dark: bool = False) -> go.Figure:
    """Every look into the vocabulary as a bar over the letters it covers, from the top down; hits are filled."""
    rows = list(found[:TRIES])
    accent, ink = ACCENT[dark], _INK[dark]
    figure = go.Figure()
    for hit in (False, True):
        ones = [(number, one) for number, one in enumerate(rows, start=1) if one.found == hit]
        figure.add_bar(
            base=[one.start for _, one in ones],
            x=[one.end - one.start for _, one in ones],
            y=[number for number, _ in ones],
            orientation="h",
            width=0.74,
            marker={
                "color": accent if hit else "rgba(128,134,145,0.12)",
                "line": {"color": accent if hit else _GREY, "width": 1},
            },
            text=[label(one.piece) + (" ✓" if hit else "") for _, one in ones],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            cliponaxis=False,
            textfont={"family": _MONO, "size": 12, "color": ("#14181D" if dark else "#FFFFFF") if hit else ink},
            hovertext=[
                f"look {number}: {label(one.piece)}, {'in the vocabulary' if hit else 'not in it'}"
                for number, one in ones
            ],
            hoverinfo="text",
        )
    _letters(figure, list(word), [i + 0.5 for i in range(len(word))], ink)
    _frame(figure, dark, height=70 + 24 * len(rows))
    lay_out(figure, barmode="overlay", bargap=0.1)
    figure.update_xaxes(range=[-0.15, len(word) + 0.15])
    figure.update_yaxes(range=[len(rows) + 0.6, 0.4], title={"text": "look"}, nticks=min(12, len(rows) + 1))
    return figure


def lattice(
    text: str, edges: Sequence[Edge], weights: Sequence[float], best: Sequence[Edge], *, dark: bool = False
) -> go.Figure:
    """All pieces as arcs from gap to gap; thick ones lie on many of the likely cuts, coloured ones on the best.

    Args:
        weights: for each edge the probability that a cut goes through it.
    """
    accent, ink = ACCENT[dark], _INK[dark]
    chosen = set(best)
    order = sorted(range(len(edges)), key=lambda i: (edges[i] in chosen, weights[i]))
    tags = []
    arcs: list[dict[str, Any]] = []
    points = [step / 16 for step in range(17)]
    for i in order:
        edge, weight = edges[i], weights[i]
        mine = edge in chosen
        top = _height(edge.end - edge.start)
        arcs.append(
            {
                "type": "scatter",
                "mode": "lines",
                "opacity": 1.0 if mine else 0.25 + 0.6 * min(1.0, weight),
                "x": [edge.start + (edge.end - edge.start) * t for t in points],
                "y": [top * sin(pi * t) for t in points],
                "line": {
                    "color": accent if mine else _GREY,
                    "width": 1.2 + 4.5 * min(1.0, weight),
                    "dash": "solid" if edge.known else "dot",
                },
                "hoverinfo": "text",
                "hovertext": f"{label(edge.piece)}: log p = {edge.score:.2f}{'' if edge.known else ', unknown'}, on "
                f"{label(percent(weight))} of the cuts",
            }
        )
        if mine or (weight >= _SHOWN and edge.end - edge.start > 1):
            tags.append(((edge.start + edge.end) / 2, top, edge.piece.replace("▁", "␣"), mine))
    gaps = list(range(len(text) + 1))
    arcs.append(
        {
            "type": "scatter",
            "x": gaps,
            "y": [0] * len(gaps),
            "mode": "markers",
            "hoverinfo": "skip",
            "marker": {"size": 8, "color": ink},
        }
    )
    figure = go.Figure(arcs)
    lay_out(figure, annotations=[_tag(x, y, piece, dark=dark, strong=mine) for x, y, piece, mine in tags])
    _letters(figure, list(text), [i + 0.5 for i in range(len(text))], ink)
    widest = max((edge.end - edge.start for edge in edges), default=1)
    _frame(figure, dark, height=360)
    figure.update_xaxes(range=[-0.3, len(text) + 0.3])
    figure.update_yaxes(range=[-0.15, _height(widest) + 0.5], visible=False)
    return figure


def _height(length: int) -> float:
    return 0.45 + 0.55 * (length - 1)


def _tag(x: float, y: float, piece: str, *, dark: bool, shift: int = 0, strong: bool = True) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "text": f"<b>{label(piece)}</b>" if strong else label(piece),
        "showarrow": False,
        "yshift": shift,
        "bgcolor": _GROUND[dark],
        "borderpad": 1,
        "font": {"family": _MONO, "size": 12 if strong else 11, "color": _INK[dark]},
    }


def _letters(figure: go.Figure, letters: Sequence[str], places: Sequence[float], ink: str) -> None:
    figure.update_xaxes(
        tickmode="array",
        tickvals=list(places),
        ticktext=[label(sign) for sign in letters],
        tickfont={"family": _MONO, "size": 15 if len(letters) <= 24 else 11, "color": ink},
        tickangle=0,
        ticks="",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )


def _frame(figure: go.Figure, dark: bool, height: int) -> None:
    ink = _INK[dark]
    lay_out(
        figure,
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 34},
        showlegend=False,
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        font={"color": ink},
        hovermode="closest",
        hoverlabel={"bgcolor": _GROUND[dark], "font": {"color": ink, "family": _MONO}},
    )
    figure.update_yaxes(
        fixedrange=True,
        zeroline=False,
        ticks="",
        automargin=True,
        gridcolor="rgba(128,128,128,0.18)",
        tickfont={"color": ink},
        title={"font": {"color": ink}},
    )
