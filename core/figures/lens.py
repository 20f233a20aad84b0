"""The logit lens as figures: the predictions of each layer, and the final prediction's rank through the layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from core.attention.inside.lens import LensTrajectory
from core.figures.heatmap import Labels, heat_map, numbers
from core.figures.labels import label, sentence
from core.figures.plot import box, cut, figure, scatter, title
from core.figures.predictions import percent
from core.lazy import go
from core.theme import Theme


def layer_names(count: int) -> list[str]:
    """Names of the rows: the embeddings, then each layer from 1."""
    return ["embeddings", *(f"layer {i}" for i in range(1, count))]


def answers(trajectory: LensTrajectory, accent: str, *, theme: Theme) -> go.Figure:
    """Layers down, top predictions across, the most probable first; the final prediction has a frame."""
    k = max(len(guess.tokens) for guess in trajectory.predictions)
    shown = np.full((len(trajectory.predictions), k), np.nan, dtype=np.float32)
    texts = [[""] * k for _ in trajectory.predictions]
    whole = [[""] * k for _ in trajectory.predictions]
    for row, guess in enumerate(trajectory.predictions):
        for column, (token, probability) in enumerate(zip(guess.tokens, guess.probabilities, strict=True)):
            shown[row, column] = probability
            texts[row][column] = f"{label(cut(token, 8))}<br>{label(percent(probability).replace('< ', '<'))}"
            whole[row][column] = label(token)
    final = trajectory.predictions[-1].ids[0]
    positions = [
        (row, guess.ids.index(final)) for row, guess in enumerate(trajectory.predictions) if final in guess.ids
    ]
    frames = [box(x - 0.47, x + 0.47, y - 0.45, y + 0.45, color=accent, width=3) for y, x in positions]
    return heat_map(
        shown,
        Labels(layer_names(len(trajectory.predictions)), {"type": "category", "showgrid": False}),
        numbers(k, **title("predictions, most probable first", 6)),
        theme,
        ends=(0.0, max(0.1, float(np.nanmax(shown)))),
        customdata=whole,
        xgap=3,
        ygap=3,
        hovertemplate="%{y}, prediction %{x}: <b>%{customdata}</b><br>probability %{z:.3f}<extra></extra>",
        texts=texts,
        text_size=11,
        mono=True,
        height=80 + 42 * len(trajectory.predictions),
        layout={"shapes": frames},
    )


def path(trajectory: LensTrajectory, accent: str, *, theme: Theme) -> go.Figure:
    """The final prediction's probability and, below it, its rank in the vocabulary, over the layers."""
    layers = list(range(len(trajectory.probabilities)))
    line = {"line": {"color": accent, "width": 2}, "showlegend": False}
    end = math.log10(max(trajectory.ranks) * 1.5)
    powers = [10**i for i in range(math.ceil(math.log10(max(trajectory.answers, 2))) + 1)]
    top = max(0.1, *trajectory.probabilities)
    return figure(
        theme,
        [
            scatter(
                layers,
                trajectory.probabilities,
                "lines+markers",
                marker={"size": 8, "color": accent},
                hovertemplate="after layer %{x}<br>probability %{y:.4f}<extra></extra>",
                **line,
            ),
            scatter(
                layers,
                trajectory.ranks,
                "lines+markers",
                yaxis="y2",
                marker={"size": 8, "color": accent, "symbol": "square"},
                hovertemplate="after layer %{x}<br>rank %{y:,} of " + f"{trajectory.answers:,}<extra></extra>",
                **line,
            ),
        ],
        xaxis={**title("after layer (0: embeddings)"), "dtick": 1 if len(layers) <= 13 else None, "anchor": "y2"},
        yaxis={**title("probability"), "range": [-0.04 * top, 1.06 * top], "nticks": 4, "domain": [0.52, 1]},
        yaxis2={
            **title("rank"),
            "type": "log",
            "range": [max(end, 0.7), -0.12],
            "tickvals": powers if trajectory.answers > 9 else list(range(1, trajectory.answers + 1)),
            "tickformat": ",",
            "domain": [0, 0.4],
        },
        height=340,
        margin={"r": 12},
    )


def path_words(trajectory: LensTrajectory, names: Sequence[str]) -> str:
    """The trajectory in a sentence: from which layer on the final prediction ranks first."""
    since = len(trajectory.ranks)
    while since and trajectory.ranks[since - 1] == 1:
        since -= 1
    if since == 0:
        return sentence("Rank: first")
    names = ["the embeddings" if name == "embeddings" else name for name in names]
    worst = max(range(len(trajectory.ranks)), key=trajectory.ranks.__getitem__)
    return sentence("Rank: from", first=names[since], worst=names[worst], rank=f"{trajectory.ranks[worst]:,}")
