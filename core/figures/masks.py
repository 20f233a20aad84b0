"""Masks as pictures: who attends to whom, layers that information needs from token to token, tokens by epoch.

What is allowed carries a dot, so that color is never the only sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.figures.heatmap import cells, heat_map, ink_on, names
from core.figures.labels import label
from core.figures.plot import TURNED, Trace, box, cut, figure, note, title
from core.theme import Theme

if TYPE_CHECKING:
    import plotly.graph_objects as go

Bools = npt.NDArray[np.bool_]
DOTTED_UP_TO = 32
"""Tokens up to which each allowed cell carries a dot: beyond, dots would be smaller than the gaps."""
_NAMED_UP_TO = 34
"""Tokens up to which each has its name beside a map; beyond, some are left out."""
_NUMBERED_UP_TO = 24
_SHORT = 12
_STREAMS = ("Content stream", "Query stream")


def _flags(
    allowed: Bools, color: str, words: Sequence[Sequence[str]], theme: Theme, *, dots: bool, size: int = 9, of: str = ""
) -> Trace:
    """What :func:`cells` needs for a map of yes (``color``, with a dot) and no; ``words`` of each cell are escaped."""
    return {
        "values": allowed.astype(int),
        "scale": (theme.raised, color),
        "theme": theme,
        "xgap": 1,
        "ygap": 1,
        "opacity": 0.85,
        "text": [["●" if cell and dots else "" for cell in line] for line in allowed.tolist()],
        "texttemplate": "%{text}",
        "textfont": {"color": ink_on(color), "size": size},
        "customdata": words,
        "hovertemplate": "%{customdata}<extra>" + of + "</extra>",
    }


def _sees(allowed: Bools, rows: Sequence[str], columns: Sequence[str]) -> list[list[str]]:
    """Each cell in words, escaped."""
    down, across = [label(name) for name in rows], [label(name) for name in columns]
    return [
        [
            f"{row} {'attends to' if cell else 'cannot attend to'} {column}"
            for column, cell in zip(across, line, strict=True)
        ]
        for row, line in zip(down, allowed.tolist(), strict=True)
    ]


def mask_map(
    allowed: Bools, rows: Sequence[str], columns: Sequence[str], color: str, *, of: str = "", theme: Theme
) -> go.Figure:
    """One mask, (rows, columns), as a small square picture; ``of`` names it under the pointer."""
    down, across = _cut(rows), _cut(columns)
    dots = max(allowed.shape) <= DOTTED_UP_TO
    return heat_map(
        **_flags(allowed, color, _sees(allowed, down, across), theme, dots=dots, of=of),
        down=names(down, _every(rows), tickfont={"size": 12}),
        across=names(across, _every(columns), tickangle=-60, tickfont={"size": 12}),
        height=110 + min(24 * len(rows), 480),
        layout={"margin": {"l": 0, "r": 0}},
    )


def small_mask_map(
    allowed: Bools, queries: Sequence[str], keys: Sequence[str], color: str, *, theme: Theme
) -> go.Figure:
    """The same beside others: names and dots only where there are few tokens."""
    few = max(len(queries), len(keys)) <= 20
    shown: tuple[Sequence[str], Sequence[str]] = (queries, keys) if few else ((), ())
    down, across = (names(texts, tickfont={"size": 11}) for texts in shown)
    across.axis.update(side="bottom", tickangle=-60)
    return heat_map(
        **_flags(allowed, color, _sees(allowed, queries, keys), theme, dots=few, size=8),
        down=down._replace(at=list(range(len(queries)))),
        across=across._replace(at=list(range(len(keys)))),
        height=(80 if few else 20) + min(12 * len(queries), 220),
        layout={"margin": {"l": 0, "r": 0, "b": 0}},
    )


def mask_words(allowed: Bools) -> str:
    """The map in a sentence: how many of the pairs are allowed."""
    seen, pairs = int(allowed.sum()), int(allowed.size)
    if seen == pairs:
        return f"Every query attends to every key: all {pairs:,} pairs."
    return f"{seen:,} of {pairs:,} pairs of query and key are allowed."


def levels_map(
    levels: npt.NDArray[np.int16],
    rows: Sequence[str],
    columns: Sequence[str],
    layers: int,
    chosen: int,
    *,
    theme: Theme,
) -> go.Figure:
    """Layers that news needs from each column to each row; blank where it needs more than ``layers`` or never comes.

    :param levels: (rows, columns) as `core.attention.masks.influence` counts them, -1 for never.
    :param chosen: the row that is framed.
    """
    shown = (levels >= 0) & (levels <= layers)
    down, across = _cut(rows), _cut(columns)
    few = max(levels.shape) <= _NUMBERED_UP_TO

    def said(level: int) -> str:
        if level < 0:
            return "never reaches it"
        return "is itself" if level == 0 else f"reaches it after {level} {'layer' if level == 1 else 'layers'}"

    texts = [
        [str(value) if there else "" for value, there in zip(*pair, strict=True)]
        for pair in zip(levels.tolist(), shown.tolist(), strict=True)
    ]
    return heat_map(
        np.where(shown, levels, np.nan),
        names(down, _every(rows), tickfont={"size": 12}),
        names(across, _every(columns), tickangle=-60, tickfont={"size": 12}),
        theme,
        ends=(0, max(2, layers)),
        xgap=1,
        ygap=1,
        colorbar=None if few else {"title": {"text": "layers"}, "dtick": 1 if layers < 9 else 4},
        hoverongaps=True,
        customdata=[
            [f"{label(across[j])} → {label(down[i])}: {said(level)}" for j, level in enumerate(line)]
            for i, line in enumerate(levels.tolist())
        ],
        hovertemplate="%{customdata}<extra></extra>",
        texts=texts if few else None,
        height=130 + min(24 * len(rows), 480),
        layout={
            "shapes": [box(-0.5, len(columns) - 0.5, chosen - 0.5, chosen + 0.5, color=theme.ink, width=2)],
            "margin": {"l": 0, "r": 0},
        },
    )


def levels_table(
    levels: npt.NDArray[np.int16], rows: Sequence[str], columns: Sequence[str], layers: int
) -> list[dict[str, object]]:
    """One row a token: what has reached it after each number of layers up to ``layers``."""
    table: list[dict[str, object]] = []
    for place, (token, line) in enumerate(zip(rows, levels, strict=True)):
        row: dict[str, object] = {"place": place, "token": token}
        for layer in range(1, layers + 1):
            row[f"after {layer}"] = int(((line >= 0) & (line <= layer)).sum())
        row["never"] = ", ".join(columns[j] for j in np.flatnonzero(line < 0).tolist()) or "none"
        table.append(row)
    return table


def growing_map(
    line: npt.NDArray[np.int16], token: str, columns: Sequence[str], layers: int, color: str, *, theme: Theme
) -> go.Figure:
    """What one token's output can rest on: a row for each number of layers, from 1 down to ``layers``.

    :param line: the token's row of levels.
    """
    seen = np.stack([(line >= 0) & (line <= layer) for layer in range(1, layers + 1)])  # (layers, columns)
    rows = ["1 layer", *(f"{layer} layers" for layer in range(2, layers + 1))]
    across = _cut(columns)
    words = [
        [
            f"{label(across[j])} {'reaches' if there else 'does not reach'} {label(cut(token, _SHORT))} after {rows[i]}"
            for j, there in enumerate(row)
        ]
        for i, row in enumerate(seen.tolist())
    ]
    return heat_map(
        **_flags(seen, color, words, theme, dots=len(columns) <= DOTTED_UP_TO),
        down=names(rows, _every(rows), tickfont={"size": 12}),
        across=names(across, _every(columns), tickangle=-60, tickfont={"size": 12}),
        height=130 + min(26 * len(rows), 420),
        layout={"margin": {"l": 0, "r": 0}},
    )


def stream_maps(
    tokens: Sequence[str], rank: Sequence[int], content: Bools, query: Bools, color: str, *, theme: Theme
) -> go.Figure:
    """Who sees whom when words are predicted in an order: the masks of two streams side by side.

    :param rank: the step in which each token is predicted, 0 for a known one.
    :param content: (n, n) True where the row's content stream sees the column.
    :param query: (n, n) likewise for the query stream.
    """
    count = len(tokens)
    shown = [f"{text} ({step})" if step else text for text, step in zip(tokens, rank, strict=True)]
    down = names(shown, tickfont={"size": 12})
    across: dict[str, Any] = {**down.axis, "tickangle": -60}
    traces = [
        cells(
            **_flags(seen, color, _sees(seen, shown, shown), theme, dots=count <= DOTTED_UP_TO, of=name),
            down=down,
            across=down,
            xaxis=axis,
        )
        for name, seen, axis in zip(_STREAMS, (content, query), ("x", "x2"), strict=True)
    ]
    heads = [
        note(name, middle, 1, xref="paper", yref="paper", xanchor="center", yanchor="bottom", font={"size": 15})
        for name, middle in zip(_STREAMS, (0.24, 0.76), strict=True)
    ]
    return figure(
        theme,
        traces,
        xaxis={**across, "domain": [0, 0.48]},
        xaxis2={**across, "domain": [0.52, 1]},
        yaxis=TURNED | down.axis,
        annotations=heads,
        height=150 + min(26 * count, 700),
        margin={"l": 0, "r": 0, "t": 28, "b": 0},
    )


def stream_table(tokens: Sequence[str], rank: Sequence[int], content: Bools, query: Bools) -> list[dict[str, object]]:
    """One row a token: whom its two streams see."""

    def seen(row: Bools) -> str:
        return "all" if row.all() else ", ".join(text for text, there in zip(tokens, row, strict=True) if there)

    return [
        {
            "token": text,
            "found in step": step or None,
            "its content stream attends to": seen(content[i]),
            "its query stream attends to": seen(query[i]),
        }
        for i, (text, step) in enumerate(zip(tokens, rank, strict=True))
    ]


def stream_words(tokens: Sequence[str], rank: Sequence[int]) -> str:
    """The two maps in one sentence, for screen readers."""
    order = sorted((step, text) for text, step in zip(tokens, rank, strict=True) if step)
    said = ", then ".join(text for _, text in order)
    known = ", ".join(text for text, step in zip(tokens, rank, strict=True) if not step)
    return (
        f"Which tokens attend to which. Known from the start: {known}. Predicted in order: {said}; each attends to "
        "the known ones and those predicted before it, in the content stream to itself, too."
    )


def epoch_map(asked: Bools, tokens: Sequence[str], color: str, *, here: int | None = None, theme: Theme) -> go.Figure:
    """Which tokens are predicted in which epoch: epochs down, tokens across; a filled cell is asked.

    :param asked: (epochs, tokens).
    :param here: an epoch, counted from 1, that gets a frame.
    """
    epochs, count = asked.shape
    texts = [label(token) for token in tokens]
    words = [
        [
            f"epoch {epoch}, {name}: {'predicted' if cell else 'not predicted'}"
            for name, cell in zip(texts, row, strict=True)
        ]
        for epoch, row in enumerate(asked.tolist(), 1)
    ]
    across = names(tokens if count <= 40 else (), tickangle=-60, side="bottom", tickfont={"size": 12})
    down = names([str(epoch) for epoch in range(1, epochs + 1)], tickfont={"size": 12}, **title("epoch"))
    ticks = [i for i in range(epochs) if i == 0 or i % 10 == 9]
    down.axis.update(tickvals=ticks, ticktext=[str(i + 1) for i in ticks])
    frame = [] if here is None else [box(-0.5, count - 0.5, here - 1.5, here - 0.5, color=theme.ink, width=2)]
    return heat_map(
        **_flags(asked, color, words, theme, dots=False) | {"opacity": 1.0},
        down=down,
        across=across._replace(at=list(range(count))),
        height=110 + 9 * epochs,
        layout={"shapes": frame, "margin": {"l": 0, "r": 0, "b": 0}},
    )


def epoch_table(asked: Bools, tokens: Sequence[str]) -> list[dict[str, object]]:
    """One row an epoch: the tokens that are asked."""
    return [
        {"epoch": epoch, "asked": ", ".join(token for token, cell in zip(tokens, row, strict=True) if cell)}
        for epoch, row in enumerate(asked.tolist(), 1)
    ]


def _cut(tokens: Sequence[str]) -> list[str]:
    return [cut(token, _SHORT) for token in tokens]


def _every(tokens: Sequence[str]) -> int:
    return -(-len(tokens) // _NAMED_UP_TO)
