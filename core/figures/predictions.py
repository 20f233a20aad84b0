"""Probabilities as labeled horizontal bars: predictions, several models, a discriminator; the logit lens.

A masked word is one picture: the tokens, one head's attention from the mask to them, and the predictions. The logit
lens shows the predictions of each layer, and the final prediction's rank through the layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from core.attention.inside.lens import LensTrajectory
from core.figures.bars import Series, bars
from core.figures.heatmap import Labels, heat_map, numbers
from core.figures.labels import label, percent, sentence
from core.figures.plot import CLEAR, EDGE, Json, box, cut, figure, hover, note, scatter, title, upright
from core.lazy import go
from core.theme import LABEL, Theme

_HATCHES = ("", "/", ".", "x")


def prediction_bars(
    labels: Sequence[str],
    probabilities: Sequence[float],
    color: str,
    *,
    processed: Sequence[float] | None = None,
    chosen: int | None = None,
    scale: float | None = None,
    theme: Theme,
) -> go.Figure:
    """Horizontal bars for ``labels`` (most probable first) with ``probabilities`` from 0 to 1.

    :param processed: the probabilities after temperature and truncation, drawn as a thin gray bar inside each bar.
    :param chosen: the selected row; its label is bold and marked with an arrow.
    :param scale: the probability at the right edge; the largest one shown when None, so that bars of one picture are
        comparable with each other but not across pictures.
    """
    after = probabilities if processed is None else processed
    both = list(zip(probabilities, after, strict=True))
    numbers = [percent(p) if processed is None else f"{percent(p)} → {percent(k)}" for p, k in both]
    # the number follows the longer bar
    texts = ["" if k > p else number for number, (p, k) in zip(numbers, both, strict=True)]
    series = [Series("before", probabilities, color, texts=texts, width=0.72, opacity=0.85)]
    if processed is not None:
        texts = [number if k > p else "" for number, (p, k) in zip(numbers, both, strict=True)]
        hover = "after temperature and truncation: %{x:.4f}"
        series.append(Series("after", processed, theme.muted, texts=texts, width=0.22, hover=hover))
    widest = scale or max([*probabilities, *after, 1e-9])
    return bars(
        [f"{_named(cut(text, 24), i == chosen)}  " for i, text in enumerate(labels)],
        series,
        theme,
        words=[label(text) for text in labels],
        size=LABEL,
        end=widest * (1.32 if processed is None else 1.75),  # numbers to the right of the bars
        height=30 * len(labels) + 16,
        margin={"r": 14, "t": 4, "b": 4},
        barmode="overlay",
        showlegend=False,
    )


def bars_alt(labels: Sequence[str], probabilities: Sequence[float], what: str) -> str:
    """The bars in one sentence, for screen readers."""
    values = ", ".join(f"{text} {percent(p)}" for text, p in zip(labels, probabilities, strict=True))
    return f"{what}: {values}."


def compared_bars(
    series: Sequence[str],
    words: Sequence[tuple[str, Sequence[float]]],
    colors: Sequence[str],
    *,
    measure: str = "probability",
    truth: str | None = None,
    number: Callable[[float], str] = percent,
    theme: Theme,
) -> go.Figure:
    """One bar per word and series; the ``series`` differ by hatching as well as by color.

    :param words: each with its value in every series, the first on top.
    :param measure: what the values are.
    :param truth: the original word; its label is bold.
    :param number: a value as text.
    """
    shown = [
        Series(
            name,
            [chances[i] for _, chances in words],
            colors[i % len(colors)],
            _HATCHES[i % len(_HATCHES)],
            texts=[number(chances[i]) for _, chances in words],
            extra=name,
        )
        for i, name in enumerate(series)
    ]
    return bars(
        [_named(word, word == truth) for word, _ in words],
        shown,
        theme,
        words=[label(word) for word, _ in words],
        end=1.3 * max([chance for _, chances in words for chance in chances], default=1.0) or 1.0,
        measure=measure,
        height=96 + (16 + 16 * len(series)) * max(2, len(words)),
        margin={"r": 14, "t": 40},
        bargap=0.25,
        barmode="group",
    )


def compared_alt(words: Sequence[str], teacher: Sequence[float], student: Sequence[float], what: str) -> str:
    """A teacher's and a student's bars in one sentence, for screen readers."""
    values = ", ".join(
        f"{word} {percent(p)} and {percent(q)}" for word, p, q in zip(words, teacher, student, strict=True)
    )
    return f"{what}, teacher and student: {values}."


def verdict_bars(
    tokens: Sequence[str],
    probabilities: Sequence[float],
    replaced: Collection[int],
    color: str,
    *,
    threshold: float = 0.5,
    theme: Theme,
) -> go.Figure:
    """A discriminator's predictions in reading order, with a line at ``threshold``; replaced tokens are hatched.

    :param probabilities: of a replaced token, 0 to 1.
    :param replaced: indices of the tokens that are replaced.
    """
    names = [f"<b>{label(text)} ◂</b>  " if i in replaced else f"{label(text)}  " for i, text in enumerate(tokens)]
    verdicts = Series(
        "verdicts",
        probabilities,
        [color if p > threshold else theme.muted for p in probabilities],
        ["/" if i in replaced else "" for i in range(len(tokens))],
        texts=[percent(p) for p in probabilities],
        width=0.7,
    )
    return bars(
        names,
        [verdicts],
        theme,
        words=[label(text) for text in tokens],
        size=LABEL,
        end=1.14,
        height=34 * len(tokens) + 40,
        margin={"t": 4, "b": 30},
        xaxis={"tickvals": [0, threshold, 1], "tickformat": ".0%"},
        shapes=[upright(threshold, color=theme.ink, width=1, dash="dot")],
    )


def verdict_alt(tokens: Sequence[str], probabilities: Sequence[float], replaced: Collection[int]) -> str:
    """The bars in one sentence, for screen readers."""
    values = ", ".join(
        f"{text}{' (replaced)' if i in replaced else ''} {percent(p)}"
        for i, (text, p) in enumerate(zip(tokens, probabilities, strict=True))
    )
    return f"{sentence('Verdicts')} {values}."


def _named(text: str, chosen: bool) -> str:
    return f"<b>▸ {label(text)}</b>" if chosen else label(text)


ROWS = 16
"""Tokens that are drawn at most: those with the largest weights."""
HEIGHT = 290
"""Pixels, whatever the text: nothing moves when another one is drawn."""
_TOKENS, _LINES, _MASK, _WORDS, _BARS, _LONGEST_BAR = 0.2, (0.215, 0.345), (0.35, 0.505), 0.715, 0.73, 0.12
"""Where tokens end, lines and the mask's box reach from and to, words end and bars begin, and how long the longest is,
as shares of the width: on a telephone, the number beside it needs 50 pixels."""


def masked_word(
    tokens: Sequence[str],
    weights: NDArray[np.float32],
    at: int,
    words: Sequence[str],
    chances: Sequence[float],
    color: str,
    *,
    special: Sequence[int],
    theme: Theme,
) -> go.Figure:
    """The picture, from left to right: ``tokens``, lines to the mask, the mask, ``words`` with their bars.

    Args:
        weights: (n,) of the query at the mask, in one head; a line's width and strength.
        at: the mask's position.
        chances: the probability of each of ``words``, the highest first.
        special: positions of special tokens, which are gray.
    """
    shown = sorted(np.argsort(-weights, kind="stable")[:ROWS].tolist())
    rows = np.linspace(0, 1, len(shown)) if len(shown) > 1 else np.array([0.5])
    places = np.linspace(0.12, 0.88, len(words)) if len(words) > 1 else np.array([0.5])
    longest, width = max(chances), 0.6 / max(1, len(words))
    names = scatter(
        [_TOKENS] * len(shown),
        rows,
        "text",
        text=[label(cut(tokens[i], 14)) for i in shown],
        textposition="middle left",
        textfont={"size": LABEL, "color": [theme.muted if i in special else theme.ink for i in shown]},
        showlegend=False,
        **hover([f"{label(tokens[i])}: {weights[i]:.2f} of the attention" for i in shown]),
    )
    bars: Json = {
        "type": "bar",
        "orientation": "h",
        "base": _BARS,
        "x": [_LONGEST_BAR * chance / longest for chance in chances],
        "y": places,
        "width": width,
        "marker": {"color": color, "opacity": 0.85, "line": EDGE},
        "text": [percent(chance) for chance in chances],
        "textposition": "outside",
        "textfont": {"size": LABEL},
        "showlegend": False,
        **hover([f"{label(word)}: {percent(chance)}" for word, chance in zip(words, chances, strict=True)]),
    }
    lines = [_line(row, float(weights[i]), color) for i, row in zip(shown, rows, strict=True)]
    lines += [_fan(place, theme.muted) for place in places]
    box: Json = {"type": "rect", "x0": _MASK[0], "x1": _MASK[1], "y0": 0.44, "y1": 0.56, "fillcolor": CLEAR}
    answers = [
        note(f"<b>{label(cut(word, 12))}</b>" if not n else label(cut(word, 12)), _WORDS, place, xanchor="right")
        for n, (word, place) in enumerate(zip(words, places, strict=True))
    ]
    mask = note(f"<b>{label(tokens[at])}</b>", sum(_MASK) / 2, 0.5)
    bare: Json = {"visible": False, "fixedrange": True}
    return figure(
        theme,
        [names, bars],
        shapes=[*lines, box | {"line": {"color": color, "width": 2}}],
        annotations=[mask, *(answer | {"font": {"size": LABEL}} for answer in answers)],
        xaxis=bare | {"range": [0, 1]},
        yaxis=bare | {"range": [1.05, -0.05]},
        height=HEIGHT,
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
    )


def _line(row: float, weight: float, color: str) -> Json:
    """From a token to the mask."""
    begin, end = _LINES
    middle = (begin + end) / 2
    looks = {"color": color, "width": 0.6 + 11 * weight}
    path = f"M {begin},{row} C {middle},{row} {middle},0.5 {end},0.5"
    return {"type": "path", "path": path, "line": looks, "opacity": min(1.0, 0.25 + weight), "layer": "below"}


def _fan(place: float, color: str) -> Json:
    """From the mask to a word."""
    begin, end = _MASK[1] + 0.003, _MASK[1] + 0.04
    middle = (begin + end) / 2
    path = f"M {begin},0.5 C {middle},0.5 {middle},{place} {end},{place}"
    return {"type": "path", "path": path, "line": {"color": color, "width": 1}, "opacity": 0.5, "layer": "below"}


def layer_names(count: int) -> list[str]:
    """Names of the rows: the embeddings, then each layer from 1."""
    return ["embeddings", *(f"layer {i}" for i in range(1, count))]


def answers(trajectory: LensTrajectory, accent: str, *, theme: Theme) -> go.Figure:
    """Layers down, top predictions across, the most probable first; the final prediction has a frame."""
    k = max(len(guess.tokens) for guess in trajectory.predictions)
    shown = np.full((len(trajectory.predictions), k), np.nan, dtype=np.float32)
    texts = [[""] * k for _ in trajectory.predictions]
    full_texts = [[""] * k for _ in trajectory.predictions]
    for row, guess in enumerate(trajectory.predictions):
        for column, (token, probability) in enumerate(zip(guess.tokens, guess.probabilities, strict=True)):
            shown[row, column] = probability
            texts[row][column] = f"{label(cut(token, 8))}<br>{label(percent(probability).replace('< ', '<'))}"
            full_texts[row][column] = label(token)
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
        customdata=full_texts,
        xgap=3,
        ygap=3,
        hovertemplate="%{y}, prediction %{x}: <b>%{customdata}</b><br>probability %{z:.3f}<extra></extra>",
        texts=texts,
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
