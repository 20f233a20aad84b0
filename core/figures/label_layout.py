"""Label layout without overlaps: text widths, boxes, and a greedy search around each point.

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
        """The right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.top + self.height

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """Its point that is nearest to another one."""
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)


@dataclass(frozen=True, slots=True)
class Point:
    """A labeled marker: center, radius and name."""

    x: float
    y: float
    r: float
    name: str


def place_labels(points: Sequence[Point], bounds: Box) -> tuple[Box | None, ...]:
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


def _place_in_order(points: Sequence[Point], bounds: Box, order: Sequence[int]) -> list[Box | None]:
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


def _free(point: Point, taken: Sequence[Box], bounds: Box) -> list[Box]:
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


def _around(point: Point, width: float) -> tuple[Numbers, Numbers]:
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
