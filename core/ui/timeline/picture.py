"""The family's picture as a component: links to walk by keyboard, years to play, a list where there is no room.

The layouts are computed here for a few widths (:mod:`core.figures.timeline`); the browser takes the widest that fits
and stretches it. Below the narrowest it shows the list. Playing happens in the browser; only where it stops comes back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from core import links
from core.figures.lineage import Entry, family
from core.figures.numbers import short
from core.figures.timeline import LINE, SYMBOLS, Drawing, Sign, by_size, key, lanes, span_of
from core.theme import PURPLE
from core.ui.page import BRANCH_TITLES, accent, base_path

ASSETS = Path(__file__).parents[3] / "assets" / "components" / "timeline"
SCRIPTS = ("timeline-draw.js", "timeline-save.js", "timeline.js")
WIDTHS = {"branch": (460, 520, 600, 700, 820, 940, 1060, 1200, 1360), "size": (600, 700, 780, 860, 940, 1120, 1300)}
"""Pixels for which a layout is computed: lanes cost nothing, and free places for names take a while to find."""
HTML = """
<div class="atlas">
  <div class="bar">
    <button type="button" class="play"></button>
    <input type="range" aria-label="Show the family up to" />
    <output></output>
    <span class="saves"><button type="button" class="svg">Download SVG</button>
      <button type="button" class="png">Download PNG</button></span>
  </div>
  <div class="picture"></div>
  <div class="list"></div>
  <div class="tip" aria-hidden="true"></div>
</div>
"""


def script() -> str:
    """The component's one module, out of its files."""
    return "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS)


_mount = st.components.v2.component(
    "atlas_timeline", html=HTML, css=(ASSETS / "timeline.css").read_text(encoding="utf-8"), js=script()
)


def picture(
    shown: Sequence[Entry], axis: str, *, key: str, until: int, chosen: str | None, label: str, play: bool = True
) -> int | None:
    """Draw ``shown`` by ``axis`` ("branch" or "size") up to the month ``until``, with the line of ``chosen`` lit.

    Returns the month where the visitor has just stopped the slider, if that is what happened.
    """
    counts = f"{key}--count"
    data = component_data(tuple(shown), axis, label) | {
        "until": until,
        "chosen": chosen,
        "play": play,
        "count": st.session_state.setdefault(counts, 0),
    }
    moved = _moved(getattr(_mount(key=key, data=data, on_moved_change=_nothing), "moved", None))
    if moved is None:
        return None
    st.session_state[counts] = moved[1]
    return moved[0]


@lru_cache(maxsize=64)
def component_data(shown: tuple[Entry, ...], axis: str, label: str) -> dict[str, Any]:
    """What the browser is given for a choice of systems; nobody changes it."""
    everything = family()
    span = span_of(everything)
    draw = lanes if axis == "branch" else by_size
    places = {entry.slug: i for i, entry in enumerate(shown)}
    return {
        "nodes": [_node(entry, places) for entry in shown],
        "drawings": [_packed(draw(shown, span, width), shown, axis) for width in WIDTHS[axis]],
        "first": everything[0].at,
        "last": everything[-1].at,
        "label": label,
        "sign": f"{axis} {[entry.slug for entry in shown]}",
    }


def sizes_in_words(entry: Entry) -> str:
    """``109 M to 335 M parameters``, with the number of sizes where there are several."""
    if entry.largest is None or entry.smallest is None:
        return "no size counted here" if entry.branch is None else "size not published"
    if entry.smallest == entry.largest:
        return f"{short(entry.largest)} parameters"
    return f"{short(entry.smallest)} to {short(entry.largest)} parameters, {len(entry.sizes)} sizes"


def page_of(entry: Entry) -> str | None:
    """The link to a system's page, or None for an ancestor, which has none."""
    return None if entry.branch is None else base_path() + links.url(entry.branch, {"system": entry.slug})


def _node(entry: Entry, places: Mapping[str, int]) -> dict[str, Any]:
    branch = BRANCH_TITLES.get(str(entry.branch), "root of the family")
    parent = next((other.name for other in family() if other.slug == entry.parent), "")
    sizes = sizes_in_words(entry)
    said = f"{entry.name}, {entry.date}, {branch}, {entry.organisation}, {sizes}"
    return {
        "slug": entry.slug,
        "name": entry.name,
        "at": entry.at,
        "date": entry.date,
        "parent": places.get(entry.parent or "", -1),
        "from": parent,
        "colour": accent(str(entry.branch)),
        "shape": SYMBOLS[entry.branch],
        "hollow": entry.largest is None,
        "ring": PURPLE if "efficient" in entry.branches[1:] else "",
        "size": short(entry.largest) if entry.largest else "",
        "href": page_of(entry),
        "who": f"{entry.date} · {branch} · {entry.organisation}",
        "sizes": sizes[0].upper() + sizes[1:],
        "change": entry.change,
        "said": said + (f", from {parent}" if parent else ""),
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
            {"colour": accent(str(b.branch)), "title": b.title, "top": one(b.top), "height": one(b.height)}
            for b in drawing.bands
        ],
        "years": [[one(x), text] for x, text in drawing.years],
        "levels": [[one(y), text] for y, text in drawing.levels],
        "key": [_sign(sign, drawing.height) for sign in signs],
    }


def _sign(sign: Sign, top: float) -> dict[str, Any]:
    return {
        "text": sign.text,
        "colour": accent(str(sign.branch)),
        "shape": SYMBOLS[sign.branch],
        "hollow": sign.hollow,
        "ring": PURPLE if sign.ring else "",
        "x": _rounded(sign.x),
        "y": _rounded(top + sign.y),
        "r": _rounded(sign.r),
    }


def _rounded(value: float) -> float:
    return round(value, 1)


def _moved(sent: object) -> tuple[int, int] | None:
    """The month and the count of moves out of whatever the browser sent, or nothing."""
    if not isinstance(sent, dict):
        return None
    until, count = sent.get("until"), sent.get("count")
    if type(until) is not int or type(count) is not int:
        return None
    return min(max(until, family()[0].at), family()[-1].at), count


def _nothing() -> None:
    """The move is read from the component's result; a callback must only be there for it to be sent."""
