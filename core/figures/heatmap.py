"""Heat maps of values, of differences and of categories.

Scales of values start at the page's background, those of differences pass through it. Numbers in cells are black or
white by contrast with their own cell: with one color for all, the middle of a scale is hard to read. Cells without a
value are hatched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from core.figures.labels import label
from core.figures.plot import BARE, TURNED, Json, Trace, box, cut, figure, scatter, ticks
from core.lazy import go
from core.theme import BLACK, MONO, SMALL, WHITE, Theme
from core.words import distinct

ValueKind = Literal["amounts", "differences"]

_WEIGHTS = (0.2126, 0.7152, 0.0722)
"""What red, green and blue add to the luminance of a color (WCAG)."""
_GAPS_UP_TO = 40
MOST_CLICKS = 1_600
"""Cells of a clickable map: each takes a point of its own on the way to the browser."""
_EVERY_TOKEN = 20
"""Tokens up to which each is named; beyond, as many as the screen has room for."""
_LONGEST = 14
_VALUE = re.compile(r"%\{z:([^}]*)\}")
"""The value in a hover text, and its format, which Python and d3 share."""


class Labels(NamedTuple):
    """One axis of a map: the positions of its cells, and their tick labels."""

    at: Sequence[Any]
    axis: Json


def names(texts: Sequence[str], every: int = 1, **axis: object) -> Labels:
    """Positions 0, 1, ... with every ``every``-th name as tick label; escaped here."""
    return Labels(list(range(len(texts))), ticks(texts, every) | BARE | axis)


def numbers(count: int, **axis: object) -> Labels:
    """Categories 1, 2, ..., of layers or heads."""
    return Labels([str(i + 1) for i in range(count)], {"type": "category"} | BARE | axis)


def tokens(texts: Sequence[str], each: int = 1, **axis: object) -> Labels:
    """Tokens as distinct categories, ``3 · cat``; a cell covers ``each`` tokens.

    Shown are the tokens, where one returns with its time: ``the``, ``the (2)``.
    """
    at = [f"{i + 1} · {label(texts[i])}" for i in range(0, len(texts), each)]
    few = len(at) <= _EVERY_TOKEN
    shown = distinct([label(cut(text, _LONGEST)) for text in texts])[::each]
    return Labels(
        at,
        {
            "type": "category",
            "tickmode": "array" if few else "auto",
            "tickvals": at if few else None,
            "labelalias": dict(zip(at, shown, strict=True)),
            "tickfont": {"family": MONO, "size": SMALL if len(at) <= 40 else 10},
            "showgrid": False,
            **axis,
        },
    )


def cells(
    values: NDArray[Any],
    down: Labels,
    across: Labels,
    theme: Theme,
    *,
    scale: ValueKind | Sequence[str] = "amounts",
    ends: tuple[float, float] | None = None,
    colorbar: str | Json | None = None,
    **trace: object,
) -> Trace:
    """The trace of a map; NaN where nothing was computed.

    Args:
        scale: for categories 0, 1, ..., a color each.
        ends: of the scale, by default those of the data.
        colorbar: its title or its layout; None where the cells show the numbers.
    """
    if isinstance(scale, str):
        colors = theme.amounts if scale == "amounts" else theme.differences
        high = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        low, high = ends or (-high if scale == "differences" else 0.0, high)
    else:
        count = len(scale)
        colors = tuple((edge / count, color) for i, color in enumerate(scale) for edge in (i, i + 1))
        low, high = -0.5, count - 0.5
    shown: Json = {"title": {"text": colorbar}} if isinstance(colorbar, str) else colorbar or {}
    return {
        "type": "heatmap",
        "z": values,
        "x": across.at,
        "y": down.at,
        "zmin": low,
        "zmax": high,
        "colorscale": colors,
        "showscale": colorbar is not None,
        "colorbar": shown,
        "xgap": 1 if values.shape[1] <= _GAPS_UP_TO else 0,
        "ygap": 1 if values.shape[0] <= _GAPS_UP_TO else 0,
        **trace,
    }


def heat_map(
    values: NDArray[Any],
    down: Labels,
    across: Labels,
    theme: Theme,
    *,
    height: int,
    texts: Sequence[Sequence[str]] | None = None,
    mono: bool = False,
    clickable: bool = False,
    selected: int | tuple[int, int] | None = None,
    more: Sequence[Trace] = (),
    layout: Json | None = None,
    **trace: Any,
) -> go.Figure:
    """A heat map with rows downwards and column names on top; cells that are NaN are hatched.

    Args:
        texts: written into the cells.
        mono: whether texts and hover texts are tokens.
        clickable: lay an invisible point over each of up to :data:`MOST_CLICKS` cells; point i is cell i, row by row.
        selected: the row or the cell (row, column) with a frame around it.
        more: traces over the map.
        layout: frames and other additions to the layout.
        trace: as :func:`cells` takes it.
    """
    ground = cells(values, down, across, theme, **trace)
    axes: tuple[Json, Json] = {"side": "top", **across.axis}, TURNED | down.axis
    over = list(more)
    if texts is not None:
        over.insert(0, write(ground, texts, SMALL, MONO if mono else None))
        rows, columns = values.shape  # texts would push the axes outwards
        axes[0].update(range=[-0.5, columns - 0.5])
        axes[1].update(range=[rows - 0.5, -0.5], autorange=None)
    added = dict(layout or {})
    if np.isnan(values).any():
        added["images"] = [*added.get("images", ()), hatching(values, theme)]
    if clickable and values.size <= MOST_CLICKS:
        over.append(_cell_points(ground))
        # a click counts for the nearest point, also at the edge of a wide cell
        added |= {"clickmode": "event+select", "hoverdistance": 150}
    if selected is not None:
        row, column = selected if isinstance(selected, tuple) else (selected, 0)
        wide = 1 if isinstance(selected, tuple) else values.shape[1]
        frame = box(column - 0.5, column + wide - 0.5, row - 0.5, row + 0.5, color=theme.selection, width=2)
        added["shapes"] = [*added.get("shapes", ()), frame]
    return figure(
        theme,
        [ground, *over],
        xaxis=axes[0],
        yaxis=axes[1],
        height=height,
        **{"hoverlabel": {"font": {"family": MONO}}} if mono else {},
        **added,
    )


def hatching(values: NDArray[Any], theme: Theme, across: str = "x") -> Json:
    """An image of diagonal lines behind a map (R, C), where its cells have no value.

    Args:
        across: the map's horizontal axis, where several maps stand side by side.
    """
    rows, columns = values.shape
    areas = [(0, 0, columns, rows)]  # (x, y, width, height) in cells; without gaps, cells with a value cover the rest
    if max(rows, columns) <= _GAPS_UP_TO:
        edges = np.diff(np.isnan(values).astype(np.int8), axis=1, prepend=0, append=0)
        begins, ends = np.argwhere(edges == 1).tolist(), np.argwhere(edges == -1).tolist()
        areas = [(begin, row, end - begin, 1) for (row, begin), (_, end) in zip(begins, ends, strict=True)]
    lines = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="100%" height="100%">'
        '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<path d="M3 0V6" stroke="{theme.hatch}" stroke-width="1.5"/></pattern><g fill="url(#hatch)">'
        + "".join(
            f'<rect x="{100 * x / columns:.4g}%" y="{100 * y / rows:.4g}%" '
            f'width="{100 * wide / columns:.4g}%" height="{100 * high / rows:.4g}%"/>'
            for x, y, wide, high in areas
        )
        + "</g></svg>"
    )
    place = {"xref": across, "yref": "y", "x": -0.5, "y": -0.5, "sizex": columns, "sizey": rows}
    return {"source": f"data:image/svg+xml,{quote(lines)}", "sizing": "stretch", "layer": "below", **place}


def points(x: Sequence[Any], y: Sequence[Any], size: int, **hover: object) -> Trace:
    """Invisible points that receive clicks and carry hover texts, ``size`` pixels wide.

    One of them is drawn, all can be met: with a thousand in the page, a browser takes half a minute for the layout that
    each name on an axis asks for.
    """
    unseen = {"marker": {"opacity": 0.0}}
    marker = {"size": size, "symbol": "square", "opacity": 0.0, "maxdisplayed": 1}
    return scatter(x, y, "markers", marker=marker, selected=unseen, unselected=unseen, showlegend=False, **hover)


def _cell_points(ground: Trace) -> Trace:
    """A point for each cell of a map, row by row, with the map's hover text, which a point would hide."""
    template, across, down = ground["hovertemplate"], ground["x"], ground["y"]
    value = _VALUE.search(template)
    texts = None
    if value is not None:
        template = _VALUE.sub("%{text}", template)
        written = ground["z"].ravel().tolist()
        texts = [format(number, value[1]) if np.isfinite(number) else "not computed" for number in written]
    x, y = [*across] * len(down), [row for row in down for _ in across]
    return points(x, y, 6, hovertemplate=template, **{} if texts is None else {"text": texts})


def write(ground: Trace, texts: Sequence[Sequence[str]], size: float, family: str | None) -> Trace:
    """(R, C) texts in the cells of a map, each in black or white."""
    ink = inks(np.nan_to_num(ground["z"]), ground["colorscale"], ground["zmin"], ground["zmax"])
    return scatter(
        [x for _ in ground["y"] for x in ground["x"]],
        [y for y in ground["y"] for _ in ground["x"]],
        "text",
        text=[text for line in texts for text in line],
        hoverinfo="skip",
        showlegend=False,
        textfont={"color": ink.ravel().tolist(), "size": size} | ({"family": family} if family else {}),
    )


def readable(grounds: NDArray[np.floating]) -> NDArray[np.str_]:
    """(..., 3) red, green and blue from 0 to 255: black or white on each, by WCAG's contrast ratio."""
    parts = np.asarray(grounds, dtype=np.float64) / 255
    luminance = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ np.array(_WEIGHTS)
    return np.where(1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05, WHITE, BLACK)


@lru_cache(maxsize=4_096)
def ink_on(color: str) -> str:
    """Black or white on ``#rrggbb``."""
    return str(readable(_channels([color])[0]))


def inks(
    values: NDArray[np.floating], colors: Sequence[tuple[float, str]], low: float, high: float
) -> NDArray[np.str_]:
    """Black or white for each of (R, C) values on a scale from ``low`` to ``high``; beyond it its ends go on."""
    channels = _channels([color for _, color in colors])
    along = (np.asarray(values, dtype=np.float64) - low) / ((high - low) or 1.0)
    stops = [position for position, _ in colors]
    return readable(np.stack([np.interp(along, stops, channels[:, i]) for i in range(3)], axis=-1))


def _channels(colors: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors], dtype=np.float64)
