"""Where the parameters of a network are: treemap and sunburst of one tree, bars that compare several.

Areas are parameters. A run of equal layers is one rectangle, ``12 x BertLayer``, as large as all twelve; what is inside
it stands for all twelve as well. A shared tensor is drawn once, where it is counted. No torch, no streamlit here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.anatomy.node import ModuleNode
from core.anatomy.roles import (
    ATTENTION,
    EMBEDDINGS,
    FEED_FORWARD,
    HEAD,
    NORMS,
    OTHER,
    ROLES,
    STATE_SPACE,
    by_role,
    role_of,
)
from core.figures.lay_out import lay_out
from core.figures.numbers import in_words, percent, short

ROLE_COLOURS: dict[str, str] = {
    EMBEDDINGS: "#3F5E9A",
    ATTENTION: "#8C96A1",
    FEED_FORWARD: "#C9B458",
    STATE_SPACE: "#A8552B",
    NORMS: "#F4E7A1",
    HEAD: "#A05C7B",
    OTHER: "#4F7F6E",
}
"""Blue to yellow as in cividis for the trunk, which reads by lightness alone; three further hues for what is seldom."""

ROLE_INK = dict.fromkeys(ROLES, "#FFFFFF") | dict.fromkeys((ATTENTION, FEED_FORWARD, NORMS), "#14181D")
"""Ink on those colours, at least 4.5 : 1."""

FRAMES = {False: ("#E9ECEF", "#1A1F24"), True: ("#2A313A", "#E8ECF0")}
"""Fill and ink of modules that hold several roles, on a light and on a dark page."""

HEIGHT = 560


@dataclass(frozen=True, slots=True)
class _Tile:
    path: str
    parent: str
    label: str
    cls: str
    parameters: int
    role: str | None


def treemap(root: ModuleNode, *, dark: bool = False) -> go.Figure:
    """Nested rectangles, areas in proportion to parameters (all copies together); a click opens one."""
    shape = {"tiling": {"pad": 2}, "pathbar": {"thickness": 26}, "maxdepth": 6}
    return _laid_out(go.Figure(go.Treemap(**_hierarchy(root, dark), **shape)))


def sunburst(root: ModuleNode, *, dark: bool = False) -> go.Figure:
    """Nested rings, angles in proportion to parameters (all copies together); a click opens a sector."""
    shape = {"maxdepth": 5, "insidetextorientation": "auto", "leaf": {"opacity": 1}}
    return _laid_out(go.Figure(go.Sunburst(**_hierarchy(root, dark), **shape)))


def share_table(root: ModuleNode) -> list[dict[str, object]]:
    """The rows of the treemap as a table: every module that has parameters, in the order of the tree."""
    return [
        {
            "Module": tile.path or "(whole network)",
            "Class": tile.cls,
            "For": tile.role or "several",
            "Parameters": tile.parameters,
            "Share": tile.parameters / root.total,
        }
        for tile in _tiles(root)
    ]


def sizes_bars(networks: Mapping[str, ModuleNode], *, relative: bool = False) -> go.Figure:
    """One bar a network, stacked by role, in parameters or, if ``relative``, in per cent of the network's own total."""
    labels = list(networks)
    shares = [by_role(root) for root in networks.values()]
    figure = go.Figure()
    for role in ROLES:
        amounts = [share[role] for share in shares]
        if not any(amounts):
            continue
        parts = [amount / root.total for amount, root in zip(amounts, networks.values(), strict=True)]
        figure.add_bar(
            name=role,
            orientation="h",
            y=labels,
            x=[100 * part for part in parts] if relative else amounts,
            marker={"color": ROLE_COLOURS[role], "line": {"width": 0.5, "color": "rgba(128, 128, 128, 0.6)"}},
            insidetextfont={"color": ROLE_INK[role]},
            text=[f"{part:.0%}" if part >= 0.06 else "" for part in parts] if relative else None,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            customdata=[
                [in_words(amount), percent(part), in_words(root.total)]
                for amount, part, root in zip(amounts, parts, networks.values(), strict=True)
            ],
            hovertemplate="<b>%{y}</b>, " + role + "<br>%{customdata[0]} parameters, %{customdata[1]} of "
            "%{customdata[2]}<extra></extra>",
        )
    if not relative:
        figure.add_scatter(  # the totals, written at the end of each bar
            y=labels,
            x=[root.total for root in networks.values()],
            mode="text",
            text=[f" {short(root.total)}" for root in networks.values()],
            textposition="middle right",
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
        )
    longest = max((root.total for root in networks.values()), default=1)
    lay_out(
        figure,
        xaxis={
            "title": "share of the network's parameters, %" if relative else "parameters",
            "range": [0, 100 if relative else 1.02 * longest],
            "exponentformat": "B",
            "fixedrange": True,
        },
        yaxis={"autorange": "reversed", "automargin": True, "fixedrange": True, "ticklabelstandoff": 6},
        barmode="stack",
        bargap=0.35,
        height=130 + 38 * max(len(labels), 2),
        margin={"l": 8, "r": 16 if relative else 56, "t": 8, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "traceorder": "normal"},
    )
    return figure


def sizes_table(networks: Mapping[str, ModuleNode]) -> list[dict[str, object]]:
    """The bars as a table: parameters in all and by role."""
    shown = [role for role in ROLES if any(by_role(root)[role] for root in networks.values())]
    return [
        {"Network": label, "Parameters": root.total, **{role: by_role(root)[role] for role in shown}}
        for label, root in networks.items()
    ]


def _tiles(root: ModuleNode, *, joined: bool = False) -> list[_Tile]:
    """Every node with parameters, parents first. ``joined``: one that only wraps another is one tile with it."""
    tiles: list[_Tile] = []

    def visit(node: ModuleNode, path: str, parent: str, above: tuple[str, ...], inherited: str | None, c: int) -> None:
        role = role_of(node.name, node.cls, inherited)
        copies = c * node.repeat
        heavy = [child for child in node.children if child.parameters]
        names = (*above, _label(node))
        if not (joined and path and len(heavy) == 1 and not node.own):
            shown = role if role is not None else None if node.children else OTHER
            times = f"{node.repeat} × " if node.repeat > 1 else ""
            tiles.append(_Tile(path, parent, " › ".join(names), times + node.cls, node.parameters * copies, shown))
            names, parent = (), path
        for child in heavy:
            visit(child, f"{path}.{child.name}" if path else child.name, parent, names, role, copies)

    visit(root, "", "", (), None, 1)
    return tiles


def _label(node: ModuleNode) -> str:
    """A node's name on a tile; a number says little, so a layer's class stands beside it."""
    if not node.name[:1].isdigit():
        return node.name or node.cls
    return f"{node.name}: {node.repeat} × {node.cls}" if node.repeat > 1 else f"{node.name}: {node.cls}"


def _hierarchy(root: ModuleNode, dark: bool) -> dict[str, object]:
    """The fields that plotly's treemap and sunburst have in common."""
    tiles = _tiles(root, joined=True)
    top = root.cls
    fill, ink = FRAMES[dark]
    colours = [ROLE_COLOURS[tile.role] if tile.role else fill for tile in tiles]
    return {
        "ids": [tile.path or top for tile in tiles],
        "parents": ["" if not tile.path else tile.parent or top for tile in tiles],
        "labels": [tile.label for tile in tiles],
        "values": [tile.parameters for tile in tiles],
        "branchvalues": "total",
        "marker": {"colors": colours, "line": {"width": 1, "color": "rgba(128, 128, 128, 0.45)"}},
        "textfont": {"color": [ROLE_INK[tile.role] if tile.role else ink for tile in tiles]},
        "customdata": [
            [tile.cls, in_words(tile.parameters), percent(tile.parameters / root.total), tile.role or "several roles"]
            for tile in tiles
        ],
        "texttemplate": "%{label}<br>%{customdata[2]}",
        "hovertemplate": "<b>%{id}</b><br>%{customdata[0]}<br>%{customdata[1]} parameters, %{customdata[2]} of the "
        "network<br>%{customdata[3]}<extra></extra>",
        "sort": False,
    }


def _laid_out(figure: go.Figure) -> go.Figure:
    lay_out(figure, height=HEIGHT, margin={"l": 4, "r": 4, "t": 4, "b": 4})
    return figure


def legend_rows(root: ModuleNode) -> Sequence[tuple[str, str, int, float]]:
    """What the colours mean in one tree: (role, colour, parameters, share), only roles that occur."""
    return [
        (role, ROLE_COLOURS[role], amount, amount / root.total) for role, amount in by_role(root).items() if amount > 0
    ]
