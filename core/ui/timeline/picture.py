"""The family's picture as a component: links for the keyboard, years to play, a list on narrow screens.

The layouts are computed here for a few widths (:mod:`core.figures.timeline`); the browser takes the widest that fits
and stretches it. Below the narrowest it shows the list. Playing runs in the browser, which sends only where it stops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import streamlit as st

from core import links
from core.figures.labels import short
from core.figures.lineage import Entry, family
from core.figures.timeline import LINE, SYMBOLS, Drawing, Sign, by_size, key, lanes, span_of
from core.theme import PURPLE
from core.ui.component import Component, Message, Position
from core.ui.page import BRANCH_TITLES, accent, base_path

WIDTHS = {"branch": (460, 520, 600, 700, 820, 940, 1060, 1200, 1360), "size": (600, 700, 780, 860, 940, 1120, 1300)}
"""Widths in pixels for which a layout is computed: lanes are quick, but free space for names takes a while to find."""


class Stopped(Message):
    """The month where the slider stopped, from year 0."""

    until: Position


FAMILY = Component("timeline", Stopped, uses=("dom",))


def picture(
    shown: Sequence[Entry], axis: str, *, key: str, until: int, chosen: str | None, label: str, play: bool = True
) -> int | None:
    """Draw ``shown`` by ``axis`` ("branch" or "size") up to the month ``until``, the line of ``chosen`` highlighted.

    Return the month where the visitor has just stopped the slider, if so.
    """
    stopped = FAMILY.sent(key)
    month = None if stopped is None else min(max(stopped.until, family()[0].at), family()[-1].at)
    now = {"until": until if month is None else month, "chosen": chosen, "play": play}
    with st.container(key="atlas-tall"):
        FAMILY.draw(key, component_data(tuple(shown), axis, label) | now)
    return month


@lru_cache(maxsize=64)
def component_data(shown: tuple[Entry, ...], axis: str, label: str) -> dict[str, Any]:
    """The props for a selection of systems; read-only."""
    everything = family()
    span = span_of(everything)
    draw = lanes if axis == "branch" else by_size
    index = {entry.slug: i for i, entry in enumerate(shown)}
    return {
        "nodes": [_node(entry, index) for entry in shown],
        "drawings": [_packed(draw(shown, span, width), shown, axis) for width in WIDTHS[axis]],
        "first": everything[0].at,
        "last": everything[-1].at,
        "label": label,
        "sign": f"{axis} {[entry.slug for entry in shown]}",
    }


def sizes_in_words(entry: Entry) -> str:
    """``109 M to 335 M parameters``, with the number of sizes where there are several."""
    if entry.largest is None or entry.smallest is None:
        return "size not counted" if entry.branch is None else "size not published"
    if entry.smallest == entry.largest:
        return f"{short(entry.largest)} parameters"
    return f"{short(entry.smallest)} to {short(entry.largest)} parameters, {len(entry.sizes)} sizes"


def page_of(entry: Entry) -> str | None:
    """The link to a system's page, or None for an ancestor, which has none."""
    return None if entry.branch is None else base_path() + links.url(entry.branch, {"system": entry.slug})


def _node(entry: Entry, index: Mapping[str, int]) -> dict[str, Any]:
    branch = BRANCH_TITLES.get(str(entry.branch), "root of the family")
    parent = next((other.name for other in family() if other.slug == entry.parent), "")
    sizes = sizes_in_words(entry)
    text = f"{entry.name}, {entry.date}, {branch}, {entry.organization}, {sizes}"
    return {
        "slug": entry.slug,
        "name": entry.name,
        "at": entry.at,
        "date": entry.date,
        "parent": index.get(entry.parent or "", -1),
        "from": parent,
        "color": accent(str(entry.branch)),
        "shape": SYMBOLS[entry.branch],
        "hollow": entry.largest is None,
        "ring": PURPLE if "efficient" in entry.branches[1:] else "",
        "size": short(entry.largest) if entry.largest else "",
        "href": page_of(entry),
        "who": f"{entry.date} · {branch} · {entry.organization}",
        "sizes": sizes[0].upper() + sizes[1:],
        "change": entry.change,
        "said": text + (f", from {parent}" if parent else ""),
    }


def _packed(drawing: Drawing, shown: Sequence[Entry], axis: str) -> dict[str, Any]:
    signs = key(shown, drawing.width, sizes=axis == "branch")
    below = max((sign.y + max(LINE / 2, sign.r + 3) for sign in signs), default=0.0)
    one = _rounded
    return {
        "width": one(drawing.width),
        "height": one(drawing.height),
        "below": one(below),
        "x0": drawing.x0,
        "step": drawing.step,
        "marks": [
            [one(v) for v in (m.x, m.y, m.r, m.low, *((m.label.left, m.label.top, m.label.width) if m.label else ()))]
            for m in drawing.marks
        ],
        "bands": [
            {"color": accent(str(b.branch)), "title": b.title, "top": one(b.top), "height": one(b.height)}
            for b in drawing.bands
        ],
        "years": [[one(x), text] for x, text in drawing.years],
        "levels": [[one(y), text] for y, text in drawing.levels],
        "key": [_sign(sign, drawing.height) for sign in signs],
    }


def _sign(sign: Sign, top: float) -> dict[str, Any]:
    return {
        "text": sign.text,
        "color": accent(str(sign.branch)),
        "shape": SYMBOLS[sign.branch],
        "hollow": sign.hollow,
        "ring": PURPLE if sign.ring else "",
        "x": _rounded(sign.x),
        "y": _rounded(top + sign.y),
        "r": _rounded(sign.r),
    }


def _rounded(value: float) -> float:
    return round(value, 1)
