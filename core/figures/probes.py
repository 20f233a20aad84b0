"""Probes by layer: their accuracies, and the classes that they read off a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from core.figures.heatmap import heat_map, names
from core.figures.labels import label, percent
from core.figures.lines import Line, line_chart
from core.figures.plot import box, cut, level, note, title
from core.lazy import go
from core.theme import Theme


def probe_lines(
    lines: Sequence[Line], names: Sequence[str], baselines: Mapping[str, float], *, theme: Theme
) -> go.Figure:
    """Accuracies by layer, from 0 to 1, over level lines of two baselines, the higher one first."""
    lowest = min(value or 0.0 for line in lines for value in line.values)
    return line_chart(
        lines,
        "accuracy",
        _short(names),
        hover="%{y:.1%}",
        xaxis={"tickangle": 0},
        yaxis={"range": [min(0.0, lowest - 0.08), 1.02], "tickformat": ".0%"},
        shapes=[level(share, color=theme.muted, width=1) for share in baselines.values()],
        annotations=[
            note(
                f"{name}<br>{percent(share)}", 1.01, share, xref="x domain", xanchor="left", align="left", yanchor=side
            )
            for (name, share), side in zip(baselines.items(), ("bottom", "top"), strict=True)
        ],
        margin={"r": 62, "t": 36},
        height=380,
        theme=theme,
    )


def _short(names: Sequence[str]) -> list[str]:
    """Names of layers where there is room for a number."""
    return ["emb.", *(name.removeprefix("layer ") for name in names[1:])]


def class_map(
    words: Sequence[str],
    classes: Sequence[Sequence[str]],
    probabilities: NDArray[np.float32],
    layers: Sequence[str],
    *,
    theme: Theme,
) -> go.Figure:
    """(L, n) classes, words down and layers across; a class that differs from the one before has a frame."""
    changed = [
        (row, layer)
        for layer in range(1, len(classes))
        for row in range(len(words))
        if classes[layer][row] != classes[layer - 1][row]
    ]
    texts = [[label(name) for name in row] for row in zip(*classes, strict=True)]
    return heat_map(
        np.round(probabilities.T, 4),
        names([cut(word, 14) for word in words]),
        names(_short(layers), **title("after layer")),
        theme,
        ends=(0.0, 1.0),
        xgap=2,
        ygap=2,
        customdata=texts,
        hovertemplate="%{y}, after layer %{x}<br><b>%{customdata}</b>, probability %{z:.2f}<extra></extra>",
        texts=texts,
        layout={
            "shapes": [
                box(layer - 0.49, layer + 0.49, row - 0.47, row + 0.47, color=theme.selection, width=2)
                for row, layer in changed
            ]
        },
        height=80 + 28 * len(words),
    )
