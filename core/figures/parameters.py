"""Parameters by module: treemap and sunburst of one tree, bars of several, the table of a comparison.

Areas are parameters. A run of equal layers is one rectangle, ``12 x BertLayer``, as large as all twelve; what is inside
it stands for all twelve as well. A shared tensor is drawn once, where it is counted. No torch, no streamlit here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.anatomy.compare import Comparison
from core.anatomy.node import ModuleNode
from core.anatomy.roles import OTHER, ROLES, by_role, role_of
from core.figures.bars import Series, bars, totals
from core.figures.heatmap import ink_on
from core.figures.labels import in_words, label, percent, short
from core.figures.plot import EDGE, Json, Trace, figure, title
from core.lazy import go
from core.theme import FILLS, Theme

ROLE_COLORS: dict[str, str] = dict(zip(ROLES, FILLS, strict=True))
"""The backbone's roles differ in lightness; other hues mark rare roles."""

ROLE_INK = {role: ink_on(color) for role, color in ROLE_COLORS.items()}
"""Ink on those colors, at least 4.5 : 1."""

HEIGHT = 560
_EDGES = {"l": 4, "r": 4, "t": 4, "b": 4}


@dataclass(frozen=True, slots=True)
class _Tile:
    path: str
    parent: str
    label: str
    cls: str
    parameters: int
    role: str | None


def treemap(root: ModuleNode, *, theme: Theme, height: int = HEIGHT) -> go.Figure:
    """Nested rectangles, areas in proportion to parameters (all copies together); a click opens one."""
    shape: Json = {"type": "treemap", "tiling": {"pad": 2}, "pathbar": {"thickness": 26}, "maxdepth": 6}
    legible = {"minsize": 13, "mode": "hide"}
    return figure(theme, [_hierarchy(root, theme) | shape], height=height, margin=_EDGES, uniformtext=legible)


def sunburst(root: ModuleNode, *, theme: Theme, height: int = HEIGHT) -> go.Figure:
    """Nested rings, angles in proportion to parameters (all copies together); a click opens a sector."""
    shape: Json = {"type": "sunburst", "maxdepth": 5, "insidetextorientation": "auto", "leaf": {"opacity": 1}}
    return figure(theme, [_hierarchy(root, theme) | shape], height=height, margin=_EDGES)


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


def sizes_bars(networks: Mapping[str, ModuleNode], *, relative: bool = False, theme: Theme) -> go.Figure:
    """One bar a network, stacked by role, in parameters or, if ``relative``, in percent of the network's own total."""
    roots = list(networks.values())
    shares = [by_role(root) for root in roots]
    series = []
    for role in _shown(roots):
        amounts = [share[role] for share in shares]
        parts = [amount / root.total for amount, root in zip(amounts, roots, strict=True)]
        words = [
            f"{label(name)}, {role}: {in_words(amount)} parameters, {percent(part)} of {in_words(root.total)}"
            for name, amount, part, root in zip(networks, amounts, parts, roots, strict=True)
        ]
        values = [100 * part for part in parts] if relative else amounts
        texts = [f"{part:.0%}" if relative and part >= 0.06 else "" for part in parts]
        series.append(Series(role, values, ROLE_COLORS[role], texts=texts, inside=True, words=words))
    counts = [root.total for root in roots]
    longest = max(counts, default=1)
    return bars(
        list(map(label, networks)),
        series,
        theme,
        end=100 if relative else 1.02 * longest,
        more=[] if relative else [totals(counts, list(map(short, counts)))],
        xaxis={
            **title("share of the network's parameters, %" if relative else "parameters"),
            "exponentformat": "B",
            "showgrid": False,
        },
        barmode="stack",
        bargap=0.35,
        height=130 + 38 * max(len(roots), 2),
        margin={"r": 16 if relative else 56},
        showlegend=True,
        legend={"y": 1.02},
    )


def _shown(roots: Sequence[ModuleNode]) -> list[str]:
    """The roles that occur in some network."""
    return [role for role in ROLES if any(by_role(root)[role] for root in roots)]


def sizes_table(networks: Mapping[str, ModuleNode]) -> list[dict[str, object]]:
    """The bars as a table: parameters in all and by role."""
    shown = _shown(list(networks.values()))
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
    """A node's label on a tile; an index is not informative, so a layer's class follows it."""
    if not node.name[:1].isdigit():
        return node.name or node.cls
    return f"{node.name}: {node.repeat} × {node.cls}" if node.repeat > 1 else f"{node.name}: {node.cls}"


def _hierarchy(root: ModuleNode, theme: Theme) -> Trace:
    """The fields that plotly's treemap and sunburst have in common."""
    tiles = _tiles(root, joined=True)
    top = root.cls
    colors = [ROLE_COLORS[tile.role] if tile.role else theme.raised for tile in tiles]
    return {
        "ids": [tile.path or top for tile in tiles],
        "parents": ["" if not tile.path else tile.parent or top for tile in tiles],
        "labels": [tile.label for tile in tiles],
        "values": [tile.parameters for tile in tiles],
        "branchvalues": "total",
        "marker": {"colors": colors, "line": EDGE},
        "textfont": {"color": [ROLE_INK[tile.role] if tile.role else theme.ink for tile in tiles]},
        "customdata": [
            [tile.cls, in_words(tile.parameters), percent(tile.parameters / root.total), tile.role or "several roles"]
            for tile in tiles
        ],
        "texttemplate": "%{label}<br>%{customdata[2]}",
        "hovertemplate": "<b>%{id}</b><br>%{customdata[0]}<br>%{customdata[1]} parameters, %{customdata[2]} of the "
        "network<br>%{customdata[3]}<extra></extra>",
        "sort": False,
    }


def legend_rows(root: ModuleNode) -> Sequence[tuple[str, str, int, float]]:
    """The legend of a tree: (role, color, parameters, share) of each role that occurs."""
    return [
        (role, ROLE_COLORS[role], amount, amount / root.total) for role, amount in by_role(root).items() if amount > 0
    ]


def comparison_table(comparison: Comparison) -> list[dict[str, object]]:
    """Each component that has parameters in either network, with its parameters in both; the last row is the total."""
    left, right = comparison.left, comparison.right
    left_name, right_name = left.name, right.name if right.name != left.name else f"{right.name} again"
    counts = [
        (f"{section.name}: {row.name}", *row.parameters)
        for section in comparison.sections
        for row in section.rows
        if any(row.parameters)
    ]
    return [
        {"Component": name, left_name: before, right_name: after, "Difference": after - before}
        for name, before, after in (*counts, ("All", left.parameters, right.parameters))
    ]
