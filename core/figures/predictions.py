"""Probabilities as labeled horizontal bars: predictions, several models, a discriminator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from core.figures.bars import Series, bars
from core.figures.labels import label, sentence
from core.figures.plot import cut, upright
from core.lazy import go
from core.theme import Theme

_HATCHES = ("", "/", ".", "x")


def percent(probability: float) -> str:
    """A probability as text: ``97%``, ``3.1%``, ``0.04%``, ``< 0.01%``."""
    value = 100 * probability
    if value >= 9.95:
        return f"{value:.0f}%" if value < 99.5 or value >= 99.995 else f"{value:.1f}%"
    if value >= 0.995:
        return f"{value:.1f}%"
    return f"{value:.2f}%" if value >= 0.01 else "< 0.01%"


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
        size=15,
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
    truth: str | None = None,
    number: Callable[[float], str] = percent,
    theme: Theme,
) -> go.Figure:
    """One bar per word and series; the ``series`` differ by hatching as well as by color.

    :param words: each with its probability in every series, the first on top.
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
        height=70 + (16 + 16 * len(series)) * max(2, len(words)),
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
        size=15,
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
