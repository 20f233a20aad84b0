"""Points on a circle that are dragged, by pointer or by keyboard, each with an arrow where a loss pulls it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import streamlit as st

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
