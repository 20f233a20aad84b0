"""Sparse attention as figures: patterns between blocks, hashing into buckets, costs against the sequence length.

A pattern is drawn block by block (a raster of B × B cells over an axis of tokens), never point by point: 4,096 tokens
in blocks of 16 are 65,536 cells. Kinds differ in color and in lightness, and the hover text names them; what is not
computed is hatched, as in maps of weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.figures.heatmap import Labels, hatching, heat_map
from core.figures.labels import in_words, label
from core.figures.lines import Line, line_chart
from core.figures.plot import ABOVE, CLEAR, DASHES, Json, band, box, figure, note, scatter, title, upright
from core.lazy import go
from core.patterns.layout import KIND_NAMES, Cost
from core.theme import PURPLE, Theme

_WORDS_UP_TO = 96  # blocks: beyond, hover texts are shortened to keep the figure small
_SHORT = ("not computed", "window", "global", "random")
_LEGEND: Json = {"legend": ABOVE, "margin": {"t": 40}}


def pattern(
    kinds: NDArray[np.uint8],
    block_size: int,
    *,
    marks: Sequence[tuple[int, str]] = (),
    listed: Sequence[int] = (1, 2, 3),
    theme: Theme,
) -> go.Figure:
    """The pattern of one head, tokens × tokens: queries down, keys across.

    Args:
        kinds: kind of each pair of blocks, shape (B, B), as ``Sparsity.kinds`` gives it.
        block_size: tokens in a block.
        marks: (token position, short name) whose rows and columns are pointed out.
        listed: the kinds that the legend names.
    """
    total = len(kinds)
    end = total * block_size
    names = _SHORT if total <= _WORDS_UP_TO else tuple(name[0].upper() for name in _SHORT)
    starts = [position // block_size * block_size for position, _ in marks]
    legend = [
        scatter(
            [None],
            [None],
            "markers",
            name=KIND_NAMES[kind],
            hoverinfo="skip",
            marker={"symbol": "square", "size": 12, "color": theme.blocks[kind - 1]},
        )
        for kind in listed
    ]
    lines: Json = {"shape": "/", "fgcolor": theme.hatch, "size": 6, "solidity": 0.25}
    forbidden: Json = {"type": "bar", "x": [None], "y": [None], "name": KIND_NAMES[0], "hoverinfo": "skip"}
    forbidden["marker"] = {"color": CLEAR, "pattern": lines, "line": {"color": theme.hatch, "width": 1}}
    under = hatching(np.where(kinds, 1.0, np.nan), theme) | {"x": 0, "y": 0, "sizex": end, "sizey": end}
    return heat_map(
        kinds,
        *_square(block_size, total),
        theme,
        scale=(CLEAR, *theme.blocks),
        text=[[names[kind] for kind in row] for row in kinds.tolist()],
        hovertemplate="query position %{y}<br>key position %{x}<br><b>%{text}</b><extra></extra>",
        more=[*legend, forbidden],
        height=430,
        layout={
            "images": [under],
            "shapes": [box(0, end, start, start + block_size, color=theme.ink, width=1.5) for start in starts],
            "annotations": [
                note(text, end, y, xanchor="left", align="left") for y, text in _side_labels(marks, end, block_size)
            ],
            "margin": {"r": 52 if marks else 8},
            "legend": {"y": -0.02, "x": 0.5, "xanchor": "center", "yanchor": "top"},
            "dragmode": "zoom",
        },
    )


def _square(cell: int, count: int) -> tuple[Labels, Labels]:
    """Axis layouts of a square map whose cells cover ``cell`` positions each; it can be zoomed."""
    end = cell * count
    middle = cell * (np.arange(count, dtype=np.float32) + 0.5)
    axis: Json = {"showgrid": False, "constrain": "domain", "fixedrange": False}
    down = {**axis, **title("query position", 6), "range": [end, 0], "autorange": None, "scaleanchor": "x"}
    # numpy's arrays travel as bytes
    return Labels(middle, down), Labels(middle, {**axis, **title("key position", 6), "range": [0, end]})  # type: ignore[arg-type]


def _side_labels(marks: Sequence[tuple[int, str]], end: int, block_size: int) -> list[tuple[float, str]]:
    """(height, text) beside the figure; marks too close for separate labels share one."""
    placed: list[tuple[float, str]] = []
    for position, name in sorted(marks):
        middle = position // block_size * block_size + block_size / 2
        if placed and middle - placed[-1][0] < 0.06 * end:
            above, names = placed.pop()
            placed.append(((above + middle) / 2, f"{names},<br>{label(name)}"))
        else:
            placed.append((middle, label(name)))
    return placed


def pattern_table(kinds: NDArray[np.uint8], block_size: int, tokens: int) -> list[dict[str, object]]:
    """One row for each block of queries: the blocks of keys that it attends to, by kind (blocks counted from 0)."""
    rows: list[dict[str, object]] = []
    for index, line in enumerate(kinds):
        last = min(tokens, (index + 1) * block_size) - 1
        row: dict[str, object] = {"Block": index, "Tokens": f"{index * block_size}–{last}"}
        for kind in (1, 2, 3):
            row[KIND_NAMES[kind].capitalize()] = ranges(np.flatnonzero(line == kind).tolist())
        rows.append(row)
    return rows


def ranges(numbers: Sequence[int]) -> str:
    """``[0, 1, 2, 5]`` as ``0–2, 5``."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


def cost_curve(costs: Sequence[Cost], here: int, name: str = "sparse", *, theme: Theme) -> go.Figure:
    """Scores of one head against the length of the text; ``here`` is the length of the text on the page.

    ``name`` is that of the sparse attention.
    """
    lengths = [cost.tokens for cost in costs]
    full, sparse = [cost.full for cost in costs], [cost.sparse for cost in costs]
    return line_chart(
        [
            Line("full attention", lengths, full, theme.muted, "dash", words=[in_words(value) for value in full]),
            Line(f"{name} attention", lengths, sparse, PURPLE, words=[in_words(value) for value in sparse]),
        ],
        "attention scores per head",
        across="sequence length (tokens)",
        hover="%{x:,} tokens: %{customdata} scores",
        width=3,
        at=here,
        annotations=[note("your text", here, 1, yref="y domain", yanchor="top", xanchor="left", xshift=3)],
        xaxis={"rangemode": "tozero", "tickformat": ",", "showgrid": False},
        yaxis={"rangemode": "tozero"},
        height=360,
        theme=theme,
        **_LEGEND,
    )


def cost_table(costs: Sequence[Cost]) -> list[dict[str, object]]:
    """The curve's numbers."""
    return [
        {
            "Tokens": cost.tokens,
            "Full": cost.full,
            "Sparse": cost.sparse,
            **{name.capitalize(): scores for name, scores in cost.by_kind},
            "Sparse share (%)": round(100 * cost.share, 1),
        }
        for cost in costs
    ]


def sorted_text(
    order: NDArray[np.int64],
    buckets: NDArray[np.int64],
    labels: Sequence[str],
    chunk: int,
    marked: int | None = None,
    *,
    theme: Theme,
) -> go.Figure:
    """Each byte's position in the text (y) against its position after sorting by bucket (x); lines separate chunks.

    Args:
        order: (n',) positions in the sorted order; n and above are filling and are left out.
        buckets: (n,) bucket of each position.
        labels: (n,) each byte as shown.
        chunk: positions of a chunk.
        marked: a position whose chunk and the previous one are shaded.
    """
    n = len(labels)
    positions = np.flatnonzero(order < n)
    at = order[positions]
    even = buckets[at] % 2 == 0
    points = {
        "type": "scattergl",
        "x": positions,
        "y": at,
        "mode": "markers",
        "showlegend": False,
        "customdata": [f"{label(labels[i])} at {i}, bucket {buckets[i]}" for i in at.tolist()],
        "marker": {
            "size": 5,
            "color": np.where(even, PURPLE, theme.primary),
            "symbol": np.where(even, "circle", "square"),
        },
        "hovertemplate": "%{customdata}<br>position %{x} after sorting<extra></extra>",
    }
    shapes = [upright(edge - 0.5, width=1, dash="dot", color=theme.muted) for edge in range(chunk, len(order), chunk)]
    if marked is not None:
        marked_piece = int(np.flatnonzero(order == marked)[0]) // chunk
        for piece in {marked_piece, (marked_piece - 1) % (len(order) // chunk)}:
            shapes.append(band(piece * chunk - 0.5, (piece + 1) * chunk - 0.5, theme.muted, 0.18))
    return figure(
        theme,
        [points],
        shapes=shapes,
        xaxis={**title("position after sorting by bucket"), "range": [-1, len(order)], "fixedrange": False},
        yaxis={**title("position in the text"), "range": [n, -1], "showgrid": False, "fixedrange": False},
        height=430,
        dragmode="zoom",
    )


def meetings(shares: NDArray[np.float64], cell: int, *, theme: Theme) -> go.Figure:
    """The share of pairs that hashing computes in each cell of queries (down) by keys (across); causal."""
    past = np.where(np.tril(np.ones(shares.shape)) > 0, shares, np.nan)
    return heat_map(
        past,
        *_square(cell, len(shares)),
        theme,
        ends=(0, max(0.05, float(shares.max()))),
        xgap=0,
        ygap=0,
        colorbar={"title": {"text": "pairs computed"}, "tickformat": ".0%"},
        hovertemplate="query position %{y}<br>key position %{x}<br>%{z:.0%} of the pairs computed<extra></extra>",
        height=430,
        layout={"dragmode": "zoom"},
    )


def rounds(rows: Sequence[tuple[int, float, float, float]], *, theme: Theme) -> go.Figure:
    """Against the number of hashing rounds: attention weight kept, largest weights kept, pairs computed."""
    styles = (
        ("attention weight kept", PURPLE, "solid"),
        ("largest weights kept", theme.primary, "dash"),
        ("pairs computed", theme.muted, "dot"),
    )
    lines = [
        Line(name, [str(row[0]) for row in rows], [row[index] for row in rows], color, dash)
        for index, (name, color, dash) in enumerate(styles, 1)
    ]
    return line_chart(
        lines,
        "",
        across="rounds of hashing",
        hover="%{x} rounds: %{y:.1%}",
        width=3,
        height=330,
        xaxis={"type": "category", "showgrid": False},
        yaxis={"tickformat": ".0%", "range": [0, 1.05]},
        theme=theme,
        **_LEGEND,
    )


def recall_by_work(rows: Sequence[tuple[int, int, float, float]], *, theme: Theme) -> go.Figure:
    """Recall of the top keys against the work, a line for each number of buckets, a point for each number of rounds.

    Args:
        rows: (buckets, rounds, recall, work).
    """
    lines = []
    for at, count in enumerate(dict.fromkeys(row[0] for row in rows)):
        line = [row for row in rows if row[0] == count]
        words = [f"{count} buckets, rounds: {row[1]}" for row in line]
        x, y = [row[3] for row in line], [row[2] for row in line]
        lines.append(Line(f"{count} buckets", x, y, theme.categorical[at], DASHES[at], words=words))
    return line_chart(
        lines,
        "true top keys found",
        across="scores computed, as a share of full attention",
        hover="%{customdata}<br>%{y:.0%} found with %{x:.0%} of the scores",
        height=360,
        xaxis={"type": "log", "tickvals": [0.03, 0.1, 0.3, 1, 3, 8], "tickformat": ".0%"},
        yaxis={"tickformat": ".0%", "range": [0, 1.05]},
        theme=theme,
    )


def stored_by_depth(
    depths: Sequence[int], plain: Sequence[int], reversible: Sequence[int], *, theme: Theme
) -> go.Figure:
    """Megabytes of activations by the number of layers, with and without reversible layers."""
    return line_chart(
        [
            Line("all activations", depths, [b / 1e6 for b in plain], theme.muted, "dash"),
            Line("reversible layers", depths, [b / 1e6 for b in reversible], PURPLE),
        ],
        "stored for the backward pass, MB",
        across="layers",
        hover="%{x} layers: %{y:.1f} MB",
        width=3,
        height=330,
        xaxis={"tickvals": list(depths)},
        yaxis={"rangemode": "tozero"},
        theme=theme,
    )


def bits_by_length(lengths: Sequence[int], bits: Sequence[float], *, theme: Theme) -> go.Figure:
    """Bits per byte of the same end of a text against how many bytes are read."""
    return line_chart(
        [Line("bits", lengths, bits, PURPLE)],
        "bits per byte (last bytes)",
        across="context length (bytes)",
        hover="context of %{x:,} bytes: %{y:.3f} bits per byte",
        width=3,
        height=360,
        xaxis={"tickformat": ",", "showgrid": False},
        theme=theme,
    )


def score_counts(
    lengths: Sequence[int], full: Sequence[int], hashed: Sequence[tuple[str, Sequence[int]]], *, theme: Theme
) -> go.Figure:
    """Scores of one head against the length on two logarithmic axes: full, and one line for each number of rounds."""
    styles = ((PURPLE, "solid"), (theme.primary, "dot"))
    lines = [Line("full attention", lengths, full, theme.muted, "dash")]
    lines += [
        Line(name, lengths, values, color, dash) for (name, values), (color, dash) in zip(hashed, styles, strict=False)
    ]
    return line_chart(
        lines,
        "attention scores per head",
        across="sequence length (tokens)",
        hover="(%{x}, %{y})",
        width=3,
        height=340,
        xaxis={"type": "log", "showgrid": False},
        yaxis={"type": "log"},
        theme=theme,
        **_LEGEND,
    )
