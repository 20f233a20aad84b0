"""Trees and lattices: a beam search, the merges of BPE, the lookups of WordPiece, the lattice of Unigram.

Figures of one word show its letters along the bottom.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sin

from core.figures.labels import label, percent, sentence
from core.figures.plot import BARE, Json, Trace, cut, figure, note, scatter, title
from core.language.decoding.search import Node, Tree
from core.lazy import go
from core.theme import LABEL, MONO, SMALL, Theme
from core.tokenizers.unigram import Edge
from core.tokenizers.wordpiece import Try
from core.words import visible

TRIES = 60
"""Rows of the picture of lookups; the table has all."""
_STEP = 74
"""Pixels of a step of a beam search."""
_NODE = 70
"""Pixels that a node needs to be read."""
_FITS = 5
"""Nodes side by side that fit a narrow screen."""
_FATES = {"kept": "kept", "finished": "finished", "pruned": "pruned"}
_SHOWN = 0.005
"""A piece with a smaller probability over all segmentations is named on hover only."""


def beam_tree(tree: Tree, color: str, *, theme: Theme) -> go.Figure:
    """A beam search downwards, one row per step: each node with its token and cumulative log-probability.

    The best of a step is at the left; pruned branches are dotted and struck through.
    """
    width = _widest(tree)
    positions: dict[tuple[int, ...], tuple[float, int]] = {(): ((width - 1) / 2, 0)}
    for depth, row in enumerate(tree.rows, 1):
        for number, node in enumerate(row):
            positions[node.ids] = ((number + 0.5) * width / len(row) - 0.5, depth)
    nodes = [node for row in tree.rows for node in row]
    traces = []
    for kind, line in (
        ("pruned", {"color": theme.muted, "width": 1, "dash": "dot"}),
        ("kept", {"color": theme.ink, "width": 1.2}),
        ("best", {"color": color, "width": 4}),
    ):
        x: list[float | None] = []
        y: list[float | None] = []
        for node in nodes:
            if _kind(node) == kind:
                (x0, y0), (x1, y1) = positions[node.ids[:-1]], positions[node.ids]
                x += [x0, x1, None]
                y += [y0 + (0.32 if y0 else 0), y1 - 0.3, None]
        traces.append(scatter(x, y, "lines", line=line, hoverinfo="skip"))
    traces.append(
        scatter(
            [positions[node.ids][0] for node in nodes],
            [positions[node.ids][1] for node in nodes],
            "markers",
            marker={"size": 34, "opacity": 0},
            customdata=[_node_words(node) for node in nodes],
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    root = note("prompt", positions[()][0], 0, bgcolor=theme.ground, borderpad=2)
    return figure(
        theme,
        traces,
        height=_STEP * (len(tree.rows) + 1),
        margin={"l": 2, "r": 2, "t": 2, "b": 2},
        showlegend=False,
        xaxis={"visible": False, "range": [-0.62, width - 0.38]},
        yaxis={"visible": False, "range": [len(tree.rows) + 0.5, -0.35]},
        annotations=[*(_node(node, positions[node.ids], width, color, theme) for node in nodes), root],
    )


def tree_pixels(tree: Tree) -> int | None:
    """The width in pixels at which tokens are legible; None where any screen is wide enough."""
    return None if (width := _widest(tree)) <= _FITS else _NODE * width


def tree_alt(tree: Tree) -> str:
    counts = {fate: sum(node.fate == fate for row in tree.rows for node in row) for fate in _FATES}
    best = "".join(node.token for row in tree.rows for node in row if node.best)
    return f"{sentence('Beam search', steps=len(tree.rows), **counts)} Output: {visible(best.strip())}."


def _widest(tree: Tree) -> int:
    return max((len(row) for row in tree.rows), default=1)


def _kind(node: Node) -> str:
    return "best" if node.best else "pruned" if node.fate == "pruned" else "kept"


def _node(node: Node, position: tuple[float, int], width: int, color: str, theme: Theme) -> Json:
    """A token over its score; finished ones have a double frame by their mark, pruned ones no frame and are struck."""
    size = 13
    token = label(cut(visible(node.token).replace("␣", "") or "␣", 14 if width <= 4 else 8))
    score = f"{node.score:.1f}".replace("-", "−")
    mark = "■ " if node.fate == "finished" else ""
    pruned = node.fate == "pruned" and not node.best
    text = f"<s>{token}</s>" if pruned else f"<b>{mark}{token}</b>" if node.best else f"{mark}{token}"
    return note(
        f"{text}<br><span style='font-size:{size}px'>{score}</span>",
        *position,
        font={"size": size},
        bgcolor=theme.ground,
        borderpad=2,
        opacity=0.72 if pruned else 1.0,
        bordercolor=color if node.best else theme.muted,
        borderwidth=2 if node.best else 0 if pruned else 1,
    )


def _node_words(node: Node) -> str:
    return (
        f"{label(visible(node.token))}: log-probability {node.own:.2f}, sum {node.score:.2f}, "
        f"rank {node.rank:.2f}, {_FATES[node.fate]}"
    )


def merge_tree(leaves: Sequence[str], joins: Sequence[tuple[int, str, int]], *, theme: Theme) -> go.Figure:
    """BPE's merges as a tree over the letters, in the order in which they happened.

    Args:
        leaves: the letters or bytes, as shown.
        joins: (index of the left token, the merged token as shown, rank from 0), in order.
    """
    traces: list[Trace] = []
    nodes = [(float(i), 0.0) for i in range(len(leaves))]
    marks: list[tuple[float, float, str, str]] = []
    for step, (at, piece, rank) in enumerate(joins, start=1):
        (x0, y0), (x1, y1) = nodes[at], nodes[at + 1]
        line = {"color": theme.primary, "width": 3 if step == len(joins) else 1.5}
        traces.append(scatter([x0, x0, x1, x1], [y0, step, step, y1], "lines", hoverinfo="skip", line=line))
        nodes[at : at + 2] = [((x0 + x1) / 2, float(step))]
        marks.append(((x0 + x1) / 2, float(step), piece, f"step {step}: {piece}, merge rank {rank + 1:,}"))
    if marks:
        traces.append(
            scatter(
                [mark[0] for mark in marks],
                [mark[1] for mark in marks],
                "markers",
                marker={"size": 9, "color": theme.primary},
                hovertext=[label(mark[3]) for mark in marks],
                hoverinfo="text",
            )
        )
    rows = max(1, len(joins))
    return _word(
        traces,
        leaves,
        0.0,
        theme,
        [-0.7, max(0, len(leaves) - 1) + 0.7],
        {"range": [-0.2, rows + 0.8], "tickvals": list(range(1, rows + 1)), **title("merge")},
        height=70 + min(40, max(28, 520 // (rows + 1))) * (rows + 1),
        annotations=[_tag(x, y, piece, theme, shift=13) for x, y, piece, _ in marks],
    )


def tries(word: str, attempts: Sequence[Try], *, theme: Theme) -> go.Figure:
    """Every vocabulary lookup as a bar over the letters it covers, from the top down; matches are filled."""
    rows = list(attempts[:TRIES])
    traces = []
    for hit in (False, True):
        ones = [(number, row) for number, row in enumerate(rows, start=1) if row.found == hit]
        line = {"color": theme.primary if hit else theme.muted, "width": 1}
        traces.append(
            {
                "type": "bar",
                "base": [row.start for _, row in ones],
                "x": [row.end - row.start for _, row in ones],
                "y": [number for number, _ in ones],
                "orientation": "h",
                "width": 0.74,
                "marker": {"color": theme.primary if hit else "rgba(128,134,145,0.12)", "line": line},
                "text": [label(row.piece) + (" ✓" if hit else "") for _, row in ones],
                "textposition": "inside",
                "insidetextanchor": "middle",
                "textangle": 0,
                "constraintext": "none",
                "textfont": {"family": MONO, "size": SMALL, "color": theme.ground if hit else theme.ink},
                "hovertext": [
                    f"lookup {number}: {label(row.piece)}, {'in the vocabulary' if hit else 'not in it'}"
                    for number, row in ones
                ],
                "hoverinfo": "text",
            }
        )
    return _word(
        traces,
        list(word),
        0.5,
        theme,
        [-0.15, len(word) + 0.15],
        {"range": [len(rows) + 0.6, 0.4], "nticks": min(12, len(rows) + 1), **title("lookup")},
        height=70 + 24 * len(rows),
        barmode="overlay",
        bargap=0.1,
    )


def lattice(
    text: str, edges: Sequence[Edge], weights: Sequence[float], best: Sequence[Edge], *, theme: Theme
) -> go.Figure:
    """All tokens as arcs; width grows with the probability of the segmentations through them, color marks the best one.

    Args:
        weights: for each edge the probability that a segmentation goes through it.
    """
    chosen = set(best)
    tags = []
    traces: list[Trace] = []
    points = [step / 16 for step in range(17)]
    for i in sorted(range(len(edges)), key=lambda i: (edges[i] in chosen, weights[i])):
        edge, weight = edges[i], weights[i]
        mine = edge in chosen
        top = _height(edge.end - edge.start)
        line = {
            "color": theme.primary if mine else theme.muted,
            "width": 1.2 + 4.5 * min(1.0, weight),
            "dash": "solid" if edge.known else "dot",
        }
        description = f"{label(edge.piece)}: log p = {edge.score:.2f}{'' if edge.known else ', unknown'}, on "
        traces.append(
            scatter(
                [edge.start + (edge.end - edge.start) * t for t in points],
                [top * sin(pi * t) for t in points],
                "lines",
                opacity=1.0 if mine else 0.25 + 0.6 * min(1.0, weight),
                line=line,
                hoverinfo="text",
                hovertext=f"{description}{label(percent(weight))} of the segmentations",
            )
        )
        if mine or (weight >= _SHOWN and edge.end - edge.start > 1):
            tags.append(((edge.start + edge.end) / 2, top, edge.piece.replace("▁", "␣"), mine))
    gaps = list(range(len(text) + 1))
    mark = {"size": 8, "color": theme.ink}
    traces.append(scatter(gaps, [0] * len(gaps), "markers", hoverinfo="skip", marker=mark))
    widest = max((edge.end - edge.start for edge in edges), default=1)
    return _word(
        traces,
        list(text),
        0.5,
        theme,
        [-0.3, len(text) + 0.3],
        {"range": [-0.15, _height(widest) + 0.5], "visible": False},
        height=360,
        annotations=[_tag(x, y, piece, theme, strong=mine) for x, y, piece, mine in tags],
    )


def _height(length: int) -> float:
    return 0.45 + 0.55 * (length - 1)


def _tag(x: float, y: float, piece: str, theme: Theme, *, shift: int = 0, strong: bool = True) -> Json:
    font = {"family": MONO, "size": SMALL, "color": theme.ink}
    text = f"<b>{label(piece)}</b>" if strong else label(piece)
    return note(text, x, y, yshift=shift, bgcolor=theme.ground, borderpad=1, font=font)


def _word(
    traces: Sequence[Trace],
    letters: Sequence[str],
    shift: float,
    theme: Theme,
    across: Sequence[float],
    up: Json,
    **layout: object,
) -> go.Figure:
    """A figure over the letters of a word, at x = 0, 1, ... plus ``shift``."""
    return figure(
        theme,
        traces,
        margin={"b": 34},
        showlegend=False,
        hoverlabel={"font": {"family": MONO}},
        xaxis={
            **BARE,
            "range": list(across),
            "tickmode": "array",
            "tickvals": [i + shift for i in range(len(letters))],
            "ticktext": [label(sign) for sign in letters],
            "tickfont": {"family": MONO, "size": LABEL if len(letters) <= 24 else SMALL},
            "tickangle": 0,
        },
        yaxis=up,
        **layout,
    )
