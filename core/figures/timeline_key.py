"""The key below the timeline: what shapes, sizes, rings and hollow markers mean, set in lines that fit a width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.catalogue.schema import Branch
from core.figures.label_places import text_width
from core.figures.lineage import Entry
from core.figures.timeline import LEGEND, ORDER, TITLES, radius, whole

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
        wanted += [(f"{whole(size)} parameters", None, False, False, radius(size)) for size in LEGEND]
    else:
        there = {entry.branch for entry in shown}
        wanted += [(TITLES[b], b, False, False, _MARK) for b in ORDER if b and b in there]
    if any(entry.largest is None for entry in shown):
        wanted.append(("size not published or not counted here", None, True, False, _MARK))
    if any("efficient" in entry.branches[1:] for entry in shown):
        wanted.append(("listed under Efficient as well", None, False, True, _MARK))
    signs = []
    x, y = 4.0, LINE / 2
    for text, branch, hollow, ring, r in wanted:
        long = 2 * r + 7 + text_width(text)
        if x > 4 and x + long > width:
            x, y = 4.0, y + LINE
        signs.append(Sign(text, branch, hollow, ring, x + r, y, r))
        x += long + _GAP
    return tuple(signs)
