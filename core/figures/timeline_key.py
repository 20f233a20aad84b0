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
