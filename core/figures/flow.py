"""The way through a block as a drawing: the stream down the left, the parts beside it, lines from step to step.

Plain geometry in pixels, for whoever draws it. Every step is a row; lane 0 is the stream. A line runs down in the lane
of one of its ends and bends where it changes lanes, so that no line crosses a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from core.attention.inside.steps import Step
from core.attention.inside.wiring import ENCODER, Wire

ROW, HEADING, LANE, LEFT, BEND = 27, 27, 13, 12, 9
Shape = Literal["step", "sum", "norm"]


@dataclass(frozen=True, slots=True)
class Point:
    """Where a step stands."""

    x: int
    y: int
    shape: Shape
    outside: bool
    """Whether something comes in from the side: what the encoder made."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line from step ``start`` to step ``end``; ``path`` as SVG writes it."""

    start: int
    end: int
    path: str


@dataclass(frozen=True, slots=True)
class Box:
    """A part that stands beside the stream."""

    left: int
    top: int
    height: int


@dataclass(frozen=True, slots=True)
class Flow:
    """A drawing ``width`` wide and ``height`` high."""

    width: int
    height: int
    points: tuple[Point, ...]
    lines: tuple[Line, ...]
    boxes: tuple[Box, ...]


def flow(steps: Sequence[Step], wires: Sequence[Wire]) -> Flow:
    """The drawing of a block; each part has a heading of `HEADING` pixels above its rows of `ROW`."""
    points: list[Point] = []
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
            points.append(Point(LEFT + LANE * wire.lane, top + ROW // 2, shape, wire.outside == ENCODER))
            top += ROW
    lanes = {(start, end): lane_of(wires, start, end) for end, wire in enumerate(wires) for start in wire.of}
    lines = tuple(Line(*ends, _path(points[ends[0]], points[ends[1]], LEFT + LANE * lanes[ends])) for ends in lanes)
    widest = max((*lanes.values(), *(wire.lane for wire in wires)), default=0)
    return Flow(2 * LEFT + LANE * widest, top, tuple(points), lines, tuple(boxes))


def lane_of(wires: Sequence[Wire], start: int, end: int) -> int:
    """The lane in which a line runs down: of its ends the one further to the right, where nobody stands between.

    Where others stand in both lanes, it goes around them in a lane of its own.
    """
    between = {wires[row].lane for row in range(start + 1, end)}
    ends = sorted({wires[start].lane, wires[end].lane}, reverse=True)
    return next((lane for lane in ends if lane not in between), 1 + max(wire.lane for wire in wires))


def _path(start: Point, end: Point, x: int) -> str:
    """Sideways to the lane at ``x``, down in it, and sideways again."""
    path = f"M{start.x} {start.y}"
    if x != start.x:
        path += f"H{x - BEND}Q{x} {start.y} {x} {start.y + BEND}"
    if x == end.x:
        return f"{path}V{end.y}"
    side = BEND if end.x > x else -BEND
    return f"{path}V{end.y - BEND}Q{x} {end.y} {x + side} {end.y}H{end.x}"
