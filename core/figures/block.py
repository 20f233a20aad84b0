"""One tensor of a block as a picture: vectors as token x width with the norm of each, maps as query x key.

Numbers with a sign run from blue over the background (zero) to orange, weights from the background through cividis;
what was never computed is grey. A picture has at most `MOST_CELLS` cells, so that it stays light: of more numbers, each
cell shows the one of its neighbourhood that is furthest from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from core.attention.trace import Floats
from core.attention.views.grid import scale as signed_scale
from core.figures.attention import Theme, scale
from core.figures.labels import label
from core.figures.lay_out import lay_out

MOST_CELLS = 32_768
MOST_ROWS = 176
MOST_COLUMNS = 384
_TEXT = {"light": "#1a1f24", "dark": "#e8ecf0"}
_UNSEEN = {"light": "#d3dae1", "dark": "#39424d"}
_SEEN = {"light": "#123570", "dark": "#e1cc55"}
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_EVERY_LABEL = 28


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """A matrix small enough to draw; NaN where nothing was computed."""

    values: Floats
    down: int
    """Rows of the matrix in one cell."""
    across: int
    """Columns of the matrix in one cell."""

    @property
    def sentence(self) -> str:
        """What a cell stands for; empty where it is one number."""
        if self.down == self.across == 1:
            return ""
        count = self.down * self.across
        return f"Each cell stands for {count} neighbouring numbers and shows the one furthest from zero."


def fold(values: Floats, *, square: bool = False) -> Folded:
    """(rows, columns) to at most `MOST_CELLS` cells; with ``square`` as many rows as columns in each cell."""
    rows, columns = values.shape
    down = ceil((max(rows, columns) if square else rows) / MOST_ROWS)
    across = down if square else ceil(columns / min(MOST_COLUMNS, MOST_CELLS // ceil(rows / down)))
    wide = np.pad(
        np.where(np.isfinite(values), values, np.float32(np.nan)),
        ((0, -rows % down), (0, -columns % across)),
        constant_values=np.nan,
    )
    high, long = wide.shape[0] // down, wide.shape[1] // across
    cells = wide.reshape(high, down, long, across).transpose(0, 2, 1, 3).reshape(high, long, -1)
    furthest = np.where(np.isnan(cells), -1.0, np.abs(cells)).argmax(-1)[..., None]
    return Folded(np.take_along_axis(cells, furthest, -1)[..., 0].astype(np.float32), down, across)


@dataclass(frozen=True, slots=True)
class Limit:
    """Where the colours of signed numbers end."""

    at: float
    beyond: int
    """How many numbers lie further out and are drawn as if they lay there."""


def limit(values: Floats) -> Limit:
    """The largest number, or one that all but a two-hundredth keep below where few numbers dwarf the rest."""
    sizes = np.abs(values[np.isfinite(values)])
    if not sizes.size or float(sizes.max()) == 0.0:
        return Limit(1.0, 0)
    most, usual = float(sizes.max()), float(np.quantile(sizes, 0.995))
    at = usual if most > 2.5 * usual > 0 else most
    return Limit(at, int((sizes > at).sum()))


@dataclass(frozen=True, slots=True)
class Numbers:
    """A matrix in a few numbers; what was not computed is left out."""

    mean: float
    spread: float
    """Standard deviation."""
    largest: float
    largest_at: tuple[int, int]
    smallest: float
    smallest_at: tuple[int, int]


def numbers(values: Floats) -> Numbers:
    """The numbers of a matrix that has at least one finite entry."""
    known = np.where(np.isfinite(values), values, np.float32(np.nan))
    top, low = (np.unravel_index(int(found), values.shape) for found in (np.nanargmax(known), np.nanargmin(known)))
    return Numbers(
        float(np.nanmean(known)),
        float(np.nanstd(known)),
        float(values[top]),
        (int(top[0]), int(top[1])),
        float(values[low]),
        (int(low[0]), int(low[1])),
    )


def written(number: float, digits: int = 3) -> str:
    """A number with so many digits and never with an exponent, which plotly would read as one of its own."""
    if number == 0 or not isfinite(number):
        return "0" if number == 0 else str(number)
    places = digits - 1 - floor(log10(abs(number)))
    text = f"{round(number, places):.{max(0, places)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def vectors(values: Floats, tokens: Sequence[str], accent: str, theme: Theme = "light") -> go.Figure:
    """Token x width as a heat map around zero, and beside each row a bar as long as the vector."""
    found, ends = fold(values), limit(values).at
    rows = _rows(tokens, found.down)
    norms = np.linalg.norm(values, axis=-1).astype(np.float32)
    bars = norms if found.down == 1 else np.maximum.reduceat(norms, range(0, len(norms), found.down))
    places = [f"number {_span(i, found.across, values.shape[1])}" for i in range(found.values.shape[1])]
    figure = make_subplots(cols=2, shared_yaxes=True, column_widths=[0.84, 0.16], horizontal_spacing=0.015)
    figure.add_trace(
        go.Heatmap(
            z=_rounded(found.values),
            x=places,
            y=rows,
            zmin=-ends,
            zmax=ends,
            colorscale=signed_scale(theme, True),
            colorbar=_colorbar("value", (-ends, ends), theme),
            ygap=1 if len(rows) <= 40 else 0,
            hovertemplate="<b>%{y}</b>, %{x}<br>%{z:.4g}<extra></extra>",
            hoverongaps=False,
        ),
        row=1,
        col=1,
    )
    figure.add_trace(
        go.Bar(
            x=bars,
            y=rows,
            orientation="h",
            marker={"color": accent, "line": {"width": 0}},
            showlegend=False,
            hovertemplate="<b>%{y}</b><br>norm %{x:.4g}<extra></extra>",
        ),
        row=1,
        col=2,
    )
    shown = sorted({len(places) * k // 4 for k in range(4)})
    title = {"standoff": 4, "font": {"color": _TEXT[theme], "size": 12}}
    longest = float(bars.max(initial=0.0)) or 1.0
    figure.update_xaxes(side="top", showgrid=False, fixedrange=True, tickfont={"color": _TEXT[theme], "size": 12})
    figure.update_xaxes(
        type="category",
        tickmode="array",
        tickvals=[places[i] for i in shown],
        tickangle=0,
        ticktext=[str(i * found.across + 1) for i in shown],
        col=1,
        title={"text": f"{values.shape[1]:,} numbers", **title},
    )
    figure.update_xaxes(
        title={"text": "norm", **title},
        tickvals=[longest],
        ticktext=[written(longest)],
        range=[0, 1.15 * longest],
        tickangle=0,
        col=2,
    )
    figure.update_yaxes(autorange="reversed", fixedrange=True, **_ticks(rows, tokens, found.down, theme))
    lay_out(figure, height=_height(len(rows), 19), bargap=0.25, **_frame(theme))
    return figure


def weights(
    values: Floats, seen: NDArray[np.bool_], queries: Sequence[str], keys: Sequence[str], theme: Theme = "light"
) -> go.Figure:
    """Query x key: weights from zero up, grey where none was computed."""
    found = fold(np.where(seen, values, np.float32(np.nan)), square=True)
    most = max(0.2, float(np.nanmax(found.values, initial=0.0)))
    return _map(found, queries, keys, theme, scale(theme), (0.0, most), "weight")


def scores(values: Floats, queries: Sequence[str], keys: Sequence[str], theme: Theme = "light") -> go.Figure:
    """Query x key: numbers with a sign, grey where none was computed."""
    found, ends = fold(values, square=True), limit(values).at
    return _map(found, queries, keys, theme, signed_scale(theme, True), (-ends, ends), "score")


def mask(seen: NDArray[np.bool_], queries: Sequence[str], keys: Sequence[str], theme: Theme = "light") -> go.Figure:
    """Query x key: one colour where a token may be seen, grey where not."""
    found = fold(np.where(seen, np.float32(1.0), np.float32(np.nan)), square=True)
    colour = _SEEN[theme]
    figure = _map(found, queries, keys, theme, [(0.0, colour), (1.0, colour)], (0.0, 1.0), "")
    figure.data[0].update(showscale=False, hovertemplate="<b>%{y}</b> may see <b>%{x}</b><extra></extra>")
    return figure


def _map(
    found: Folded,
    queries: Sequence[str],
    keys: Sequence[str],
    theme: Theme,
    colours: list[tuple[float, str]],
    ends: tuple[float, float],
    what: str,
) -> go.Figure:
    down, across = _rows(queries, found.down), _rows(keys, found.across)
    figure = go.Figure(
        go.Heatmap(
            z=_rounded(found.values),
            x=across,
            y=down,
            zmin=ends[0],
            zmax=ends[1],
            colorscale=colours,
            colorbar=_colorbar(what, ends, theme),
            xgap=1 if len(across) <= 40 else 0,
            ygap=1 if len(down) <= 40 else 0,
            hovertemplate=f"<b>%{{y}}</b> to <b>%{{x}}</b><br>{what} %{{z:.4g}}<extra></extra>",
            hoverongaps=False,
        )
    )
    if np.isnan(found.values).any():
        lay_out(figure, plot_bgcolor=_UNSEEN[theme])
    title = {"standoff": 6, "font": {"color": _TEXT[theme], "size": 12}}
    figure.update_xaxes(
        side="top",
        title={"text": "key: looked at", **title},
        tickangle=-60 if len(across) <= _EVERY_LABEL else -90,
        fixedrange=True,
        **_ticks(across, keys, found.across, theme),
    )
    figure.update_yaxes(
        autorange="reversed",
        title={"text": "query: looks", **title},
        fixedrange=True,
        **_ticks(down, queries, found.down, theme),
    )
    lay_out(figure, height=90 + _height(len(down), 19), **_frame(theme))
    return figure


def _rounded(values: Floats) -> Floats:
    """Four digits are what the hover text shows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.float32(10.0) ** (3 - np.floor(np.log10(np.abs(values))))
        rounded = np.rint(values * digits) / digits
    return np.where(np.isfinite(rounded), rounded, values).astype(np.float32)


def _rows(tokens: Sequence[str], each: int) -> list[str]:
    """One unlike name for each row, safe for plotly: ``3 · cat``."""
    return [f"{i + 1} · {label(tokens[i])}" for i in range(0, len(tokens), each)]


def _ticks(names: Sequence[str], tokens: Sequence[str], each: int, theme: Theme) -> dict[str, object]:
    few = len(names) <= _EVERY_LABEL
    short = (token if len(token) <= 14 else token[:13] + "…" for token in tokens[::each])
    return {
        "type": "category",
        "tickmode": "array" if few else "auto",
        "tickvals": list(names) if few else None,
        "labelalias": {name: label(token) for name, token in zip(names, short, strict=True)},
        "tickfont": {"family": _MONO, "size": 12 if few else 10, "color": _TEXT[theme]},
        "automargin": True,
        "showgrid": False,
    }


def _span(cell: int, each: int, most: int) -> str:
    first, last = cell * each + 1, min(most, (cell + 1) * each)
    return str(first) if first == last else f"{first} to {last}"


def _height(rows: int, each: int) -> int:
    return 100 + min(460, max(90, rows * each))


def _frame(theme: Theme) -> dict[str, object]:
    return {
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "hoverlabel": {"font": {"family": _MONO}},
        "font": {"color": _TEXT[theme]},
        "dragmode": False,
    }


def _colorbar(title: str, ends: tuple[float, float], theme: Theme) -> dict[str, object]:
    ticks = [ends[0], (ends[0] + ends[1]) / 2, ends[1]]
    return {
        "tickvals": ticks,
        "ticktext": [written(tick, 2) for tick in ticks],
        "orientation": "h",
        "thickness": 10,
        "len": 0.6,
        "x": 0.0,
        "xanchor": "left",
        "y": 0.0,
        "yanchor": "top",
        "ypad": 12,
        "tickangle": 0,
        "outlinewidth": 0,
        "tickfont": {"color": _TEXT[theme]},
        "title": {"text": title, "side": "right", "font": {"color": _TEXT[theme]}},
    }
