"""Where the parameters of a network are: treemap and sunburst of one tree, bars that compare several.

Areas are parameters. A run of equal layers is one rectangle, ``12 x BertLayer``, as large as all twelve; what is inside
it stands for all twelve as well. A shared tensor is drawn once, where it is counted. No torch, no streamlit here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.anatomy.node import ModuleNode
from core.anatomy.roles import ATTENTION, EMBEDDINGS, FEED_FORWARD, HEAD, NORMS, OTHER, ROLES, by_role, role_of
from core.figures.numbers import in_words, short

ROLE_COLOURS: dict[str, str] = {
    EMBEDDINGS: "#2F4A78",
    ATTENTION: "#7B8794",
    FEED_FORWARD: "#C9B458",
    NORMS: "#F4E7A1",
    HEAD: "#A05C7B",
    OTHER: "#4F7F6E",
}
"""Blue to yellow as in cividis for the trunk, which reads by lightness alone; two further hues for what is seldom."""

CONTAINER = "rgba(128, 128, 128, 0.16)"
"""Modules that hold several roles: their own colour would say nothing."""

HEIGHT = 560


@dataclass(frozen=True, slots=True)
class _Tile:
    path: str
    parent: str
    label: str
    cls: str
    parameters: int
    role: str | None


def treemap(root: ModuleNode) -> go.Figure:
    """Nested rectangles, areas in proportion to parameters (all copies together); a click opens one."""
    figure = go.Figure(go.Treemap(**_hierarchy(root), tiling={"pad": 2}, pathbar={"thickness": 26}, maxdepth=6))
    return _laid_out(figure)


def sunburst(root: ModuleNode) -> go.Figure:
    """Nested rings, angles in proportion to parameters (all copies together); a click opens a sector."""
    figure = go.Figure(go.Sunburst(**_hierarchy(root), maxdepth=5, insidetextorientation="auto"))
    return _laid_out(figure)


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
            text=[f"{part:.0%}" if part >= 0.06 else "" for part in parts] if relative else None,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            customdata=[
                [in_words(amount), f"{part:.1%}", in_words(root.total)]
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
    figure.update_xaxes(
        title="share of the network's parameters, %" if relative else "parameters",
        range=[0, 100 if relative else 1.14 * longest],
        tickformat=None if relative else "~s",
        fixedrange=True,
    )
    figure.update_yaxes(autorange="reversed", automargin=True, fixedrange=True, ticklabelstandoff=6)
    figure.update_layout(
        barmode="stack",
        bargap=0.35,
        height=130 + 38 * max(len(labels), 2),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
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


def _tiles(root: ModuleNode) -> list[_Tile]:
    """Every node with parameters; a module that wraps one single part is left in, so that paths stay those of torch."""
    tiles: list[_Tile] = []

    def visit(node: ModuleNode, path: str, parent: str, inherited: str | None, copies: int) -> None:
        copies *= node.repeat
        if not node.parameters:
            return
        role = role_of(node.name, node.cls, inherited)
        times = f"{node.repeat} x " if node.repeat > 1 else ""
        label = f"{node.name}: {times}{node.cls}" if node.name[:1].isdigit() else node.name or node.cls
        shown = role if role is not None else None if node.children else OTHER
        tiles.append(_Tile(path, parent, label, f"{times}{node.cls}", node.parameters * copies, shown))
        for child in node.children:
            visit(child, f"{path}.{child.name}" if path else child.name, path, role, copies)

    visit(root, "", "", None, 1)
    return tiles


def _hierarchy(root: ModuleNode) -> dict[str, object]:
    """The fields that plotly's treemap and sunburst have in common."""
    tiles = _tiles(root)
    top = root.cls
    return {
        "ids": [tile.path or top for tile in tiles],
        "parents": ["" if not tile.path else tile.parent or top for tile in tiles],
        "labels": [tile.label for tile in tiles],
        "values": [tile.parameters for tile in tiles],
        "branchvalues": "total",
        "marker": {
            "colors": [ROLE_COLOURS[tile.role] if tile.role else CONTAINER for tile in tiles],
            "line": {"width": 1, "color": "rgba(128, 128, 128, 0.45)"},
        },
        "customdata": [
            [tile.cls, in_words(tile.parameters), f"{tile.parameters / root.total:.2%}", tile.role or "several roles"]
            for tile in tiles
        ],
        "texttemplate": "%{label}<br>%{percentRoot:.1%}",
        "hovertemplate": "<b>%{id}</b><br>%{customdata[0]}<br>%{customdata[1]} parameters, %{customdata[2]} of the "
        "network<br>%{customdata[3]}<extra></extra>",
        "sort": False,
    }


def _laid_out(figure: go.Figure) -> go.Figure:
    figure.update_layout(height=HEIGHT, margin={"l": 4, "r": 4, "t": 4, "b": 4})
    return figure


def legend_rows(root: ModuleNode) -> Sequence[tuple[str, str, int, float]]:
    """What the colours mean in one tree: (role, colour, parameters, share), only roles that occur."""
    return [
        (role, ROLE_COLOURS[role], amount, amount / root.total) for role, amount in by_role(root).items() if amount > 0
    ]
