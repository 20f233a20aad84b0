"""Vocabularies as figures: tokens against vocabulary size and by language, and its share of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.figures.bars import Series, bars, row_axis, totals
from core.figures.labels import in_words, label, percent
from core.figures.lines import Line, line_chart
from core.figures.plot import SYMBOLS, figure, hover, scatter, title
from core.language.noise import TokenizedText
from core.lazy import go
from core.theme import SMALL, Theme


@dataclass(frozen=True, slots=True)
class Dots:
    """One tokenizer's values over the rows; ``hollow`` where part of the text maps to the unknown token."""

    name: str
    values: tuple[float, ...]
    hollow: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One model's share: ``embeddings`` and ``output`` are parts of ``total``, in parameters."""

    name: str
    embeddings: int
    output: int
    total: int


def growth(
    text: Sequence[tuple[int, float]], test: Sequence[tuple[int, float]], size: int, *, theme: Theme
) -> go.Figure:
    """Tokens per 100 characters (second) at each vocabulary size (first), of the training text and a test sentence."""
    styles = (
        (text, "training text", theme.primary, "solid"),
        (test, "test sentence", theme.secondary, "7px,3px"),
    )
    top = max((y for _, y in (*text, *test)), default=1.0)
    return line_chart(
        [
            Line(name, [x for x, _ in points], [y for _, y in points], color, dash)
            for points, name, color, dash in styles
        ],
        "tokens per 100 characters",
        across="vocabulary size",
        hover="vocabulary of %{x}: %{y:.1f} tokens per 100 characters",
        markers=len(text) <= 60,
        width=2.5,
        at=size,
        height=330,
        legend={"y": -0.3, "yanchor": "top"},
        yaxis={"range": [0, 1.05 * top]},
        theme=theme,
    )


def dots(rows: Sequence[str], series: Sequence[Dots], measure: str, *, theme: Theme) -> go.Figure:
    """One row per language, one mark per tokenizer; hollow where part of the text maps to the unknown token."""
    # Unknown tokens shorten a text: such values do not set the scale and may be clipped to its end.
    sure = [value for item in series for value, hollow in zip(item.values, item.hollow, strict=True) if not hollow]
    top = 1.1 * max(sure or [value for item in series for value in item.values] or [1.0])
    traces = []
    for i, item in enumerate(series):
        mark, color = SYMBOLS[i % len(SYMBOLS)], theme.categorical[i % len(theme.categorical)]
        traces.append(
            scatter(
                [min(value, top) for value in item.values],
                list(range(len(rows))),
                "markers",
                name=label(item.name),
                marker={
                    "size": 13,
                    "color": color,
                    "line": {"color": color, "width": 2},
                    "symbol": [f"{mark}-open" if hollow else mark for hollow in item.hollow],
                },
                **hover(
                    [
                        f"{label(row)}: {value:.2f}" + (", partly unknown" if hollow else "")
                        for row, value, hollow in zip(rows, item.values, item.hollow, strict=True)
                    ],
                    label(item.name),
                ),
            )
        )
    return figure(
        theme,
        traces,
        height=90 + 30 * len(rows) + 20 * ((len(series) + 1) // 2),
        showlegend=True,
        xaxis={**title(label(measure)), "range": [0, 1.03 * top], "showgrid": True},
        yaxis=row_axis(
            [label(row) for row in rows], SMALL, range=[len(rows) - 0.4, -0.6], autorange=None, showgrid=True
        ),
    )


def shares(rows: Sequence[Bar], *, theme: Theme) -> go.Figure:
    """A bar per model: the embedding matrix, and the output matrix if untied."""
    series = [
        Series(
            name,
            [100 * part / bar.total for part, bar in zip(parts, rows, strict=True)],
            color,
            hatch,
            words=[
                f"{label(bar.name)}: {percent(part / bar.total)}, {in_words(part)} of {in_words(bar.total)}"
                for part, bar in zip(parts, rows, strict=True)
            ],
            width=0.72,
            extra=name,
        )
        for name, parts, color, hatch in (
            ("embedding matrix", [bar.embeddings for bar in rows], theme.primary, ""),
            ("untied output matrix", [bar.output for bar in rows], theme.secondary, "/"),
        )
    ]
    ends = [100 * (bar.embeddings + bar.output) / bar.total for bar in rows]
    return bars(
        [label(bar.name) for bar in rows],
        series,
        theme,
        size=SMALL,
        end=1.2 * max(ends, default=1.0),
        more=[totals(ends, [label(percent(end / 100)) for end in ends])],
        xaxis=title("share of all parameters, %"),
        height=90 + 24 * len(rows),
        barmode="stack",
    )


def token_bars(cuts: Sequence[TokenizedText], color: str, *, theme: Theme) -> go.Figure:
    """Number of tokens of a clean and a noisy text with each tokenizer: the clean one plain, the noisy one hatched."""
    counts = (
        ("clean", [len(tokenized.clean) for tokenized in cuts], ""),
        ("noisy", [len(tokenized.noisy) for tokenized in cuts], "/"),
    )
    series = [
        Series(name, values, color, hatch, list(map(str, values)), hover=f"%{{customdata}}, {name}: %{{x}} tokens")
        for name, values, hatch in counts
    ]
    return bars(
        [label(tokenized.reader) for tokenized in cuts],
        series,
        theme,
        measure="tokens",
        height=96 + 62 * len(cuts),
        end=1.15 * max((value for tokenized in series for value in tokenized.values), default=1),
        margin={"t": 40},
        barmode="group",
        bargap=0.3,
    )
