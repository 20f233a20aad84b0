"""Texts in the cells of a heat map, each in black or white, whichever stands out more from its own cell.

One colour for all of them, or Plotly's choice of white and a dark grey, leaves the middle of a scale hard to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.figures.lay_out import lay_out

if TYPE_CHECKING:
    import plotly.graph_objects as go

_PARTS = (0.2126, 0.7152, 0.0722)
"""What red, green and blue add to the luminance of a colour (WCAG)."""


def readable(grounds: NDArray[np.floating]) -> NDArray[np.str_]:
    """(..., 3) red, green and blue from 0 to 255: black or white on each, by WCAG's contrast ratio."""
    parts = np.asarray(grounds, dtype=np.float64) / 255
    luminance = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ np.array(_PARTS)
    return np.where(1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05, "#ffffff", "#000000")


def inks(
    values: NDArray[np.floating], colours: Sequence[tuple[float, str]], low: float, high: float
) -> NDArray[np.str_]:
    """Black or white for each of (R, C) values on the scale ``colours``, which runs from ``low`` to ``high``."""
    return readable(_grounds(values, colours, low, high))


def write(figure: go.Figure, texts: Sequence[Sequence[str]], *, size: int = 12, family: str | None = None) -> None:
    """Write (R, C) ``texts`` into the cells of the figure's first trace, a heat map with rows downwards.

    Both axes end where its cells end: texts would otherwise push them outwards.
    """
    cells = figure.data[0]
    rows, columns = cells.z.shape
    colours = [(float(place), str(colour)) for place, colour in cells.colorscale]
    ink = inks(np.nan_to_num(cells.z), colours, float(cells.zmin), float(cells.zmax))
    figure.add_scatter(
        x=[x for _ in range(rows) for x in cells.x],
        y=[y for y in cells.y for _ in range(columns)],
        text=[text for line in texts for text in line],
        mode="text",
        hoverinfo="skip",
        showlegend=False,
        textfont={"color": ink.ravel().tolist(), "size": size} | ({"family": family} if family else {}),
        cliponaxis=False,
    )
    lay_out(
        figure,
        xaxis={"range": [-0.5, columns - 0.5], "autorange": None},
        yaxis={"range": [rows - 0.5, -0.5], "autorange": None},
    )


def _grounds(
    values: NDArray[np.floating], colours: Sequence[tuple[float, str]], low: float, high: float
) -> NDArray[np.float64]:
    """(R, C, 3) red, green and blue of each value's cell, from 0 to 255; beyond the scale its ends go on."""
    from plotly.colors import hex_to_rgb, unlabel_rgb

    stops = [place for place, _ in colours]
    parts = np.array([hex_to_rgb(name) if name.startswith("#") else unlabel_rgb(name) for _, name in colours])
    along = (np.asarray(values, dtype=np.float64) - low) / ((high - low) or 1.0)
    return np.stack([np.interp(along, stops, parts[:, i]) for i in range(3)], axis=-1)
