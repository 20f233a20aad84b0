"""Masks as figures: which query attends to which key, layers between positions, masked tokens by epoch.

A filled cell carries a dot, so that color is never the only sign; what a mask forbids is hatched.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from core.figures.heatmap import Labels, cells, hatching, heat_map, ink_on, names
from core.figures.labels import label, sentence
from core.figures.plot import TURNED, Json, box, cut, figure, note, title
from core.lazy import go
from core.theme import LABEL, SMALL, Theme

Bools = npt.NDArray[np.bool_]
DOTTED_UP_TO = 32
"""Tokens up to which each filled cell carries a dot: beyond, dots would be smaller than the gaps."""
_NAMED_UP_TO = 34
"""The most tokens whose names are all shown beside a map; beyond, some are omitted."""
_NUMBERED_UP_TO = 24
_FEW = 20
"""Tokens up to which a small map has names and dots."""
_SHORT = 12
_STREAMS = ("Content stream", "Query stream")
_FLUSH = {"l": 0, "r": 0}


def _axes(rows: Sequence[str], columns: Sequence[str], **across: object) -> Json:
    """Both axes of a map, with long names truncated and, of many, only some shown."""

    def side(texts: Sequence[str], **axis: object) -> Labels:
        return names([cut(text, _SHORT) for text in texts], -(-len(texts) // _NAMED_UP_TO) or 1, **axis)

    return {"down": side(rows), "across": side(columns, tickangle=-60, **across)}


def _flags(
    filled: Bools,
    color: str,
    words: Sequence[Sequence[str]],
    theme: Theme,
    *,
    dots: bool,
    of: str = "",
    hatched: bool = True,
) -> Json:
    """Arguments of :func:`cells`: a boolean map, True in ``color`` with a dot; ``words`` of each cell are escaped.

    Args:
        hatched: leave the other cells without a value, which is hatched; otherwise they have the color of empty cells.
    """
    return {
        "values": np.where(filled, 1.0, np.nan if hatched else 0.0),
        "scale": (theme.raised, color),
        "hoverongaps": True,
        "theme": theme,
        "xgap": 1,
        "ygap": 1,
        "opacity": 0.85,
        "text": [["●" if cell and dots else "" for cell in line] for line in filled.tolist()],
        "texttemplate": "%{text}",
        "textfont": {"color": ink_on(color), "size": SMALL},
        "customdata": words,
        "hovertemplate": "%{customdata}<extra>" + of + "</extra>",
    }


def _in_words(
    cells: Sequence[Sequence[bool]], rows: Sequence[str], columns: Sequence[str], *verbs: str
) -> list[list[str]]:
    """Each cell as a sentence with the first verb where it is filled, else with the second; escaped."""
    return [
        [f"{label(row)} {verbs[not cell]} {label(column)}" for column, cell in zip(columns, line, strict=True)]
        for row, line in zip(rows, cells, strict=True)
    ]


def _attends(allowed: Bools, rows: Sequence[str], columns: Sequence[str]) -> list[list[str]]:
    return _in_words(allowed.tolist(), rows, columns, "attends to", "cannot attend to")


def mask_map(
    allowed: Bools,
    rows: Sequence[str],
    columns: Sequence[str],
    color: str,
    *,
    of: str = "",
    small: bool = False,
    theme: Theme,
) -> go.Figure:
    """One mask, (queries, keys); ``of`` names it in hover texts.

    :param small: for several maps side by side; names and dots only where there are few tokens.
    """
    axes, most = _axes(rows, columns), max(allowed.shape)
    height = 110 + min(24 * len(rows), 480)
    if small:
        axes = _axes(rows, columns, side="bottom")
        height = 80 + 15 * len(rows) if most <= _FEW else 20 + min(12 * len(rows), 220)  # names need 15 pixels each
        for side in axes.values():
            side.axis["showticklabels"] = most <= _FEW
    return heat_map(
        **_flags(
            allowed,
            color,
            _attends(allowed, [cut(row, _SHORT) for row in rows], [cut(column, _SHORT) for column in columns]),
            theme,
            dots=most <= (_FEW if small else DOTTED_UP_TO),
            of=of,
        ),
        **axes,
        height=height,
        layout={"margin": _FLUSH | ({"b": 0} if small else {})},
    )


def mask_words(allowed: Bools) -> str:
    """The map in a sentence: how many of the pairs are allowed."""
    allowed_pairs, pairs = int(allowed.sum()), int(allowed.size)
    if allowed_pairs == pairs:
        return sentence("Mask: full", pairs=f"{pairs:,}")
    return sentence("Mask", allowed=f"{allowed_pairs:,}", pairs=f"{pairs:,}")


def levels_map(
    levels: npt.NDArray[np.int16],
    rows: Sequence[str],
    columns: Sequence[str],
    layers: int,
    chosen: int,
    *,
    theme: Theme,
) -> go.Figure:
    """Layers needed for information at each column to reach each row; blank beyond ``layers`` or if it never does.

    :param levels: (rows, columns) as `core.attention.masks.board` counts them, -1 for never.
    :param chosen: the row that is framed.
    """
    shown = (levels >= 0) & (levels <= layers)
    few = max(levels.shape) <= _NUMBERED_UP_TO

    def reach(level: int) -> str:
        if level < 0:
            return "never reaches it"
        return "the same position" if level == 0 else f"reaches it after {level} {'layer' if level == 1 else 'layers'}"

    return heat_map(
        np.where(shown, levels, np.nan),
        **_axes(rows, columns),
        theme=theme,
        ends=(0, max(2, layers)),
        xgap=1,
        ygap=1,
        colorbar=None if few else {"title": {"text": "layers"}, "dtick": 1 if layers < 9 else 4},
        hoverongaps=True,
        customdata=[
            [
                f"{label(cut(columns[j], _SHORT))} → {label(cut(row, _SHORT))}: {reach(level)}"
                for j, level in enumerate(line)
            ]
            for row, line in zip(rows, levels.tolist(), strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
        texts=np.where(shown, levels.astype(str), "").tolist() if few else None,
        height=130 + min(24 * len(rows), 480),
        layout={
            "shapes": [box(-0.5, len(columns) - 0.5, chosen - 0.5, chosen + 0.5, color=theme.ink, width=2)],
            "margin": _FLUSH,
        },
    )


def levels_table(
    levels: npt.NDArray[np.int16], rows: Sequence[str], columns: Sequence[str], layers: int
) -> list[dict[str, object]]:
    """One row a token: what has reached it after each number of layers up to ``layers``."""
    return [
        {
            "position": at,
            "token": token,
            **{f"after {layer}": int(((line >= 0) & (line <= layer)).sum()) for layer in range(1, layers + 1)},
            "never": ", ".join(columns[j] for j in np.flatnonzero(line < 0).tolist()) or "none",
        }
        for at, (token, line) in enumerate(zip(rows, levels, strict=True))
    ]


def growing_map(
    line: npt.NDArray[np.int16], token: str, columns: Sequence[str], layers: int, color: str, *, theme: Theme
) -> go.Figure:
    """The receptive field of one position: a row for each number of layers, from 1 down to ``layers``.

    :param line: the position's row of levels.
    """
    seen = np.stack([(line >= 0) & (line <= layer) for layer in range(1, layers + 1)])  # (layers, columns)
    rows = ["1 layer", *(f"{layer} layers" for layer in range(2, layers + 1))]
    short = label(cut(token, _SHORT))
    words = [
        [
            f"{label(cut(column, _SHORT))} {'reaches' if there else 'does not reach'} {short} after {row}"
            for column, there in zip(columns, cells_of_row, strict=True)
        ]
        for row, cells_of_row in zip(rows, seen.tolist(), strict=True)
    ]
    return heat_map(
        **_flags(seen, color, words, theme, dots=len(columns) <= DOTTED_UP_TO, hatched=False),
        **_axes(rows, columns),
        height=130 + min(26 * len(rows), 420),
        layout={"margin": _FLUSH},
    )


def stream_maps(
    tokens: Sequence[str], rank: Sequence[int], content: Bools, query: Bools, color: str, *, theme: Theme
) -> go.Figure:
    """Attention masks of permutation language modeling: those of the two streams side by side.

    :param rank: the step in which each token is predicted, 0 for a known one.
    :param content: (n, n) True where the row's content stream attends to the column.
    :param query: (n, n) likewise for the query stream.
    """
    count = len(tokens)
    shown = [f"{text} ({step})" if step else text for text, step in zip(tokens, rank, strict=True)]
    down = names(shown)
    across: Json = {**down.axis, "tickangle": -60}
    traces = [
        cells(
            **_flags(seen, color, _attends(seen, shown, shown), theme, dots=count <= DOTTED_UP_TO, of=name),
            down=down,
            across=down,
            xaxis=axis,
        )
        for name, seen, axis in zip(_STREAMS, (content, query), ("x", "x2"), strict=True)
    ]
    over: Json = {"xref": "paper", "yref": "paper", "xanchor": "center", "yanchor": "bottom", "font": {"size": LABEL}}
    return figure(
        theme,
        traces,
        xaxis={**across, "domain": [0, 0.48]},
        xaxis2={**across, "domain": [0.52, 1]},
        yaxis=TURNED | down.axis,
        annotations=[note(name, middle, 1, **over) for name, middle in zip(_STREAMS, (0.24, 0.76), strict=True)],
        images=[hatching(np.where(seen, 1, np.nan), theme, x) for seen, x in ((content, "x"), (query, "x2"))],
        height=150 + min(26 * count, 700),
        margin={"l": 0, "r": 0, "t": 28, "b": 0},
    )


def stream_table(tokens: Sequence[str], rank: Sequence[int], content: Bools, query: Bools) -> list[dict[str, object]]:
    """One row a token: what its two streams attend to."""

    def keys(row: Bools) -> str:
        return "all" if row.all() else ", ".join(text for text, there in zip(tokens, row, strict=True) if there)

    return [
        {
            "token": text,
            "predicted in step": step or None,
            "its content stream attends to": keys(content[i]),
            "its query stream attends to": keys(query[i]),
        }
        for i, (text, step) in enumerate(zip(tokens, rank, strict=True))
    ]


def stream_words(tokens: Sequence[str], rank: Sequence[int]) -> str:
    """The two maps in one sentence, for screen readers."""
    order = sorted((step, text) for text, step in zip(tokens, rank, strict=True) if step)
    context = ", ".join(text for text, step in zip(tokens, rank, strict=True) if not step)
    predicted = ", ".join(text for _, text in order)
    return (
        f"{sentence('Streams')} {sentence('Streams: known')} {context}. {sentence('Streams: predicted')} {predicted}."
    )


def epoch_map(masked: Bools, tokens: Sequence[str], color: str, *, here: int | None = None, theme: Theme) -> go.Figure:
    """Which tokens are prediction targets in which epoch: epochs down, tokens across; a filled cell is a target.

    :param masked: (epochs, tokens).
    :param here: an epoch, counted from 1, that gets a frame.
    """
    epochs, count = masked.shape
    words = [
        [
            f"epoch {epoch}, {label(name)}: {'predicted' if cell else 'not predicted'}"
            for name, cell in zip(tokens, row, strict=True)
        ]
        for epoch, row in enumerate(masked.tolist(), 1)
    ]
    named = [i for i in range(epochs) if i == 0 or i % 10 == 9]
    down = names([str(epoch) for epoch in range(1, epochs + 1)], **title("epoch"))
    down.axis.update(tickvals=named, ticktext=[str(i + 1) for i in named])
    frame = [] if here is None else [box(-0.5, count - 0.5, here - 1.5, here - 0.5, color=theme.ink, width=2)]
    return heat_map(
        **_flags(masked, color, words, theme, dots=False, hatched=False) | {"opacity": 1.0},
        down=down,
        across=names(tokens, tickangle=-60, side="bottom", showticklabels=count <= 40),
        height=110 + 9 * epochs,
        layout={"shapes": frame, "margin": _FLUSH | {"b": 0}},
    )


def epoch_table(masked: Bools, tokens: Sequence[str]) -> list[dict[str, object]]:
    """One row an epoch: the prediction targets."""
    return [
        {"epoch": epoch, "targets": ", ".join(token for token, cell in zip(tokens, row, strict=True) if cell)}
        for epoch, row in enumerate(masked.tolist(), 1)
    ]
