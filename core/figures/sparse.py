"""Sparse attention as figures: the pattern between blocks, the cost against the length, two answers side by side.

The pattern is drawn block by block (a raster of B × B cells over an axis of tokens), never point by point: 4,096 tokens
in blocks of 16 are 65,536 cells. Kinds differ in colour and in lightness, and the hover text names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.efficiency.compare import Answer
from core.efficiency.cost import Cost
from core.efficiency.layout import KIND_NAMES
from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.figures.numbers import in_words

Theme = Literal["light", "dark"]

SPARSE, FULL = "#CC79A7", "#767676"
KIND_COLOURS: dict[Theme, tuple[str, ...]] = {
    "light": ("#F3F5F7", "#56B4E9", "#1F4E79", "#CC79A7"),
    "dark": ("#1D232B", "#2F7FB0", "#A8D8F5", "#E39AC4"),
}
"""Nothing, window, global, random."""

_WORDS_UP_TO = 96  # blocks: beyond, hover texts are shortened to keep the figure small
_SHORT = ("not computed", "window", "global", "random")


def pattern(
    kinds: NDArray[np.uint8],
    block_size: int,
    *,
    theme: Theme = "light",
    marks: Sequence[tuple[int, str]] = (),
    listed: Sequence[int] = (1, 2, 3),
) -> go.Figure:
    """The pattern of one head, tokens × tokens: queries down, keys across.

    Args:
        kinds: kind of each pair of blocks, shape (B, B), as ``Sparsity.kinds`` gives it.
        block_size: tokens in a block.
        theme: which of the two sets of colours.
        marks: (token position, short name) whose rows and columns are pointed out.
        listed: the kinds that the legend names.
    """
    total = len(kinds)
    colours = KIND_COLOURS[theme]
    steps = [(edge, colour) for i, colour in enumerate(colours) for edge in (i / 4, (i + 1) / 4)]
    names = _SHORT if total <= _WORDS_UP_TO else tuple(name[0].upper() for name in _SHORT)
    middle = block_size * (np.arange(total, dtype=np.float32) + 0.5)
    figure = go.Figure(
        go.Heatmap(
            z=kinds,
            x=middle,
            y=middle,
            zmin=-0.5,
            zmax=3.5,
            colorscale=steps,
            showscale=False,
            xgap=1 if total <= 48 else 0,
            ygap=1 if total <= 48 else 0,
            text=[[names[kind] for kind in row] for row in kinds.tolist()],
            hovertemplate="queries around token %{y}<br>keys around token %{x}<br><b>%{text}</b><extra></extra>",
        )
    )
    for kind in listed:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=KIND_NAMES[kind],
            hoverinfo="skip",
            marker={"symbol": "square", "size": 12, "color": colours[kind]},
        )
    end = total * block_size
    line = "#1A1F24" if theme == "light" else "#E8ECF0"
    for position, _ in marks:
        start = position // block_size * block_size
        figure.add_shape(type="rect", x0=0, x1=end, y0=start, y1=start + block_size, line={"color": line, "width": 1.5})
    for height, text in _side_labels(marks, end, block_size):
        figure.add_annotation(x=end, y=height, text=label(text), showarrow=False, xanchor="left", font={"size": 12})
    lay_out(
        figure,
        xaxis={
            "title": {"text": "key: token looked at", "standoff": 6},
            "range": [0, end],
            "side": "top",
            "showgrid": False,
            "zeroline": False,
            "constrain": "domain",
        },
        yaxis={
            "title": {"text": "query: token that looks", "standoff": 6},
            "range": [end, 0],
            "showgrid": False,
            "zeroline": False,
            "scaleanchor": "x",
            "constrain": "domain",
        },
        height=460,
        margin={"l": 8, "r": 84 if marks else 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": -0.02, "x": 0.5, "xanchor": "center", "yanchor": "top"},
    )
    return figure


def _side_labels(marks: Sequence[tuple[int, str]], end: int, block_size: int) -> list[tuple[float, str]]:
    """(height, text) beside the picture: marks that stand too near to be read apart share a label."""
    placed: list[tuple[float, str]] = []
    for position, name in sorted(marks):
        middle = position // block_size * block_size + block_size / 2
        if placed and middle - placed[-1][0] < 0.06 * end:
            above, names = placed.pop()
            placed.append(((above + middle) / 2, f"{names}, {name}"))
        else:
            placed.append((middle, name))
    return placed


def pattern_table(kinds: NDArray[np.uint8], block_size: int, tokens: int) -> list[dict[str, object]]:
    """One row for each block of queries: which blocks of keys it sees, by kind (blocks counted from 0)."""
    rows: list[dict[str, object]] = []
    for index, line in enumerate(kinds):
        last = min(tokens, (index + 1) * block_size) - 1
        row: dict[str, object] = {"Block": index, "Tokens": f"{index * block_size}–{last}"}
        for kind in (1, 2, 3):
            row[KIND_NAMES[kind].capitalize()] = ranges(np.flatnonzero(line == kind).tolist())
        rows.append(row)
    return rows


def ranges(numbers: Sequence[int]) -> str:
    """``[0, 1, 2, 5]`` as ``0–2, 5``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


def cost_curve(costs: Sequence[Cost], here: int, name: str = "sparse") -> go.Figure:
    """Scores of one head against the length of the text; ``here`` is the length of the text on the page.

    ``name`` is what the attention is called that is not full.
    """
    lengths = [cost.tokens for cost in costs]
    figure = go.Figure()
    for called, values, colour, dash, symbol in (
        ("full", [cost.full for cost in costs], FULL, "dash", "square"),
        (name, [cost.sparse for cost in costs], SPARSE, "solid", "circle"),
    ):
        figure.add_scatter(
            x=lengths,
            y=values,
            name=f"{called} attention",
            mode="lines+markers",
            line={"color": colour, "width": 3, "dash": dash},
            marker={"symbol": symbol, "size": 8},
            customdata=[in_words(value) for value in values],
            hovertemplate="%{x:,} tokens: %{customdata} scores<extra>" + called + "</extra>",
        )
    figure.add_vline(x=here, line={"width": 1, "dash": "dot", "color": FULL}, annotation_text="your text")
    lay_out(
        figure,
        xaxis={"title": "tokens in the text", "rangemode": "tozero", "tickformat": ","},
        yaxis={"title": "scores of one head", "rangemode": "tozero"},
        height=360,
        margin={"l": 8, "r": 8, "t": 30, "b": 8},
        legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"},
    )
    return figure


def cost_table(costs: Sequence[Cost]) -> list[dict[str, object]]:
    """The curve's numbers."""
    return [
        {
            "Tokens": cost.tokens,
            "Full": cost.full,
            "Sparse": cost.sparse,
            **{name.capitalize(): scores for name, scores in cost.by_kind},
            "Sparse share (%)": round(100 * cost.share, 1),
        }
        for cost in costs
    ]


def answers(found: Sequence[Answer]) -> go.Figure:
    """The words that either kind of attention finds likely, two bars each, the likeliest on top."""
    ordered = list(reversed(found))
    words = [label(answer.text) for answer in ordered]
    figure = go.Figure()
    for name, values, colour, pattern_shape in (
        ("sparse", [answer.sparse for answer in ordered], SPARSE, ""),
        ("full", [answer.full for answer in ordered], FULL, "/"),
    ):
        figure.add_bar(
            y=list(range(len(words))),
            x=values,
            name=f"{name} attention",
            orientation="h",
            marker={"color": colour, "pattern": {"shape": pattern_shape}},
            text=[percent(value) for value in values],
            textposition="outside",
            cliponaxis=False,
            customdata=words,
            hovertemplate="%{customdata}: %{x:.4f}<extra>" + name + "</extra>",
        )
    top = max((max(answer.sparse, answer.full) for answer in found), default=1.0)
    lay_out(
        figure,
        xaxis={"range": [0, min(1.15, top * 1.25)], "tickformat": ".0%", "title": "probability"},
        yaxis={"tickvals": list(range(len(words))), "ticktext": words},
        height=max(230, 80 + 40 * len(words)),
        margin={"l": 8, "r": 30, "t": 30, "b": 8},
        bargap=0.25,
        legend={"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom", "traceorder": "reversed"},
    )
    return figure


def answers_table(found: Sequence[Answer]) -> list[dict[str, object]]:
    """The bars' numbers."""
    return [{"Word": answer.text, "Sparse": round(answer.sparse, 4), "Full": round(answer.full, 4)} for answer in found]


def percent(share: float) -> str:
    """A probability with an honest number of digits: ``31 %``, ``4.2 %``, ``< 0.1 %``."""
    if share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
