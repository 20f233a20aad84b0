"""Points on a circle that are dragged, by pointer or by keyboard, each with an arrow where a loss pulls it.

The same picture as a file is an SVG with the numbers and shapes of ``assets/components/points/points.js``; texts are
escaped, and nothing is asked for from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal
from xml.sax.saxutils import escape, quoteattr

from pydantic import Field

from core.theme import Theme
from core.ui.chips import on_colour
from core.ui.component import MOST, Component, Message


class Turned(Message):
    """The angles of all points, in whole degrees."""

    angles: Annotated[list[Annotated[int, Field(ge=0, lt=360)]], Field(max_length=MOST)]


CIRCLE = Component("points", Turned)

RADIUS = 150
Shape = Literal["circle", "square", "triangle"]


@dataclass(frozen=True, slots=True)
class Key:
    """What a shape means."""

    name: str
    shape: Shape
    colour: str


@dataclass(frozen=True, slots=True)
class Point:
    """One point at a whole number of degrees; ``pull`` is the length of its arrow, against the clock."""

    name: str
    text: str
    angle: int
    pull: float
    shape: Shape
    colour: str
    lane: int = 0
    """0 or 1: how far outside its arrow runs, so that arrows of neighbours do not hide each other."""


def moved(angles: Sequence[int], *, key: str) -> tuple[int, ...]:
    """The angles after the last move; ask before the loss is computed and the circle is drawn."""
    sent = CIRCLE.sent(key)
    if sent is not None and len(sent.angles) == len(angles):
        return tuple(sent.angles)
    return tuple(angles)


def circle(
    points: Sequence[Point], ties: Sequence[tuple[int, int]], keys: Sequence[Key], *, key: str, label: str
) -> None:
    """Draw the circle.

    :param ties: pairs of points that a dashed line joins.
    :param keys: the legend.
    :param key: the one that :func:`moved` was asked with.
    :param label: what the picture is, for screen readers.
    """
    data = {
        "points": [{**asdict(point), "ink": on_colour(point.colour)} for point in points],
        "ties": [list(tie) for tie in ties],
        "keys": [asdict(entry) for entry in keys],
        "label": label,
    }
    CIRCLE.draw(key, data)


def circle_svg(
    points: Sequence[Point], ties: Sequence[tuple[int, int]], keys: Sequence[Key], label: str, theme: Theme
) -> str:
    """The picture as text.

    :param ties: pairs of points that a dashed line joins.
    :param keys: the legend, drawn in a row below.
    :param label: what the picture is, for screen readers.
    """
    ground, ink = theme.ground, theme.ink
    spots = [_spot(point.angle, RADIUS) for point in points]
    parts = [f'<circle r="{RADIUS}" fill="none" stroke="{ink}" stroke-opacity=".25" stroke-width="1.5"/>']
    for one, other in ties:
        (x1, y1), (x2, y2) = spots[one], spots[other]
        parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{ink}" stroke-opacity=".35" '
            'stroke-width="1.5" stroke-dasharray="4 4"/>'
        )
    parts += [_pull(point, ink) for point in points]
    for point, (x, y) in zip(points, spots, strict=True):
        down = 3 if point.shape == "triangle" else 1
        parts.append(
            f'<g transform="translate({x:.1f} {y:.1f})"><title>{escape(point.name)}, {point.angle}°</title>'
            f"{_shape(point.shape, point.colour, 14, ground)}"
            f'<text y="{down}" fill="{on_colour(point.colour)}" font-weight="700" font-size="13" text-anchor="middle" '
            f'dominant-baseline="central">{escape(point.text)}</text></g>'
        )
    for number, key in enumerate(keys):
        x = 120 * (number - (len(keys) - 1) / 2) - 30
        parts.append(
            f'<g transform="translate({x:.1f} 226)">{_shape(key.shape, key.colour, 7, ground)}'
            f'<text x="14" y="1" fill="{ink}" font-size="13" dominant-baseline="central">{escape(key.name)}</text></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-215 -215 430 460" width="645" height="690" role="img" '
        f"aria-label={quoteattr(label)} font-family=\"system-ui, 'DejaVu Sans', sans-serif\">"
        f'<rect x="-215" y="-215" width="430" height="460" fill="{ground}"/>{"".join(parts)}</svg>\n'
    )


def _spot(degrees: float, radius: float) -> tuple[float, float]:
    return radius * math.cos(math.radians(degrees)), -radius * math.sin(math.radians(degrees))


def _shape(shape: Shape, colour: str, size: float, edge: str) -> str:
    look = f'fill="{colour}" stroke="{edge}" stroke-width="2"'
    if shape == "square":
        return f'<rect x="{-size:g}" y="{-size:g}" width="{2 * size:g}" height="{2 * size:g}" rx="2" {look}/>'
    if shape == "triangle":
        path = f"M0 {-1.3 * size:g}L{1.25 * size:g} {0.95 * size:g}L{-1.25 * size:g} {0.95 * size:g}Z"
        return f'<path d="{path}" {look}/>'
    return f'<circle r="{1.08 * size:g}" {look}/>'


def _pull(point: Point, ink: str) -> str:
    """The arrow outside the circle, from the point to where the loss pulls it; nothing below one degree."""
    pull = max(-60.0, min(60.0, point.pull))
    if abs(pull) < 1:
        return ""
    radius = RADIUS + 24 + 17 * point.lane
    (x1, y1), (x2, y2) = _spot(point.angle, radius), _spot(point.angle + pull, radius)
    turn = (-90 if pull > 0 else 90) - point.angle - pull + 90
    return (
        f'<path d="M{x1:.1f} {y1:.1f}A{radius} {radius} 0 0 {0 if pull > 0 else 1} {x2:.1f} {y2:.1f}" fill="none" '
        f'stroke="{ink}" stroke-width="2.5" stroke-linecap="round"/>'
        f'<path d="M0 -8L5 4L-5 4Z" transform="translate({x2:.1f} {y2:.1f}) rotate({turn:.1f})" fill="{ink}"/>'
    )
