"""Vectors as pictures: points of a plane by sense, cosines as a grid, numbers as strips of colored cells.

Senses differ by color and symbol, and each point carries its line's name. Visitors' texts are escaped.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from core.figures.block import limit
from core.figures.heatmap import cells, hatching, heat_map, names, tokens
from core.figures.labels import label, sentence
from core.figures.plot import SYMBOLS, TURNED, Json, box, figure, note, scatter, title
from core.lazy import go
from core.theme import LARGE, MONO, Theme

_HOVER = 60
"""Characters of a line of a hover text."""
_MANY = 40
_LINE = 16
"""Pixels of a row from which each has its name beside it, however many there are."""
_WIDE = 5
"""Columns up to which a cell has room for larger figures on a telephone."""
_SIDE_BY_SIDE = 12
"""Numbers that stand side by side under a picture on a telephone."""
_MOST_NAMED = 4_000
_SIGN = 0.14
"""Room for a sign between two maps, by the width of a map."""
_BESIDE: Json = {"orientation": "v", "len": 1, "x": 1.01, "y": 0.5, "yanchor": "middle", "ypad": 0}
"""A scale on the right of several maps."""
_SCALE = 44
"""Pixels of the scale below cells without numbers."""


@dataclass(frozen=True, slots=True)
class PlanePoint:
    """One vector on a plane."""

    x: float
    y: float
    name: str
    """The short name beside it."""
    group: str
    """Its sense; may be empty."""
    hover: tuple[str, str, str]
    """What stands before the word in its sentence, the word, what stands after it."""


def score_sum(
    maps: Mapping[str, NDArray[np.floating]], texts: Sequence[str], memory: int = 0, *, theme: Theme
) -> go.Figure:
    """(n, n) signed scores, query by key, as terms of a sum: side by side on one scale, the sum last; hatched for NaN.

    Framed are the first ``memory`` keys in the rows of all later queries.
    """
    down, across = tokens(texts, **title("query", 6)), tokens(texts, showticklabels=False, **title("key", 6))
    end = limit(np.stack(list(maps.values()))).at
    wide = 1 / (len(maps) + _SIGN * (len(maps) - 1))
    traces, axes, notes, frames, hatches = [], {}, [], [], []
    inside: Json = {"x0": -0.5, "x1": memory - 0.5, "y0": memory - 0.5, "y1": len(texts) - 0.5, "type": "rect"}
    over: Json = {"xref": "paper", "yref": "paper", "xanchor": "center"}
    for number, (name, values) in enumerate(maps.items(), 1):
        left = (number - 1) * wide * (1 + _SIGN)
        words = name.replace("\n", " ")
        look: Json = {
            "xaxis": f"x{number}",
            "colorbar": _BESIDE if number == len(maps) else None,
            "hovertemplate": f"<b>%{{y}}</b> to <b>%{{x}}</b><br>{words} %{{z:.3g}}<extra></extra>",
        }
        traces.append(cells(values, down, across, theme, scale="differences", ends=(-end, end), **look))
        axes[f"xaxis{number}"] = across.axis | {"domain": [left, left + wide]}
        if np.isnan(values).any():
            hatches.append(hatching(values, theme, f"x{number}"))
        if memory:
            frames.append(inside | {"xref": f"x{number}", "yref": "y", "line": {"color": theme.ink, "width": 1.5}})
        notes.append(note(name.replace("\n", "<br>"), left + wide / 2, 1, yanchor="bottom", **over))
        if number > 1:
            sign = "=" if number == len(maps) else "+"
            notes.append(note(sign, left - wide * _SIGN / 2, 0.5, yanchor="middle", font={"size": LARGE}, **over))
    return figure(
        theme,
        traces,
        **axes,
        yaxis=TURNED | down.axis,
        annotations=notes,
        shapes=frames,
        height=290,
        margin={"l": 0, "r": 0, "t": 44, "b": 0},
        images=hatches,
        hoverlabel={"font": {"family": MONO}},
    )


def style(groups: Sequence[str], theme: Theme) -> dict[str, tuple[str, str]]:
    """(color, symbol) of each group, in the order in which they first occur."""
    colors = theme.categorical
    return {
        group: (colors[i % len(colors)], SYMBOLS[i % len(SYMBOLS)]) for i, group in enumerate(dict.fromkeys(groups))
    }


def plane(points: Sequence[PlanePoint], titles: tuple[str, str], *, theme: Theme) -> go.Figure:
    """Points on a plane with equal scales, a symbol and a color for each group."""
    groups = style([point.group for point in points], theme)
    traces = []
    for group, (color, symbol) in groups.items():
        members = [point for point in points if point.group == group]
        traces.append(
            scatter(
                [point.x for point in members],
                [point.y for point in members],
                "markers",
                name=label(group) or "word",
                marker={"size": 14, "color": color, "symbol": symbol, "line": {"width": 1, "color": theme.ink}},
                hovertext=[_hover(point) for point in members],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    traces.append(
        scatter(  # names last, so that no marker lies over them
            [point.x for point in points],
            [point.y for point in points],
            "markers+text",
            hoverinfo="skip",
            marker={"size": 14, "opacity": 0},
            text=[label(point.name) for point in points],
            textposition="top center",
            showlegend=False,
        )
    )
    (left, right), (low, high) = (_span([getattr(point, axis) for point in points]) for axis in "xy")
    reach = 1.15 * max(right - left, high - low) / 2 or 1.0
    axis: dict[str, Any] = {"showgrid": True, "showticklabels": False}

    def around(middle: float) -> dict[str, Any]:
        return {"range": [middle - reach, middle + reach]}

    return figure(
        theme,
        traces,
        height=430,
        showlegend=list(groups) != [""],
        legend={"y": -0.08, "yanchor": "top", "itemclick": False, "itemdoubleclick": False},
        hoverlabel={"align": "left"},
        xaxis={**axis, **title(titles[0], 4), **around((left + right) / 2)},
        yaxis={**axis, **title(titles[1], 4), **around((low + high) / 2), "scaleanchor": "x"},
    )


def _span(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _hover(point: PlanePoint) -> str:
    """The sentence with its word in bold, broken into lines."""
    before, word, after = point.hover
    lines, room = [""], _HOVER
    marked = [(part, False) for part in before.split(" ")], [(word, True)], [(part, False) for part in after.split(" ")]
    for number, parts in enumerate(marked):
        for i, (part, bold) in enumerate(parts):
            space = " " if i > 0 else ""
            if len(part) + 1 > room and (space or number == 0) and lines[-1]:
                lines.append("")
                space, room = "", _HOVER
            lines[-1] += space + (f"<b>{label(part)}</b>" if bold else label(part))
            room -= len(part) + len(space)
    head = f"{label(point.name)}: {label(point.group)}" if point.group else label(point.name)
    return f"{head}<br>" + "<br>".join(lines)


def cosines(matrix: NDArray[np.floating], texts: Sequence[str], *, theme: Theme) -> go.Figure:
    """(P, P) cosines as a grid with their values in the cells, without the diagonal."""
    count = len(texts)
    itself = np.eye(count, dtype=bool)
    off = matrix[~itself]
    low, high = (float(off.min()), float(off.max())) if off.size else (0.0, 1.0)
    written = [
        ["" if i == j else f"{value:.2f}".replace("0.", ".") for j, value in enumerate(row)]
        for i, row in enumerate(matrix.tolist())
    ]
    escaped = [label(name) for name in texts]
    return heat_map(
        np.where(itself, np.nan, np.round(matrix, 2)),
        names(texts),
        names(texts, tickangle=-60),
        theme,
        ends=(min(low, high - 0.05), high),
        xgap=1,
        ygap=1,
        customdata=[[f"{a} and {b}" for b in escaped] for a in escaped],
        hovertemplate="%{customdata}: %{z:.2f}<extra></extra>",
        texts=written if count <= 16 else None,
        height=90 + 27 * count,
        layout={"margin": {"r": 56}},
    )


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
    theme: Theme,
) -> go.Figure:
    """(R, C) values as cells.

    :param signed: whether zero is in the middle of the scale.
    :param digits: written into each cell; None for none.
    :param reach: the end of the scale; by default the largest value.
    :param what: what a value is, for hovering.
    """
    finite = values[~np.isnan(values)]
    high = reach or float(np.abs(finite).max(initial=0.0)) or 1.0
    few = values.size <= _MOST_NAMED  # a name for each cell would make a large picture slow
    named: Json = {"customdata": [[f"{label(row)}, {label(top)}" for top in columns] for row in rows]} if few else {}
    where = "%{customdata}" if few else f"{label(down) or 'row'} %{{y}}, column %{{x}}"
    written = None
    if digits is not None:
        written = [["" if np.isnan(value) else f"{value:.{digits}f}" for value in row] for row in values]
    return heat_map(
        np.round(values.astype(np.float32), 4),
        names(rows, 1 if row_height >= _LINE else _every(rows), **title(down)),
        names(columns, _every(columns), tickangle=0 if _short(columns) else -60, **title(across)),
        theme,
        scale="differences" if signed else "amounts",
        ends=(-high if signed else 0.0, high),
        colorbar="" if digits is None else None,
        hovertemplate=f"{where}<br>{label(what)} %{{z:.3f}}<extra></extra>",
        texts=written,
        height=70 + row_height * len(rows) + (20 if across else 0) + (0 if written else _SCALE),
        **named,
    )


def _short(texts: Sequence[str]) -> bool:
    """Whether names fit side by side; of many, only a few are shown."""
    return len(texts) > _MANY or max((len(name) for name in texts), default=0) * len(texts) <= 60


def _every(texts: Sequence[str]) -> int:
    """Every name of a few, every second one where they would overlap, about five of many."""
    if len(texts) > _MANY:
        return max(1, len(texts) // 5)
    return 1 + (len(texts) > _SIDE_BY_SIDE and texts[-1].isdigit())


def pair_matrix(
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    wanted: NDArray[np.bool_],
    *,
    cosines: bool,
    images: NDArray[np.uint8] | None = None,
    theme: Theme,
) -> go.Figure:
    """The matrix of a contrastive loss with its values in the cells; positive pairs have a frame.

    :param values: (rows, columns) cosines from -1 to 1, or probabilities from 0 to 1.
    :param wanted: (rows, columns) True for positive pairs.
    :param cosines: which of the two scales.
    :param images: (columns, height, width, 3) pictures over the columns.
    """
    pictures = [] if images is None else [_over(i, image) for i, image in enumerate(images)]
    frames = [
        box(x - 0.47, x + 0.47, y - 0.47, y + 0.47, color=theme.ink if cosines else theme.secondary, width=3)
        for y, x in np.argwhere(wanted).tolist()
    ]
    return heat_map(
        values,
        names(rows),
        names(columns),
        theme,
        scale="differences" if cosines else "amounts",
        ends=(-1 if cosines else 0, 1),
        xgap=2,
        ygap=2,
        customdata=[[f"{label(row)} and {label(column)}" for column in columns] for row in rows],
        hovertemplate=f"%{{customdata}}<br>{'cosine' if cosines else 'probability'} %{{z:.3f}}<extra></extra>",
        texts=[[f"{value:.2f}" for value in row] for row in values],
        height=70 + 40 * len(rows) + 40 * bool(pictures),
        layout={"shapes": frames, "images": pictures, "margin": {"l": 0, "r": 0, "t": 70 if pictures else 30, "b": 0}},
    )


def _over(column: int, image: NDArray[np.uint8]) -> Json:
    """A picture over a column of a map, above the column's name."""
    file = BytesIO()
    Image.fromarray(image).save(file, "PNG")
    source = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
    place = {"xref": "x", "x": column, "xanchor": "center", "yref": "paper", "y": 1.07, "yanchor": "bottom"}
    return {"source": source, "sizex": 0.9, "sizey": 0.17, **place}


def pair_table(
    cosines: NDArray[np.float64],
    chances: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    wanted: NDArray[np.bool_],
) -> list[dict[str, object]]:
    return [
        {
            "one": row,
            "other": column,
            "cosine": round(float(cosines[i, j]), 4),
            "probability": round(float(chances[i, j]), 4),
            "belong together": "yes" if wanted[i, j] else "no",
        }
        for i, row in enumerate(rows)
        for j, column in enumerate(columns)
    ]


def pair_words(values: NDArray[np.float64], wanted: NDArray[np.bool_], what: str) -> str:
    """The map in one sentence, for screen readers."""
    inside = values[wanted] if wanted.any() else np.zeros(1)
    outside = values[~wanted] if (~wanted).any() else np.zeros(1)
    return sentence("Pairs", what=what, inside=f"{inside.mean():.2f}", outside=f"{outside.mean():.2f}")
