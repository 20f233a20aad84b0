"""The family over the years, laid out by computation: in lanes by branch, or by size on a logarithmic axis.

Time runs to the right, a month at a time. In lanes, a system takes the first free row of its branch's lane, the one
nearest to its parent's: rows are filled in the order of time, so no two names can meet, and a lane has hardly more rows
than systems that stand side by side at the busiest moment. A marker's radius grows with the logarithm of the largest
size: ten times more parameters add as many pixels everywhere. By size, height is the logarithm, and names look for
free places; where one finds none, the picture grows.

A label is tried beside its point, then on wider and wider rings; it takes the first free position, the most crowded
points first. Beyond a distance, a thin line connects label and point. The search is greedy: where a label
finds no position, the search restarts with it. In a figure that is too small it may still fail: the caller then
makes the figure higher, or omits the label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.catalogue.schema import Branch
from core.figures.labels import short, whole
from core.figures.lineage import Entry

Numbers = npt.NDArray[np.float64]

SIZE, HEIGHT = 12.5, 16.0
"""Of a name, in pixels: the font's size and the line's height."""
_WIDTHS = (
    (0.30, "ijlIJ"),
    (0.33, " .,:'|"),
    (0.40, "-ftr()/"),
    (0.53, "sz"),
    (0.58, "ckLF"),
    (0.61, "vxyaoPTY"),
    (0.64, "ebdghnpquES0123456789"),
    (0.70, "KAVBRXZC"),
    (0.76, "UHN"),
    (0.80, "DGOQ+"),
    (0.83, "w"),
    (0.87, "M"),
    (1.0, "mW"),
)
"""Widths of letters in shares of the font's size, as DejaVu Sans has them, which is wider than most."""
_OF = {letter: width for width, letters in _WIDTHS for letter in letters}
_RINGS = (0, 14, 26, 40, 56, 74, 94, 118, 144)
_TURNS = 16
_TRIES = 3
LEADS = 10
"""Distance in pixels between a point and its name beyond which a line connects them."""


def text_width(text: str, size: float = SIZE) -> float:
    """An upper bound on the width of ``text`` in pixels, in a common sans-serif font."""
    return size * sum(_OF.get(letter, 0.9) for letter in text)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels, from its upper left corner."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """Its point that is nearest to another one."""
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)


@dataclass(frozen=True, slots=True)
class Marker:
    """A labeled marker: center, radius and name."""

    x: float
    y: float
    r: float
    name: str


def place_labels(points: Sequence[Marker], bounds: Box) -> tuple[Box | None, ...]:
    """A box for every label, clear of each other and of the markers; None where no position was free."""
    near = [sum(abs(p.x - q.x) < 90 and abs(p.y - q.y) < 40 for q in points) for p in points]
    order = sorted(range(len(points)), key=lambda i: (-near[i], points[i].x))
    best = placed = _place_in_order(points, bounds, order)
    for _ in range(_TRIES):
        if None not in placed:
            break
        order.sort(key=lambda i: placed[i] is not None)
        placed = _place_in_order(points, bounds, order)
        best = min(best, placed, key=lambda boxes: boxes.count(None))
    return tuple(best)


def _place_in_order(points: Sequence[Marker], bounds: Box, order: Sequence[int]) -> list[Box | None]:
    """A box for every label, placed in this order."""
    taken = [Box(p.x - p.r - 1, p.y - p.r - 1, 2 * p.r + 2, 2 * p.r + 2) for p in points]
    leads: list[tuple[float, float, float, float]] = []
    boxes: list[Box | None] = [None] * len(points)
    for i in order:
        point, names = points[i], [box for box in boxes if box]
        for box in _free(point, taken, bounds):
            line = (*box.nearest(point.x, point.y), point.x, point.y)
            led = math.dist(line[:2], line[2:]) > point.r + LEADS
            if any(_cuts(other, box) for other in leads) or (led and any(_cuts(line, name) for name in names)):
                continue
            boxes[i] = box
            taken.append(box)
            if led:
                leads.append(line)
            break
    return boxes


def _free(point: Marker, taken: Sequence[Box], bounds: Box) -> list[Box]:
    """Positions for a point's label inside ``bounds`` and clear of the ``taken`` boxes, best first."""
    width = text_width(point.name)
    left, top = _around(point, width)
    right, bottom = left + width, top + HEIGHT
    inside = (left >= bounds.left) & (right <= bounds.right) & (top >= bounds.top) & (bottom <= bounds.bottom)
    edges = np.array([(box.left, box.top, box.right, box.bottom) for box in taken])  # [taken, 4]
    overlapping = (left[:, None] < edges[:, 2]) & (right[:, None] > edges[:, 0])  # [candidates, taken]
    overlapping &= (top[:, None] < edges[:, 3]) & (bottom[:, None] > edges[:, 1])
    return [
        Box(float(left[i]), float(top[i]), width, HEIGHT) for i in np.flatnonzero(inside & ~overlapping.any(axis=1))
    ]


def _around(point: Marker, width: float) -> tuple[Numbers, Numbers]:
    """Left and top of candidate positions, best first: right, left, above, below, then rings of :data:`_TURNS`."""
    angle = 2 * np.pi * np.arange(_TURNS) / _TURNS
    dx, dy = (np.tile(part, len(_RINGS)) for part in (np.cos(angle), np.sin(angle)))
    ring = np.repeat(np.array(_RINGS, dtype=float), _TURNS)
    x, y = point.x + dx * (point.r + 5 + ring), point.y + dy * (point.r + 3 + ring)
    # the edge that faces the point touches the ring; straight above and below the name is centered
    start = np.where(dx > 0.2, x, np.where(dx < -0.2, x - width, x - width / 2))
    beside, center, gap = point.y - HEIGHT / 2, point.x - width / 2, point.r + 4
    lefts = np.concatenate([[point.x + gap, point.x - gap - width, center, center], start])
    tops = np.concatenate(
        [[beside, beside, point.y - point.r - HEIGHT - 1, point.y + point.r + 1], y - HEIGHT / 2 + dy * HEIGHT / 2]
    )
    return lefts, tops


def _cuts(line: tuple[float, float, float, float], box: Box) -> bool:
    """Whether a segment passes through a box (Liang and Barsky's clipping)."""
    x0, y0, x1, y1 = line
    if max(x0, x1) < box.left or min(x0, x1) > box.right or max(y0, y1) < box.top or min(y0, y1) > box.bottom:
        return False
    enters, leaves = 0.0, 1.0
    for step, distance in (
        (x0 - x1, x0 - box.left),
        (x1 - x0, box.right - x0),
        (y0 - y1, y0 - box.top),
        (y1 - y0, box.bottom - y0),
    ):
        if step == 0:
            if distance <= 0:
                return False
        elif step < 0:
            enters = max(enters, distance / step)
        else:
            leaves = min(leaves, distance / step)
    return enters < leaves


ORDER: tuple[Branch | None, ...] = (None, "encoder", "efficient", "encoder-decoder", "decoder")
"""Lanes from top to bottom: milestones, then those that descend from an encoder near it, so that lines stay short."""
TITLES = {
    None: "Milestones",
    "encoder": "Encoder",
    "decoder": "Decoder",
    "encoder-decoder": "Encoder-decoder",
    "efficient": "Efficient",
}
SYMBOLS: dict[Branch | None, str] = {
    "encoder": "circle",
    "decoder": "square",
    "encoder-decoder": "diamond",
    "efficient": "triangle",
    None: "circle",
}
"""Color is never the only sign of a branch."""

AXIS, ROW, PAD = 26.0, 22.0, 4.0
"""Pixels: the years above the picture, the least height of a row, the air above and below a lane."""
HEIGHTS = (500.0, 600.0, 720.0)
"""Of the figure by size: the first in which every label fits, else the last."""
LEGEND = (10**7, 10**9, 10**11)
_DOT = 6.0
_PLAIN = 6.5
_LEFT = 58.0
_STRIP = 34.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A system's marker and its label's box; ``label`` is None where none fits."""

    slug: str
    x: float
    y: float
    r: float
    label: Box | None
    low: float
    """The height of its smallest size; ``y`` in lanes and with one size."""


@dataclass(frozen=True, slots=True)
class Band:
    """A branch's lane over the whole width."""

    branch: Branch | None
    title: str
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture ``width`` by ``height``. Month m stands at ``x0 + m * step``; ``years`` and ``levels`` are ticks."""

    width: float
    height: float
    x0: float
    step: float
    marks: tuple[Mark, ...]
    bands: tuple[Band, ...]
    years: tuple[tuple[float, str], ...]
    levels: tuple[tuple[float, str], ...]


def radius(parameters: int | None) -> float:
    """Pixels for a size: 3.2 at three million, 3.1 more for every ten times; for no size a fixed one."""
    return _PLAIN if parameters is None else 3.2 + 3.1 * max(0.0, math.log10(parameters) - 6.5)


def lanes(shown: Sequence[Entry], span: tuple[int, int], width: float) -> Drawing:
    """The lanes of ``shown``; ``span`` are the first and the last month of the axis."""
    x0, step = _axis(span, 6.0, width)
    marks: dict[str, Mark] = {}
    bands = []
    top = AXIS
    for branch in ORDER:
        members = [entry for entry in shown if entry.branch == branch]
        if not members:
            continue
        heading = text_width(TITLES[branch]) + 22
        rows, spots = _rows(members, heading, x0, step, width)
        heights = [max([ROW, *(2 * radius(members[i].largest) + 4 for i in row)]) for row in rows]
        place_of = {i: number for number, row in enumerate(rows) for i in row}
        for i, entry in enumerate(members):
            number = place_of[i]
            y = top + PAD + sum(heights[:number]) + heights[number] / 2
            x, left = spots[i]
            box = Box(left, y - HEIGHT / 2, text_width(entry.name), HEIGHT)
            marks[entry.slug] = Mark(entry.slug, x, y, radius(entry.largest), box, y)
        height = sum(heights) + 2 * PAD
        bands.append(Band(branch, TITLES[branch], top, height))
        top += height + 2
    return Drawing(
        width, top, x0, step, tuple(marks[e.slug] for e in shown), tuple(bands), _years(span, x0, step, width), ()
    )


def _rows(
    members: Sequence[Entry], heading: float, x0: float, step: float, width: float
) -> tuple[list[list[int]], list[tuple[float, float]]]:
    """Rows of indices into ``members`` (oldest first), and for each its x and the start of its name."""
    spots, reach = [], []
    for entry in members:
        x, r, long = x0 + entry.at * step, radius(entry.largest), text_width(entry.name)
        gap = 9 * r / 8 + 4  # the corners of a marker reach beyond its radius
        left = x + gap if x + gap + long <= width else x - gap - long
        spots.append((x, left))
        reach.append((min(x - r, left) - 5, max(x + r, left + long) + 5))
    rows: list[list[int]] = [[]]
    ends = [heading]  # the lane's heading stands at the left of its first row
    where: dict[str, int] = {}
    for i in sorted(range(len(members)), key=lambda i: reach[i][0]):
        start, end = reach[i]
        parent = members[i].parent or ""
        wanted = where.get(parent, 0)
        # in its parent's own row only right behind it, else the line would run through others' markers
        barred = wanted if parent in where and members[rows[wanted][-1]].slug != parent else -1
        free = [number for number, taken in enumerate(ends) if taken <= start and number != barred]
        if not free:
            rows.append([])
            ends.append(0.0)
            free = [len(rows) - 1]
        number = min(free, key=lambda row: (abs(row - wanted), row))
        rows[number].append(i)
        ends[number] = end
        where[members[i].slug] = number
    return rows, spots


def by_size(shown: Sequence[Entry], span: tuple[int, int], width: float) -> Drawing:
    """Parameters upwards on a logarithmic axis; systems without a size in a strip below."""
    for height in HEIGHTS:
        drawing = _by_size(shown, span, width, height)
        if all(mark.label for mark in drawing.marks):
            break
    return drawing


def _by_size(shown: Sequence[Entry], span: tuple[int, int], width: float, height: float) -> Drawing:
    x0, step = _axis(span, _LEFT, width)
    counted = [count for entry in shown for _, count in entry.sizes]
    strip = _STRIP if any(entry.largest is None for entry in shown) else 0.0
    low, high = (math.log10(min(counted)) - 0.15, math.log10(max(counted)) + 0.3) if counted else (6.0, 9.0)
    bottom = height - strip
    scale = (bottom - AXIS) / (high - low)

    def y_of(parameters: int | None) -> float:
        return height - strip / 2 if parameters is None else bottom - (math.log10(parameters) - low) * scale

    spots = _apart([(x0 + entry.at * step, y_of(entry.largest)) for entry in shown], step)
    points = [Marker(x, y, _DOT, entry.name) for (x, y), entry in zip(spots, shown, strict=True)]
    boxes = place_labels(points, Box(_LEFT, AXIS, width - _LEFT, height - AXIS))
    marks = tuple(
        Mark(entry.slug, point.x, point.y, _DOT, box, y_of(entry.smallest))
        for entry, point, box in zip(shown, points, boxes, strict=True)
    )
    levels = tuple((y_of(10**power), whole(short(10**power))) for power in range(math.ceil(low), math.floor(high) + 1))
    if strip:
        levels = ((height - strip / 2, "none"), *levels)
    return Drawing(width, height, x0, step, marks, (), _years(span, x0, step, width), levels)


def _apart(spots: Sequence[tuple[float, float]], step: float) -> list[tuple[float, float]]:
    """Markers that would cover each other, moved aside within their month."""
    moved: list[tuple[float, float]] = []
    for x, y in spots:
        tries = [x + shift * step for shift in (0, 0.45, -0.45)]
        free = [t for t in tries if all(abs(t - a) + abs(y - b) > _DOT + 2 for a, b in moved)]
        moved.append((free[0] if free else x, y))
    return moved


def _axis(span: tuple[int, int], left: float, width: float) -> tuple[float, float]:
    """The x of month 0, and pixels per month."""
    step = (width - left) / (span[1] - span[0])
    return left - span[0] * step, step


def _years(span: tuple[int, int], x0: float, step: float, width: float) -> tuple[tuple[float, str], ...]:
    """The start of each year on the axis that leaves room for its number."""
    years = range(-(-span[0] // 12), span[1] // 12 + 1)
    marks = ((x0 + year * 12 * step, str(year)) for year in years)
    return tuple((x, year) for x, year in marks if x + 36 <= width)


def span_of(family: Sequence[Entry]) -> tuple[int, int]:
    """The axis' first and last month: from the January before the family begins to some months after it ends."""
    first, last = min(entry.at for entry in family), max(entry.at for entry in family)
    return first - max(3, first % 12), last + 5


LINE = 24.0
_GAP = 22.0
_MARK = 6.0


@dataclass(frozen=True, slots=True)
class Sign:
    """A marker at (``x``, ``y``) below the picture with its meaning behind it."""

    text: str
    branch: Branch | None
    hollow: bool
    ring: bool
    x: float
    y: float
    r: float


def key(shown: Sequence[Entry], width: float, sizes: bool) -> tuple[Sign, ...]:
    """The signs that ``shown`` needs. ``sizes``: markers grow with the parameters, so three of them give the scale."""
    wanted: list[tuple[str, Branch | None, bool, bool, float]] = []
    if sizes:
        wanted += [(f"{whole(short(size))} parameters", None, False, False, radius(size)) for size in LEGEND]
    else:
        there = {entry.branch for entry in shown}
        wanted += [(TITLES[b], b, False, False, _MARK) for b in ORDER if b and b in there]
    if any(entry.largest is None for entry in shown):
        wanted.append(("size not published or not counted here", None, True, False, _MARK))
    if any("efficient" in entry.branches[1:] for entry in shown):
        wanted.append(("listed under Efficient as well", None, False, True, _MARK))
    rows: list[list[tuple[str, Branch | None, bool, bool, float]]] = [[]]
    x = 0.0
    for sign in wanted:
        long = 2 * sign[-1] + 7 + text_width(sign[0]) + _GAP
        if rows[-1] and x + long - _GAP > width - 4:
            rows.append([])
            x = 0.0
        rows[-1].append(sign)
        x += long
    signs, top = [], 0.0
    for row in rows:
        height = max([LINE, *(2 * r + 6 for *_, r in row)])
        x = 4.0
        for text, branch, hollow, ring, r in row:
            signs.append(Sign(text, branch, hollow, ring, x + r, top + height / 2, r))
            x += 2 * r + 7 + text_width(text) + _GAP
        top += height
    return tuple(signs)
