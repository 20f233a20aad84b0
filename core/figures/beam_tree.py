"""A beam search as a tree that grows downwards: a row a step, kept branches solid, pruned ones dotted and struck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.figures.labels import label
from core.figures.lay_out import lay_out
from core.language.tokens import visible

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.language.decoding.tree import Node, Tree

_ROW = 74
_NODE = 70
"""Pixels that a node needs to be read."""
_FITS = 5
"""Nodes side by side that fit a narrow screen."""
_GREY = "#8A939C"
_SAID = {"kept": "kept", "finished": "a finished text", "pruned": "pruned"}


def beam_tree(tree: Tree, colour: str, *, dark: bool = False) -> go.Figure:
    """Each node with its token and the sum of log-probabilities up to it, the best of a step at the left."""
    import plotly.graph_objects as go

    ink, ground = ("#E8ECF0", "#12161B") if dark else ("#1A1F24", "#FFFFFF")
    width = _widest(tree)
    places: dict[tuple[int, ...], tuple[float, int]] = {(): ((width - 1) / 2, 0)}
    for depth, row in enumerate(tree.rows, 1):
        for number, node in enumerate(row):
            places[node.ids] = ((number + 0.5) * width / len(row) - 0.5, depth)
    figure = go.Figure()
    nodes = [node for row in tree.rows for node in row]
    for kind, line in (
        ("pruned", {"color": _GREY, "width": 1, "dash": "dot"}),
        ("kept", {"color": ink, "width": 1.2}),
        ("best", {"color": colour, "width": 4}),
    ):
        edges = [node for node in nodes if _kind(node) == kind]
        x: list[float | None] = []
        y: list[float | None] = []
        for node in edges:
            (x0, y0), (x1, y1) = places[node.ids[:-1]], places[node.ids]
            x += [x0, x1, None]
            y += [y0 + (0.32 if y0 else 0), y1 - 0.3, None]
        figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")
    boxes = [
        {"x": places[node.ids][0], "y": places[node.ids][1], **_box(node, width, colour, ink, ground)} for node in nodes
    ]
    figure.add_scatter(
        x=[places[node.ids][0] for node in nodes],
        y=[places[node.ids][1] for node in nodes],
        mode="markers",
        marker={"size": 34, "opacity": 0},
        customdata=[_told(node) for node in nodes],
        hovertemplate="%{customdata}<extra></extra>",
    )
    boxes.append(
        {
            "x": places[()][0],
            "y": 0,
            "text": "your text",
            "showarrow": False,
            "font": {"color": ink},
            "bgcolor": ground,
            "borderpad": 2,
        }
    )
    lay_out(
        figure,
        height=_ROW * (len(tree.rows) + 1),
        margin={"l": 2, "r": 2, "t": 2, "b": 2},
        showlegend=False,
        dragmode=False,
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        xaxis={"visible": False, "range": [-0.62, width - 0.38], "fixedrange": True},
        yaxis={"visible": False, "range": [len(tree.rows) + 0.5, -0.35], "fixedrange": True},
        hoverlabel={"bgcolor": ground, "font": {"color": ink}},
        annotations=boxes,
    )
    return figure


def tree_pixels(tree: Tree) -> int | None:
    """How wide the picture has to be for its tokens to be read; None where any screen has the room."""
    return None if (width := _widest(tree)) <= _FITS else _NODE * width


def _widest(tree: Tree) -> int:
    return max((len(row) for row in tree.rows), default=1)


def tree_alt(tree: Tree) -> str:
    """The tree in a few sentences."""
    counts = {fate: sum(node.fate == fate for row in tree.rows for node in row) for fate in _SAID}
    best = "".join(node.token for row in tree.rows for node in row if node.best)
    return (
        f"A tree of {len(tree.rows)} steps: {counts['kept']} branches kept, {counts['finished']} finished, "
        f"{counts['pruned']} pruned. What is returned: {visible(best.strip())}. Every node is a row of the table."
    )


def _kind(node: Node) -> str:
    return "best" if node.best else "pruned" if node.fate == "pruned" else "kept"


def _box(node: Node, width: int, colour: str, ink: str, ground: str) -> dict[str, object]:
    """A token over its score; finished ones have a double frame by their mark, pruned ones no frame and are struck."""
    room = 14 if width <= 4 else 8
    size = 13 if width <= _FITS else 12
    token = visible(node.token).replace("␣", "") or "␣"
    token = label(token if len(token) <= room else token[: room - 1] + "…")
    score = f"{node.score:.1f}".replace("-", "−")
    mark = "■ " if node.fate == "finished" else ""
    pruned = node.fate == "pruned" and not node.best
    text = f"<s>{token}</s>" if pruned else f"<b>{mark}{token}</b>" if node.best else f"{mark}{token}"
    return {
        "text": f"{text}<br><span style='font-size:{size - 2}px'>{score}</span>",
        "showarrow": False,
        "font": {"color": ink, "size": size},
        "bgcolor": ground,
        "borderpad": 2,
        "opacity": 0.72 if pruned else 1.0,
        "bordercolor": colour if node.best else _GREY,
        "borderwidth": 2 if node.best else 0 if pruned else 1,
    }


def _told(node: Node) -> str:
    return (
        f"{label(visible(node.token))}: log-probability {node.own:.2f}, sum {node.score:.2f}, "
        f"rank {node.rank:.2f}, {_SAID[node.fate]}"
    )
