"""Vocabularies as pictures: how a text shrinks as one grows, how one fits each language, its share of a model.

Each picture comes with one sentence for screen readers; a table stands beside it on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.figures.bars import Series, bars, hatched, row_axis
from core.figures.labels import label
from core.figures.lines import Line, line_chart
from core.figures.numbers import in_words, percent
from core.figures.plot import SYMBOLS, figure, scatter, title

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from core.language.bytewise import Cut
    from core.theme import Theme


@dataclass(frozen=True, slots=True)
class Dots:
    """One tokenizer's numbers over the rows; ``hollow`` where a part of the text was unknown."""

    name: str
    values: tuple[float, ...]
    hollow: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One model's share: ``reads`` and ``writes`` are parts of ``total``, in parameters."""

    name: str
    reads: int
    writes: int
    total: int


def growth(
    text: Sequence[tuple[int, float]], test: Sequence[tuple[int, float]], size: int, *, theme: Theme
) -> go.Figure:
    """Tokens for a hundred characters (second) at each size of the vocabulary (first), of two texts."""
    looks = (
        (text, "the text it learns from", theme.primary, "solid"),
        (test, "the test sentence", theme.secondary, "7px,3px"),
    )
    top = max((y for _, y in (*text, *test)), default=1.0)
    return line_chart(
        [
            Line(name, [x for x, _ in points], [y for _, y in points], color, dash)
            for points, name, color, dash in looks
        ],
        "tokens for 100 characters",
        across="tokens in the vocabulary",
        hover="%{x} pieces: %{y:.1f} tokens for 100 characters",
        markers=len(text) <= 60,
        width=2.5,
        at=size,
        height=330,
        legend={"y": -0.3, "yanchor": "top"},
        yaxis={"range": [0, 1.05 * top]},
        theme=theme,
    )


def dots(rows: Sequence[str], series: Sequence[Dots], measure: str, *, theme: Theme) -> go.Figure:
    """One row a language, one mark a tokenizer; a hollow mark says that a part of the text was unknown to it."""
    # What is unknown makes a text look short: such numbers do not set the scale, and may stand at its end.
    sure = [value for one in series for value, hollow in zip(one.values, one.hollow, strict=True) if not hollow]
    top = 1.1 * max(sure or [value for one in series for value in one.values] or [1.0])
    traces = []
    for i, one in enumerate(series):
        mark, color = SYMBOLS[i % len(SYMBOLS)], theme.categorical[i % len(theme.categorical)]
        traces.append(
            scatter(
                [min(value, top) for value in one.values],
                list(range(len(rows))),
                "markers",
                name=label(one.name),
                marker={
                    "size": 12,
                    "color": color,
                    "line": {"color": color, "width": 2},
                    "symbol": [f"{mark}-open" if hollow else mark for hollow in one.hollow],
                },
                customdata=[
                    f"{label(row)}: {value:.2f}" + (", part of it unknown" if hollow else "")
                    for row, value, hollow in zip(rows, one.values, one.hollow, strict=True)
                ],
                hovertemplate="%{customdata}<extra>" + label(one.name) + "</extra>",
            )
        )
    return figure(
        theme,
        traces,
        height=90 + 30 * len(rows) + 20 * ((len(series) + 1) // 2),
        showlegend=True,
        xaxis={**title(label(measure)), "range": [0, 1.03 * top], "showgrid": True},
        yaxis=row_axis([label(row) for row in rows], 13, range=[len(rows) - 0.4, -0.6], autorange=None, showgrid=True),
    )


def shares(rows: Sequence[Bar], *, theme: Theme) -> go.Figure:
    """A bar a model: the vectors that read words, and the matrix that scores them where it is another."""
    at = list(range(len(rows)))
    traces = []
    for name, parts, color, shape in (
        ("reads the words", [bar.reads for bar in rows], theme.primary, ""),
        ("scores them, a matrix of its own", [bar.writes for bar in rows], theme.secondary, "/"),
    ):
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "x": [100 * part / bar.total for part, bar in zip(parts, rows, strict=True)],
                "y": at,
                "name": name,
                "width": 0.72,
                "marker": hatched(color, shape, theme),
                "customdata": [
                    f"{label(bar.name)}: {percent(part / bar.total)}, {in_words(part)} of {in_words(bar.total)}"
                    for part, bar in zip(parts, rows, strict=True)
                ],
                "hovertemplate": "%{customdata}<extra>" + name + "</extra>",
            }
        )
    ends = [100 * (bar.reads + bar.writes) / bar.total for bar in rows]
    texts = [f" {label(percent(end / 100))}" for end in ends]
    sums = scatter(ends, at, "text", text=texts, textposition="middle right", hoverinfo="skip", showlegend=False)
    return figure(
        theme,
        [*traces, sums],
        height=90 + 24 * len(rows),
        barmode="stack",
        xaxis={**title("share of all parameters, %"), "range": [0, 1.14 * max(ends, default=1.0)], "showgrid": True},
        yaxis=row_axis([label(bar.name) for bar in rows], 13, range=[len(rows) - 0.4, -0.6], autorange=None),
    )


def token_bars(cuts: Sequence[Cut], color: str, *, theme: Theme) -> go.Figure:
    """How many tokens a clean and a noisy text are for each reader: the clean one plain, the noisy one hatched."""
    counts = (
        ("clean", [len(one.clean) for one in cuts], ""),
        ("noisy", [len(one.noisy) for one in cuts], "/"),
    )
    series = [
        Series(
            name,
            values,
            color,
            hatch,
            list(map(str, values)),
            opacity=0.85,
            hover=f"%{{customdata}}, {name}: %{{x}} tokens",
        )
        for name, values, hatch in counts
    ]
    most = max((value for one in series for value in one.values), default=1)
    names = [label(one.reader) for one in cuts]
    return bars(
        names,
        series,
        theme,
        height=70 + 62 * len(names),
        end=1.15 * most,
        margin={"l": 0, "r": 0, "t": 40, "b": 4},
        barmode="group",
        bargap=0.3,
    )
