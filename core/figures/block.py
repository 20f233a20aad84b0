"""One tensor of a block as a figure: vectors as token x dimension with the norm of each, maps as query x key.

A figure has at most `MOST_CELLS` cells, which bounds its bytes: of more values, each cell shows the one of its
neighborhood with the largest magnitude.

A block as a diagram: the residual stream down the left, the sub-layers beside it, lines from step to step.

The layout is plain geometry in pixels. Every step is a row; lane 0 is the stream. A line runs down in the lane
of one of its ends and bends where it changes lanes, so that no line crosses a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, isfinite, log10
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.attention.inside.block import Wire
from core.attention.inside.steps import ENCODER, Step
from core.figures.heatmap import Labels, ValueKind, cells, heat_map, tokens
from core.figures.labels import sentence
from core.figures.plot import TURNED, Json, box, figure, title
from core.lazy import go
from core.theme import MONO, Theme

MOST_CELLS = 32_768
MOST_ROWS = 176
MOST_COLUMNS = 384


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
        """The entries that one cell covers; empty where it is one."""
        if self.down == self.across == 1:
            return ""
        return sentence("Folded", count=self.down * self.across)


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
    """Where the colors of signed numbers end."""

    at: float
    beyond: int
    """How many numbers lie further out and are drawn as if they lay there."""


def limit(values: Floats) -> Limit:
    """The largest magnitude, or its 99.5th percentile where a few outliers dwarf the rest."""
    sizes = np.abs(values[np.isfinite(values)])
    if not sizes.size or float(sizes.max()) == 0.0:
        return Limit(1.0, 0)
    most, usual = float(sizes.max()), float(np.quantile(sizes, 0.995))
    at = usual if most > 2.5 * usual > 0 else most
    return Limit(at, int((sizes > at).sum()))


@dataclass(frozen=True, slots=True)
class Numbers:
    """Summary statistics of a matrix, over its computed (finite) entries."""

    mean: float
    spread: float
    """Standard deviation."""
    largest: float
    largest_at: tuple[int, int]
    smallest: float
    smallest_at: tuple[int, int]


def numbers(values: Floats) -> Numbers:
    """Summary statistics of a matrix with at least one finite entry."""
    finite = np.where(np.isfinite(values), values, np.float32(np.nan))
    top, low = (np.unravel_index(int(index), values.shape) for index in (np.nanargmax(finite), np.nanargmin(finite)))
    return Numbers(
        float(np.nanmean(finite)),
        float(np.nanstd(finite)),
        float(values[top]),
        (int(top[0]), int(top[1])),
        float(values[low]),
        (int(low[0]), int(low[1])),
    )


def written(number: float, digits: int = 3) -> str:
    """A number with ``digits`` significant digits and without an exponent, which plotly would parse as its own."""
    if number == 0 or not isfinite(number):
        return "0" if number == 0 else str(number)
    decimals = digits - 1 - floor(log10(abs(number)))
    text = f"{round(number, decimals):.{max(0, decimals)}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def vectors(
    values: Floats, texts: Sequence[str], accent: str, selected: int | None = None, *, theme: Theme
) -> go.Figure:
    """Token x dimension as a heat map around zero, with a bar for the norm of each row; bar i is a click on row i.

    A frame marks the row ``selected``.
    """
    folded, end = fold(values), limit(values).at
    down = tokens(texts, folded.down)
    norms = np.linalg.norm(values, axis=-1).astype(np.float32)
    lengths = norms if folded.down == 1 else np.maximum.reduceat(norms, range(0, len(norms), folded.down))
    dimensions = [f"dimension {_span(i, folded.across, values.shape[1])}" for i in range(folded.values.shape[1])]
    shown = sorted({len(dimensions) * k // 4 for k in range(4)})
    across = {
        "type": "category",
        "tickmode": "array",
        "tickvals": [dimensions[i] for i in shown],
        "ticktext": [str(i * folded.across + 1) for i in shown],
    }
    top = {"side": "top", "tickangle": 0}
    longest = float(lengths.max(initial=0.0)) or 1.0
    return figure(
        theme,
        [
            cells(
                _rounded(folded.values),
                down,
                Labels(dimensions, {}),
                theme,
                scale="differences",
                ends=(-end, end),
                xgap=0,
                colorbar=_colorbar("value", (-end, end)),
                hovertemplate="<b>%{y}</b>, %{x}<br>%{z:.4g}<extra></extra>",
            ),
            {
                "type": "bar",
                "x": lengths,
                "y": down.at,
                "xaxis": "x2",
                "orientation": "h",
                "marker": {"color": accent},
                "showlegend": False,
                "selected": {"marker": {"opacity": 1.0}},
                "unselected": {"marker": {"opacity": 1.0}},
                "hovertemplate": "<b>%{y}</b><br>norm %{x:.4g}<extra></extra>",
            },
        ],
        xaxis={**top, **across, **title(f"{values.shape[1]:,} dimensions", 4), "domain": [0, 0.827]},
        xaxis2={
            **top,
            **title("norm", 4),
            "tickvals": [longest],
            "ticktext": [written(longest)],
            "range": [0, 1.15 * longest],
            "domain": [0.842, 1],
        },
        yaxis=TURNED | down.axis,
        height=_height(len(down.at), 19),
        bargap=0.25,
        hoverlabel={"font": {"family": MONO}},
        clickmode="event+select",
        shapes=[] if selected is None else [_frame(selected // folded.down, len(dimensions), theme)],
    )


def _frame(row: int, columns: int, theme: Theme) -> Json:
    return box(-0.5, columns - 0.5, row - 0.5, row + 0.5, color=theme.selection, width=2)


def weights(
    values: Floats,
    seen: NDArray[np.bool_],
    queries: Sequence[str],
    keys: Sequence[str],
    selected: int | None = None,
    *,
    theme: Theme,
) -> go.Figure:
    """Query x key, nonnegative weights; hatched where none was computed. A frame marks the query ``selected``."""
    folded = fold(np.where(seen, values, np.float32(np.nan)), square=True)
    most = max(0.2, float(np.nanmax(folded.values, initial=0.0)))
    return _map(folded, queries, keys, theme, "amounts", (0.0, most), "weight", selected=selected)


def score_map(
    values: Floats,
    queries: Sequence[str],
    keys: Sequence[str],
    selected: int | None = None,
    end: float | None = None,
    *,
    theme: Theme,
) -> go.Figure:
    """Query x key, signed scores; hatched where none was computed.

    The scale runs to ``end`` on both sides: several maps share one, which stands beside them; without it, to the map's
    own :func:`limit`, with a bar.
    """
    shared = {} if end is None else {"colorbar": None}
    folded, end = fold(values, square=True), end or limit(values).at
    return _map(folded, queries, keys, theme, "differences", (-end, end), "score", selected=selected, **shared)


def mask(
    seen: NDArray[np.bool_], queries: Sequence[str], keys: Sequence[str], selected: int | None = None, *, theme: Theme
) -> go.Figure:
    """Query x key: one color where attention is allowed, hatched where it is masked."""
    folded = fold(np.where(seen, np.float32(0.0), np.float32(np.nan)), square=True)
    color = theme.amounts[-2][1]
    hover = {"colorbar": None, "hovertemplate": "<b>%{y}</b> may attend to <b>%{x}</b><extra></extra>"}
    return _map(folded, queries, keys, theme, (color,), (0.0, 1.0), "", selected=selected, **hover)


def _map(
    folded: Folded,
    queries: Sequence[str],
    keys: Sequence[str],
    theme: Theme,
    scale: ValueKind | tuple[str],
    ends: tuple[float, float],
    what: str,
    *,
    selected: int | None,
    **looks: object,
) -> go.Figure:
    down = tokens(queries, folded.down, **title("query", 6))
    across = tokens(keys, folded.across, **title("key", 6))
    across.axis["tickangle"] = -60 if across.axis["tickmode"] == "array" else -90
    trace: Json = {
        "colorbar": _colorbar(what, ends),
        "hovertemplate": f"<b>%{{y}}</b> to <b>%{{x}}</b><br>{what} %{{z:.4g}}<extra></extra>",
    }
    return heat_map(
        _rounded(folded.values),
        down,
        across,
        theme,
        scale=scale,
        ends=ends,
        mono=True,
        clickable=selected is not None,
        selected=None if selected is None else selected // folded.down,
        height=90 + _height(len(down.at), 19),
        **trace | looks,
    )


def _rounded(values: Floats) -> Floats:
    """Round to the four digits that the hover text shows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.float32(10.0) ** (3 - np.floor(np.log10(np.abs(values))))
        rounded = np.rint(values * digits) / digits
    return np.where(np.isfinite(rounded), rounded, values).astype(np.float32)


def _span(cell: int, each: int, most: int) -> str:
    first, last = cell * each + 1, min(most, (cell + 1) * each)
    return str(first) if first == last else f"{first} to {last}"


def _height(rows: int, each: int) -> int:
    return 100 + min(460, max(90, rows * each))


def _colorbar(name: str, ends: tuple[float, float]) -> Json:
    at = [ends[0], (ends[0] + ends[1]) / 2, ends[1]]
    return {"tickvals": at, "ticktext": [written(value, 2) for value in at], "ypad": 12, "title": {"text": name}}


ROW, HEADING, LANE, LEFT, BEND = 27, 27, 13, 12, 9
Shape = Literal["step", "sum", "norm"]


@dataclass(frozen=True, slots=True)
class StepPlace:
    """The position of a step."""

    x: int
    y: int
    shape: Shape
    outside: bool
    """Whether the encoder's output enters here."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line from step ``start`` to step ``end``; ``path`` is an SVG path."""

    start: int
    end: int
    path: str


@dataclass(frozen=True, slots=True)
class Box:
    """A sub-layer beside the residual stream."""

    left: int
    top: int
    height: int


@dataclass(frozen=True, slots=True)
class Flow:
    """A drawing ``width`` wide and ``height`` high."""

    width: int
    height: int
    points: tuple[StepPlace, ...]
    lines: tuple[Line, ...]
    boxes: tuple[Box, ...]


def flow(steps: Sequence[Step], wires: Sequence[Wire]) -> Flow:
    """The drawing of a block; each part has a heading of `HEADING` pixels above its rows of `ROW`."""
    points: list[StepPlace] = []
    boxes: list[Box] = []
    top = 0
    for part, group in groupby(range(len(steps)), key=lambda i: steps[i].part):
        rows = list(group)
        top += HEADING
        inside = [row for row in rows if wires[row].lane]
        if inside and part not in ("embedding", "end"):
            begin = top + ROW * (inside[0] - rows[0])
            boxes.append(Box(LEFT + LANE // 2, begin, ROW * (inside[-1] - inside[0] + 1)))
        for row in rows:
            wire = wires[row]
            shape: Shape = (
                "sum" if steps[row].name in ("residual", "sum") else "norm" if "norm" in steps[row].name else "step"
            )
            points.append(StepPlace(LEFT + LANE * wire.lane, top + ROW // 2, shape, wire.outside == ENCODER))
            top += ROW
    lanes = {(start, end): lane_of(wires, start, end) for end, wire in enumerate(wires) for start in wire.of}
    lines = tuple(Line(*ends, _path(points[ends[0]], points[ends[1]], LEFT + LANE * lanes[ends])) for ends in lanes)
    widest = max((*lanes.values(), *(wire.lane for wire in wires)), default=0)
    return Flow(2 * LEFT + LANE * widest, top, tuple(points), lines, tuple(boxes))


def lane_of(wires: Sequence[Wire], start: int, end: int) -> int:
    """The lane in which a line runs down: of its ends' lanes the rightmost that is free between them.

    Where other steps occupy both lanes, the line gets a lane of its own.
    """
    between = {wires[row].lane for row in range(start + 1, end)}
    ends = sorted({wires[start].lane, wires[end].lane}, reverse=True)
    return next((lane for lane in ends if lane not in between), 1 + max(wire.lane for wire in wires))


def _path(start: StepPlace, end: StepPlace, x: int) -> str:
    """Sideways to the lane at ``x``, down in it, and sideways again."""
    path = f"M{start.x} {start.y}"
    if x != start.x:
        path += f"H{x - BEND}Q{x} {start.y} {x} {start.y + BEND}"
    if x == end.x:
        return f"{path}V{end.y}"
    side = BEND if end.x > x else -BEND
    return f"{path}V{end.y - BEND}Q{x} {end.y} {x + side} {end.y}H{end.x}"
