"""Points on a circle that are dragged, by pointer or by keyboard, each with an arrow where a loss pulls it.

The same picture as a file is an SVG with the numbers and shapes of ``assets/components/points/points.js``; texts are
escaped, and nothing is asked for from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import escape, quoteattr

import streamlit as st

from core.theme import Theme
from core.ui.chips import on_colour

ASSETS = Path(__file__).parents[3] / "assets" / "components" / "points"
HTML = """
<div class="points">
  <svg class="plane" viewBox="-215 -215 430 430" role="group"></svg>
  <div class="keys"></div>
  <p class="help">Drag a point, or choose it with Tab and turn it with the arrow keys (with Shift by one degree).</p>
  <span class="said" role="status"></span>
</div>
"""
_mount = st.components.v2.component(
    "atlas_points",
    html=HTML,
    css=(ASSETS / "points.css").read_text(encoding="utf-8"),
    js=(ASSETS / "points.js").read_text(encoding="utf-8"),
)

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
    store: dict[str, Any] = st.session_state.setdefault(f"{key}--moved", {"count": 0, "angles": None})
    sent, store["angles"] = store["angles"], None
    if sent is not None and len(sent) == len(angles):
        return tuple(int(angle) % 360 for angle in sent)
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
        "count": st.session_state[f"{key}--moved"]["count"],
    }
    _mount(key=key, data=data, on_moved_change=_remember(key))


def accepted(sent: object) -> dict[str, Any] | None:
    """What a move may change, out of whatever the browser sent: whole angles and a count, or nothing."""
    if not isinstance(sent, dict):
        return None
    angles, count = sent.get("angles"), sent.get("count")
    if not isinstance(angles, list) or not isinstance(count, int) or isinstance(count, bool):
        return None
    if not all(isinstance(angle, int) and not isinstance(angle, bool) for angle in angles):
        return None
    return {"angles": angles, "count": count}


def _remember(key: str) -> Callable[[], None]:
    """A callback that keeps a move until the run that it starts asks for it."""

    def remember() -> None:
        move = accepted(getattr(st.session_state.get(key), "moved", None))
        if move is not None:
            st.session_state[f"{key}--moved"] = move

    return remember


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
