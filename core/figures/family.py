"""The family tree over the years: one row a system, time to the right, a line from each parent to its children.

Rows are grouped by branch and follow the descent inside a branch, so a line only ever runs down a column and then along
its child's own row; no name is ever crossed. The same picture serves 400 and 1,440 pixels.
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
ROW = 21
"""Height of a row in pixels."""
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
    """Rows and years of all nodes: ancestors first, then branch by branch, each child below its parent."""
    nodes = [
        Node(a.slug, a.name, None, None, (), a.year + (a.month - 0.5) / 12, row, a.year, a.change)
        for row, a in enumerate(ancestors)
    ]
    for branch in ORDER:
        for system in _descent([s for s in systems if s.branch == branch]):
            x = system.year + (system.month - 0.5) / 12
            nodes.append(
                Node(
                    system.slug,
                    system.name,
                    system.parent,
                    branch,
                    system.branches[1:],
                    x,
                    len(nodes),
                    system.year,
                    system.change,
                )
            )
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
    places = {node.slug: node for node in nodes}
    figure = go.Figure()
    for branch in ORDER:
        rows = [node.row for node in nodes if node.branch == branch]
        if not rows:
            continue
        colour = accents[branch]
        figure.add_hrect(
            y0=min(rows) - 0.5, y1=max(rows) + 0.5, fillcolor=colour, opacity=0.09, line_width=0, layer="below"
        )
        figure.add_annotation(
            x=1,
            xref="paper",
            xanchor="right",
            y=min(rows),
            text=titles[branch],
            showarrow=False,
            font={"size": 12, "color": ink},
        )
    for node in nodes:
        children = [child for child in nodes if child.parent == node.slug]
        if children:
            trunk = max(child.row for child in children)
            figure.add_trace(_line(go, [node.x, node.x], [node.row, trunk], _colour(node, accents)))
    for node in nodes:
        parent = places.get(node.parent or "")
        if parent is not None:
            figure.add_trace(_line(go, [parent.x, node.x], [node.row, node.row], _colour(node, accents)))
    for group in (None, *ORDER):
        members = [node for node in nodes if node.branch == group]
        figure.add_trace(_markers(go, members, group, accents, titles))
    figure.add_trace(_over_names(go, nodes))
    for node in nodes:
        figure.add_annotation(
            x=node.x,
            y=node.row,
            text=node.name,
            showarrow=False,
            xanchor="left",
            xshift=8,
            font={"size": 13, "color": ink},
        )
    _frame(figure, nodes, ink)
    return figure


def _colour(node: Node, accents: Mapping[str, str]) -> str:
    return accents[node.branch] if node.branch else ANCESTOR


def _line(go: Any, x: list[float], y: list[int], colour: str) -> go.Scatter:
    """A trunk below a parent, or the way from it to one child's row."""
    return go.Scatter(x=x, y=y, mode="lines", line={"color": colour, "width": 1.6}, hoverinfo="skip", showlegend=False)


def _markers(
    go: Any, members: list[Node], branch: Branch | None, accents: Mapping[str, str], titles: Mapping[str, str]
) -> go.Scatter:
    """One trace of markers; a ring in another branch's colour says that the system is listed there as well."""
    rings = [next((accents[also] for also in node.also if also == "efficient"), "rgba(0,0,0,0)") for node in members]
    colour = accents[branch] if branch else ANCESTOR
    return go.Scatter(
        x=[node.x for node in members],
        y=[node.row for node in members],
        mode="markers",
        marker={
            "color": colour,
            "size": 11,
            "symbol": SYMBOLS[branch] if branch else "circle-open",
            "line": {"width": 2.5, "color": rings},
            "opacity": 1,
        },
        customdata=[[node.branch or "", node.slug] for node in members],
        text=[_hover(node) for node in members],
        hovertemplate="%{text}<extra></extra>",
        name=titles[branch] if branch else "Ancestor",
        showlegend=False,
        unselected={"marker": {"opacity": 1}},
    )


def _over_names(go: Any, nodes: Sequence[Node]) -> go.Scatter:
    """Invisible points over the names, so that a name answers like its marker (text takes no clicks)."""
    spots = [(node.x + _SPOT * i, node) for node in nodes if node.branch for i in range(1, 2 + len(node.name) // 3)]
    return go.Scatter(
        x=[x for x, _ in spots],
        y=[node.row for _, node in spots],
        mode="markers",
        marker={"size": 12, "opacity": 0},
        customdata=[[node.branch or "", node.slug] for _, node in spots],
        text=[_hover(node) for _, node in spots],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        unselected={"marker": {"opacity": 0}},
        selected={"marker": {"opacity": 0}},
    )


def _hover(node: Node) -> str:
    return f"<b>{node.name}</b>, {node.year}<br>{_wrapped(node.change)}"


def _wrapped(text: str, width: int = 44) -> str:
    """``text`` on lines of about ``width`` characters; the hover box does not wrap by itself."""
    lines: list[str] = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)


def _frame(figure: go.Figure, nodes: Sequence[Node], ink: str) -> None:
    """Axes, margins and size: years on top, no row labels, no background, so that both themes show through."""
    first, last = min(node.year for node in nodes), max(node.year for node in nodes)
    grid = "rgba(128,128,128,0.25)"
    figure.update_xaxes(
        range=[first + 0.3, last + 1.35],
        tickvals=list(range(first + 1, last + 2)),
        ticktext=[str(year) for year in range(first + 1, last + 2)],
        side="top",
        tickfont={"color": ink},
        showgrid=True,
        gridcolor=grid,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(range=[len(nodes) - 0.4, -0.6], visible=False, showgrid=False, zeroline=False, fixedrange=True)
    figure.update_layout(
        height=ROW * len(nodes) + 34,
        margin={"l": 0, "r": 0, "t": 26, "b": 4},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        hoverdistance=14,
        dragmode=False,
        clickmode="event+select",
    )
