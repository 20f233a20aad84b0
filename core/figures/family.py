"""The family tree over the years: one row a system, time to the right, a line from each parent to its children.

Roots stand on top: ancestors, and systems without a parent. Below them rows are grouped by branch and follow the
descent inside a branch, so a line only ever runs down a column and then along its child's own row; no name is ever
crossed. The same picture serves 400 and 1,440 pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.catalogue.schema import Ancestor, Branch, System

if TYPE_CHECKING:
    import plotly.graph_objects as go

ORDER: tuple[Branch, ...] = ("encoder", "efficient", "encoder-decoder", "decoder")
"""Branches from top to bottom: those that descend from an encoder stand near it, so that lines stay short."""

SYMBOLS: dict[Branch, str] = {
    "encoder": "circle",
    "decoder": "square",
    "encoder-decoder": "diamond",
    "efficient": "triangle-up",
}
"""Colour is never the only sign of a branch."""

ANCESTOR = "#767676"
ROWS = (15, 21)
"""The least and the greatest height of a row in pixels: names of 13 pixels must not touch."""
WHOLE = 690
"""How high the picture should be at most, where the least height of a row allows it: a lecturer's screen."""
_LETTER, _NARROW = 8.4, 366
"""Pixels of a letter in a name, and of the picture on a screen of 400 pixels."""
_SPOT = 0.2
"""Years between two invisible points over a name: 15 to 25 pixels at the widths that occur."""


@dataclass(frozen=True, slots=True)
class Node:
    """A system's place in the picture: ``x`` in years, ``row`` counted from the top."""

    slug: str
    name: str
    parent: str | None
    branch: Branch | None
    also: tuple[Branch, ...]
    x: float
    row: int
    year: int
    change: str


def layout(systems: Sequence[System], ancestors: Sequence[Ancestor]) -> tuple[Node, ...]:
    """Rows and years of all nodes: the roots first, then branch by branch, each child below its parent."""
    nodes = [
        Node(a.slug, a.name, None, None, (), a.year + (a.month - 0.5) / 12, row, a.year, a.change)
        for row, a in enumerate(ancestors)
    ]
    ordered = [s for s in systems if s.parent is None]
    for branch in ORDER:
        ordered += _descent([s for s in systems if s.branch == branch and s.parent is not None])
    for s in ordered:
        x = s.year + (s.month - 0.5) / 12
        nodes.append(Node(s.slug, s.name, s.parent, s.branch, s.branches[1:], x, len(nodes), s.year, s.change))
    return tuple(nodes)


def _descent(systems: list[System]) -> list[System]:
    """Depth first from those whose parent is elsewhere, elder children first."""
    inside = {system.slug for system in systems}
    ordered: list[System] = []

    def visit(system: System) -> None:
        ordered.append(system)
        for child in systems:
            if child.parent == system.slug:
                visit(child)

    for system in systems:
        if system.parent not in inside:
            visit(system)
    return ordered


def family(
    systems: Sequence[System],
    ancestors: Sequence[Ancestor],
    accents: Mapping[str, str],
    titles: Mapping[str, str],
    ink: str = "#767676",
) -> go.Figure:
    """The picture. ``accents`` and ``titles`` give a branch's colour and heading, ``ink`` is the theme's text colour.

    Every marker, and the points over every name, carry ``[branch, slug]`` as custom data.
    """
    import plotly.graph_objects as go

    nodes = layout(systems, ancestors)
    # plain dictionaries, checked once at the end: building trace by trace takes plotly six times as long
    traces = [*_lines(nodes, accents)]
    traces += [_markers([n for n in nodes if n.branch == group], group, accents, titles) for group in (None, *ORDER)]
    traces.append(_over_names(nodes))
    return go.Figure(data=traces, layout=_frame(nodes, ink) | _bands(nodes, accents, titles, ink))


def _bands(
    nodes: Sequence[Node], accents: Mapping[str, str], titles: Mapping[str, str], ink: str
) -> dict[str, list[dict[str, Any]]]:
    """A tinted band with its heading for each branch (roots stand above it), and every node's name."""
    shapes, notes = [], []
    for branch in ORDER:
        rows = [node.row for node in nodes if node.branch == branch and node.parent is not None]
        if not rows:
            continue
        place = {"x0": 0, "x1": 1, "xref": "x domain", "y0": min(rows) - 0.5, "y1": max(rows) + 0.5, "yref": "y"}
        look = {"fillcolor": accents[branch], "opacity": 0.09, "line": {"width": 0}, "layer": "below"}
        shapes.append({"type": "rect", **place, **look})
        notes.append({"x": 1, "xref": "paper", "xanchor": "right", "y": min(rows), "text": titles[branch], "size": 12})
    notes += [{"x": n.x, "y": n.row, "text": n.name, "xanchor": "left", "xshift": 8, "size": 13} for n in nodes]
    fonts = [{"size": note.pop("size"), "color": ink} for note in notes]
    return {
        "shapes": shapes,
        "annotations": [{**note, "font": font, "showarrow": False} for note, font in zip(notes, fonts, strict=True)],
    }


def _lines(nodes: Sequence[Node], accents: Mapping[str, str]) -> list[dict[str, Any]]:
    """A trunk below each parent, then the way from it to each child's row."""
    places = {node.slug: node for node in nodes}
    lines = []
    for node in nodes:
        rows = [child.row for child in nodes if child.parent == node.slug]
        if rows:
            lines.append(_line([node.x, node.x], [node.row, max(rows)], _colour(node, accents)))
    for node in nodes:
        parent = places.get(node.parent or "")
        if parent is not None:
            lines.append(_line([parent.x, node.x], [node.row, node.row], _colour(node, accents)))
    return lines


def _colour(node: Node, accents: Mapping[str, str]) -> str:
    return accents[node.branch] if node.branch else ANCESTOR


def _line(x: list[float], y: list[int], colour: str) -> dict[str, Any]:
    look = {"line": {"color": colour, "width": 1.6}, "hoverinfo": "skip", "showlegend": False}
    return {"type": "scatter", "x": x, "y": y, "mode": "lines", **look}


def _markers(
    members: list[Node], branch: Branch | None, accents: Mapping[str, str], titles: Mapping[str, str]
) -> dict[str, Any]:
    """One trace of markers; a ring in the colour of ``efficient`` says that the system is listed there as well."""
    rings = [accents["efficient"] if "efficient" in node.also else "rgba(0,0,0,0)" for node in members]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": titles[branch] if branch else "Ancestor",
        "x": [node.x for node in members],
        "y": [node.row for node in members],
        "marker": {
            "color": accents[branch] if branch else ANCESTOR,
            "size": 11,
            "symbol": SYMBOLS[branch] if branch else "circle-open",
            "line": {"width": 2.5, "color": rings},
            "opacity": 1,
        },
        "unselected": {"marker": {"opacity": 1}},
        **_answers(members),
    }


def _over_names(nodes: Sequence[Node]) -> dict[str, Any]:
    """Invisible points over the names, so that a name answers like its marker (text takes no clicks)."""
    spots = [(node.x + _SPOT * i, node) for node in nodes if node.branch for i in range(1, 2 + len(node.name) // 3)]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [x for x, _ in spots],
        "y": [node.row for _, node in spots],
        "marker": {"size": 12, "opacity": 0},
        "selected": {"marker": {"opacity": 0}},
        "unselected": {"marker": {"opacity": 0}},
        **_answers([node for _, node in spots]),
    }


def _answers(nodes: Sequence[Node]) -> dict[str, Any]:
    """What points say under the pointer, and what a click on them carries."""
    return {
        "customdata": [[node.branch or "", node.slug] for node in nodes],
        "text": [f"<b>{node.name}</b>, {node.year}<br>{_wrapped(node.change)}" for node in nodes],
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
    }


def _wrapped(text: str, width: int = 44) -> str:
    """``text`` on lines of about ``width`` characters; the hover box does not wrap by itself."""
    lines: list[str] = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)


def _frame(nodes: Sequence[Node], ink: str) -> dict[str, Any]:
    """Axes, margins and size: years on top, no row labels, no background, so that both themes show through."""
    first, last = min(node.year for node in nodes), max(node.year for node in nodes)
    years = list(range(first + 1, last + 2))
    start = first + 0.3
    # a name is as wide on a narrow screen as on a wide one: leave it the share of the width that it takes there
    taken = [(node.x, (8 + _LETTER * len(node.name)) / _NARROW) for node in nodes]
    end = max(last + 1.35, *((x - share * start) / (1 - share) for x, share in taken))
    return {
        "height": min(max((WHOLE - 34) // len(nodes), ROWS[0]), ROWS[1]) * len(nodes) + 34,
        "margin": {"l": 0, "r": 0, "t": 26, "b": 4},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "hoverdistance": 14,
        "dragmode": False,
        "clickmode": "event+select",
        "xaxis": {
            "range": [start, end],
            "tickvals": years,
            "ticktext": [str(year) for year in years],
            "side": "top",
            "tickfont": {"color": ink},
            "showgrid": True,
            "gridcolor": "rgba(128,128,128,0.25)",
            "zeroline": False,
            "fixedrange": True,
        },
        "yaxis": {
            "range": [len(nodes) - 0.4, -0.6],
            "visible": False,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
    }
