"""Line charts over layers, lengths and sizes; lines differ by dash and marker as well as by color."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.checkpoints.listing import CurvePoint
from core.figures.labels import label, sentence
from core.figures.plot import BELOW, DASHES, SYMBOLS, Json, Trace, figure, scatter, ticks, title, upright
from core.lazy import go
from core.theme import Theme


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``values`` may have gaps."""

    name: str
    positions: Sequence[Any]
    values: Sequence[float | None]
    color: str
    dash: str = "solid"
    spread: Sequence[float] | None = None
    """Half the height of a band around the line."""
    ranges: Sequence[tuple[float, float]] | None = None
    """Least and largest of what each value is the median of, as thin bars."""
    words: Sequence[str] | None = None
    """Each point's hover text; in a ``hover`` template it is ``%{customdata}``."""


def line_chart(
    lines: Sequence[Line],
    measure: str,
    names: Sequence[str] | None = None,
    *,
    across: str = "layer",
    hover: str = "%{y:.3f}",
    markers: bool = True,
    most_markers: int = 0,
    width: float = 2,
    at: float | None = None,
    xaxis: Json | None = None,
    yaxis: Json | None = None,
    theme: Theme,
    **layout: object,
) -> go.Figure:
    """Lines over positions.

    :param names: of the positions 0, 1, ...; without them, axis ticks are numbers.
    :param across: title of the x-axis.
    :param most_markers: of a line; 0 for all.
    :param at: a position that a vertical line marks.
    """
    traces: list[Trace] = []
    for number, line in enumerate(lines):
        if line.spread is not None:
            traces.append(_band(line, line.spread))
        traces.append(
            scatter(
                list(line.positions),
                list(line.values),
                "lines+markers" if markers else "lines",
                name=label(line.name),
                connectgaps=False,
                line={"color": line.color, "width": width, "dash": line.dash},
                marker={
                    "symbol": SYMBOLS[number % len(SYMBOLS)],
                    "size": 8,
                    "color": line.color,
                    "maxdisplayed": most_markers,
                },
                customdata=line.words,
                hovertemplate=f"{hover}<extra>{label(line.name) if len(lines) > 1 else ''}</extra>",
                **_error_bars(line),
            )
        )
    shown: Json = {
        "height": 380,
        "hovermode": "closest",
        "legend": BELOW,
        "showlegend": len(lines) > 1,
        "xaxis": {
            "showgrid": True,
            **title(across, 12),
            **(ticks(names) if names is not None else {}),
            **(xaxis or {}),
        },
        "yaxis": {**title(measure), **(yaxis or {})},
    }
    mark = {} if at is None else {"shapes": [upright(at, color=theme.ink, width=1, dash="dot")]}
    return figure(theme, traces, **shown | mark | layout)


def line_alt(lines: Sequence[Line], measure: str, names: Sequence[str], across: str = "layer") -> str:
    """The picture in a few sentences, for screen readers; arguments as those of :func:`line_chart`."""
    ends = []
    for line in lines:
        points = [
            (names[int(position)] if names else f"{position:g}", value)
            for position, value in zip(line.positions, line.values, strict=True)
            if value is not None
        ]
        if points:
            ends.append(
                f"{line.name} from {points[0][1]:.2f} ({points[0][0]}) to {points[-1][1]:.2f} ({points[-1][0]})"
            )
    return sentence("Lines", measure=measure, across=across, lines="; ".join(ends))


def learning_curve(points: Sequence[CurvePoint], measure: str, accent: str, *, theme: Theme) -> go.Figure:
    """One model's ``measure`` against millions of tokens, a line for each set of texts."""
    splits = list(dict.fromkeys(point.split for point in points if point.measure == measure))
    lines = []
    for number, split in enumerate(splits):
        split_points = [point for point in points if point.measure == measure and point.split == split]
        color, dash = theme.muted if number else accent, DASHES[number % len(DASHES)]
        lines.append(Line(split, [p.tokens / 1e6 for p in split_points], [p.value for p in split_points], color, dash))
    return line_chart(
        lines,
        measure,
        across="training tokens (millions)",
        hover="%{x:.2f} M tokens: %{y:.4g}",
        markers=all(len(line.positions) <= 60 for line in lines),
        height=260,
        legend={"y": 1.1},
        xaxis={"showgrid": False},
        theme=theme,
    )


def _error_bars(line: Line) -> Trace:
    if line.ranges is None:
        return {}
    pairs = [(value or 0.0, low, high) for value, (low, high) in zip(line.values, line.ranges, strict=True)]
    return {
        "error_y": {
            "type": "data",
            "symmetric": False,
            "thickness": 1,
            "width": 3,
            "color": line.color,
            "array": [high - value for value, _, high in pairs],
            "arrayminus": [value - low for value, low, _ in pairs],
        }
    }


def _band(line: Line, spread: Sequence[float]) -> Trace:
    """A pale band of one spread below and above the line."""
    both = [(value or 0.0, around) for value, around in zip(line.values, spread, strict=True)]
    return scatter(
        [*line.positions, *reversed(list(line.positions))],
        [*(value + around for value, around in both), *(value - around for value, around in reversed(both))],
        "lines",
        fill="toself",
        fillcolor=line.color,
        opacity=0.18,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )
