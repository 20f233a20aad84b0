"""A finished figure for a lecture hall: type of 28 pixels or more, and all that is measured in pixels grown with it.

The figures themselves know nothing of it, so what is cached of them serves both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from core.figures.plot import Json
from core.lazy import go

TYPE = 28
"""Pixels of the smallest type."""
_SCALE = TYPE / 13
"""13 pixels is what the template writes."""
SCREEN = 520
"""Pixels of a screen of 1280 x 720 that title, line and controls leave to the picture."""
WHOLE = 620
"""The same for a picture that needs it: one that keeps its proportions, of long notes, or of three below each other."""
_ROW, _LETTER, _ACROSS = 34, 17, 1_000
"""Pixels that a line of type takes, a letter, and all names along the screen."""
_NAMED = 40
"""Rows of a map up to which each is named, where the figure itself leaves that to the browser."""
_LINE, _ABOVE = 30, 170
"""Pixels of a named row of a map, and of the names of its columns."""
_UPWARDS = 20
"""Letters of the title of an axis that is written upwards."""
_BELOW, _LEGEND = 100, 1_150
"""Pixels of an axis' numbers and title; of a line of a legend below them."""
_INLINE = re.compile(r"font-size:\s*([\d.]+)px")
"""A size of type inside a note."""
_PIXELS = frozenset(
    (
        *("standoff", "ticklabelstandoff", "xshift", "yshift", "ax", "ay", "borderpad", "thickness", "xpad", "ypad"),
        *("l", "r", "t", "b", "pad", "arrowsize", "xgap", "ygap", "ticklen", "tracegroupgap", "entrywidth"),
    )
)
"""Lengths in pixels, by the names that plotly has for them."""


def enlarged(figure: go.Figure) -> go.Figure:
    """A copy of ``figure`` in type of :data:`TYPE` pixels; a height that only spreads it out ends with the screen.

    Named rows stay as far apart as their names need. Along a heat map as many names of columns are left out as
    overlap, and so are numbers that are wider than their cells, and the scale's bar, which would take a third.
    """
    figure_json = _grown(figure.to_dict(), "")
    layout = figure_json["layout"]
    maps = any(trace["type"] == "heatmap" for trace in figure_json["data"])
    rows = len(_names(layout, figure_json["data"], "y"))
    down_axes = [axis for name, axis in layout.items() if name.startswith("yaxis")]
    above, down = _wrap_notes(layout)
    tall = above or len(down_axes) > 2 or any(axis.get("scaleanchor") for axis in down_axes)
    least = WHOLE if tall else SCREEN
    if "height" in layout:
        room = _ABOVE + _LINE * rows if maps else 120 + _ROW * rows
        layout["height"] = min(layout["height"] * _SCALE, max(least, room, down)) + above
    layout.pop("width", None)
    for axis in down_axes:
        if words := (axis.get("title") or {}).get("text"):
            axis["title"]["text"] = _wrapped(words, _UPWARDS)
    _put_legend(layout, figure_json["data"])
    for trace in figure_json["data"]:
        if trace["type"] == "bar":
            trace |= {"constraintext": "none", "cliponaxis": False}  # else numbers shrink with their bars
    if any(
        trace["type"] == "bar" and trace.get("orientation") == "h" and trace.get("text")
        for trace in figure_json["data"]
    ):
        margin = layout.setdefault("margin", {})  # what is written past the longest bar
        margin["r"] = max(margin.get("r") or 0, 8 * _LETTER)
    if maps:
        down = layout.setdefault("yaxis", {})
        if rows <= _NAMED and down.get("tickvals") is None and down.get("type") == "category":
            down |= {"tickmode": "linear", "dtick": 1}
        _thin(layout, "xaxis", _ACROSS)
        figure_json["data"] = [
            (trace | {"showscale": False} if trace["type"] == "heatmap" else trace)
            for trace in figure_json["data"]
            if _fits(trace, _ACROSS)
        ]
    return go.Figure(figure_json, skip_invalid=True)


def _wrap_notes(layout: Json) -> tuple[float, float]:
    """Break notes that stand side by side where the next one begins.

    Returns the pixels that those above the picture need in addition, and what rows of notes need in all.
    """
    notes = [note for note in layout.get("annotations", ()) if isinstance(note.get("x"), int | float)]
    across = {note["x"] for note in notes if note.get("xref", "x") == "x"}
    if len(across) < 3:
        return 0, 0
    rows: dict[float, int] = {}
    for note in notes:
        if not note.get("textangle"):
            note["text"] = _wrapped(note["text"], int(_ACROSS / len(across) / _LETTER))
        rows[note["y"]] = max(rows.get(note["y"], 1), note["text"].count("<br>") + 1)
    above = max((rows[note["y"]] - 1 for note in notes if note.get("yanchor") == "bottom"), default=0) * _ROW
    if above:
        layout["margin"]["t"] = layout["margin"].get("t", 0) + above
    return above, sum(lines * _ROW + _LINE for lines in rows.values())


def _wrapped(text: str, letters: int) -> str:
    """``text`` broken between words where a line has more than ``letters``; marks of lines and of type stay."""
    return "<br>".join(
        line if "<" in line else "<br>".join(wrap(line, max(6, letters), break_long_words=False)) or line
        for line in text.split("<br>")
    )


def _put_legend(layout: Json, traces: Sequence[Json]) -> None:
    """Put a legend that stands below the picture under the title of the axis, however many lines it has.

    A third line and those after it make the figure taller, not its picture lower.
    """
    legend = layout.get("legend") or {}
    if legend.get("y", 1) >= 0 or "height" not in layout:
        return
    names = [len(str(trace.get("name") or "")) * _LETTER + 70 for trace in traces if trace.get("showlegend", True)]
    columns = len(names) if sum(names) <= _LEGEND else max(1, _LEGEND // max(names, default=1))
    lines = -(-len(names) // columns) if names else 0
    layout["height"] += max(0, lines - 2) * _ROW
    legend["y"] = -_BELOW / max(100.0, layout["height"] - _BELOW - lines * _ROW)


def _grown(node: Any, name: str) -> Any:
    if isinstance(node, Mapping):
        grown = {key: _size(value, name) if key == "size" else _grown(value, key) for key, value in node.items()}
        if name == "line" and isinstance(node.get("width"), int | float):  # that of bars is in units of their axis
            grown["width"] = node["width"] * _SCALE
        return grown
    if isinstance(node, str) and name == "text":
        return _INLINE.sub(lambda size: f"font-size:{_size(float(size[1]), 'font'):.0f}px", node)
    if name in _PIXELS and isinstance(node, int | float) and not isinstance(node, bool):
        return node * _SCALE
    if isinstance(node, list | tuple) and node and isinstance(node[0], Mapping):
        return [_grown(part, name) for part in node]
    return node


def _size(size: object, owner: str) -> Any:
    """Of a font, at least that of the hall; of a marker, as much larger as all else."""
    if isinstance(size, Sequence) and not isinstance(size, str):
        return [_size(entry, owner) for entry in size]
    if not isinstance(size, int | float):
        return size
    return max(TYPE, size * _SCALE) if owner.endswith("font") else size * _SCALE


def _names(layout: Json, traces: Sequence[Json], axis: str) -> Sequence[Any]:
    """What stands along an axis, where those are names."""
    ticks = layout.get(f"{axis}axis", {}).get("ticktext")
    if ticks is not None:
        return list(ticks)
    return list(dict.fromkeys(text for trace in traces for text in _texts(trace.get(axis))))


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list | tuple) else []


def _thin(layout: Json, axis: str, room: float) -> None:
    """Leave out names of an axis that has ``room`` pixels."""
    axis_layout = layout.get(axis, {})
    if (at := axis_layout.get("tickvals")) is not None:
        every = -(-len(at) * _ROW // int(room)) or 1
        axis_layout |= {
            part: list(axis_layout[part])[::every]
            for part in ("tickvals", "ticktext")
            if axis_layout.get(part) is not None
        }


def _fits(trace: Json, room: float) -> bool:
    """Whether the texts of a trace, where that is all it draws, fit between their neighbors."""
    if trace.get("mode") != "text":
        return True
    longest = max((len(str(text)) for text in trace.get("text") or ()), default=0)
    return longest * _LETTER * len(set(trace["x"])) <= room
