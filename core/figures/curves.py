"""Learning curves of several models in one figure: a measure against training tokens, a line per model.

A line has its branch's color in one of three shades, and a unique dash and marker. A few lines are
named in a legend. Of many, a line is named at its end where no other line is in the way; the others under the pointer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

import numpy as np

from core.figures.labels import label, sentence
from core.figures.lines import Line as DrawnLine
from core.figures.lines import line_chart
from core.figures.plot import ABOVE, Json, note, upright
from core.lazy import go
from core.theme import Theme, mixed

_DASHES = ("solid", "7px,3px", "2px,3px", "8px,3px,2px,3px", "14px,3px", "14px,3px,2px,3px", "5px,3px,2px,3px,2px,3px")
"""Short gaps, so that a curve that jumps keeps its shape; their number shares no factor with that of the markers."""
_SHADES = (0.0, 0.4, 0.7)
"""How far the lines of one branch are mixed with the ink, in turn: more contrast with the page, never less."""
_IN_LEGEND = 8
"""Lines up to which a legend names them."""
_HEIGHT = 430
_NAME_HEIGHT, _NAME_WIDTH = 0.05, 0.25
"""The share of the figure's height and width that a name takes."""


@dataclass(frozen=True, slots=True)
class Line:
    """One model's curve. ``tokens`` rise, ``values`` are as many; both have at least one entry."""

    name: str
    branch: str
    tokens: tuple[int, ...]
    values: tuple[float, ...]
    color: str = ""
    """Instead of its branch's shade."""


def value_at(line: Line, tokens: int) -> float | None:
    """The value of ``line`` at ``tokens``, linearly interpolated; None outside its range."""
    if not line.tokens[0] <= tokens <= line.tokens[-1]:
        return None
    return float(np.interp(tokens, line.tokens, line.values))


def learning_curves(
    lines: Sequence[Line],
    measure: str,
    *,
    log: bool = True,
    mark: int | None = None,
    theme: Theme,
) -> go.Figure:
    """``measure`` against the training tokens.

    :param log: whether tokens are on a logarithmic scale.
    :param mark: the number of tokens that a vertical line marks.
    """
    low, high = _range([value for line in lines for value in line.values])
    span, few = _tokens_range(lines, log), len(lines) <= _IN_LEGEND
    drawn, before = [], dict.fromkeys((line.branch for line in lines), 0)
    for number, line in enumerate(lines):
        shade = _SHADES[before[line.branch] % len(_SHADES)]
        color = line.color or mixed(theme.accent(line.branch), theme.ink, shade)
        drawn.append(DrawnLine(line.name, line.tokens, line.values, color, _DASHES[number % len(_DASHES)]))
        before[line.branch] += 1
    dotted: Json = {"color": theme.ink, "width": 1, "dash": "dot"}
    return line_chart(
        drawn,
        label(measure),
        across="training tokens",
        hover="%{x:.3s} tokens: %{y:.4g}",
        most_markers=9,
        height=_HEIGHT,
        margin={"l": 0, "r": 8 if few else 128, "t": 12, "b": 44},
        showlegend=few,
        legend=ABOVE,
        xaxis={
            "type": "log" if log else "linear",
            "range": span,
            "dtick": 1 if log else None,
            "tickformat": "~s" if log else None,
            "exponentformat": "SI",
        },
        yaxis={"range": [low, high]},
        annotations=[] if few else _names(lines, (low, high), span, theme, log),
        shapes=[] if mark is None else [upright(mark, **dotted) | {"opacity": 0.7, "layer": "below"}],
        theme=theme,
    )


def curves_alt(lines: Sequence[Line], measure: str) -> str:
    """The picture in a few sentences, for screen readers."""
    values = "; ".join(
        sentence(
            "Curves: one",
            name=line.name,
            first=f"{line.values[0]:.3g}",
            last=f"{line.values[-1]:.3g}",
            millions=f"{line.tokens[-1] / 1e6:.3g}",
        )
        for line in lines
    )
    return sentence("Curves", measure=measure, curves=values)


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = 0.06 * (high - low) or 0.5
    return low - pad, high + pad


def _tokens_range(lines: Sequence[Line], log: bool) -> list[float]:
    tokens = [count for line in lines for count in line.tokens]
    if log:
        return [log10(max(1, min(tokens))) - 0.05, log10(max(tokens)) + 0.02]
    return [0.0, 1.02 * max(tokens)]


def _names(
    lines: Sequence[Line], ends: tuple[float, float], span: Sequence[float], theme: Theme, log: bool
) -> list[Json]:
    """The names to the right of the lines' ends, without those that another line would cross."""

    def places(line: Line) -> list[tuple[float, float]]:
        """The line's points, as shares of the figure's width and height."""
        along = [log10(max(1, count)) if log else count for count in line.tokens]
        return [
            ((x - span[0]) / (span[1] - span[0]), (value - ends[0]) / (ends[1] - ends[0]))
            for x, value in zip(along, line.values, strict=True)
        ]

    drawn = [places(line) for line in lines]

    def free(number: int) -> bool:
        x, y = drawn[number][-1]
        others = (position for i, line in enumerate(drawn) if i != number for position in line)
        return not any(0 <= at - x <= _NAME_WIDTH and abs(other - y) < _NAME_HEIGHT for at, other in others)

    return [
        note(
            label(line.name),
            log10(line.tokens[-1]) if log else line.tokens[-1],
            line.values[-1],
            xanchor="left",
            xshift=8,
            font={"size": 12, "color": theme.ink},
        )
        for i, line in enumerate(lines)
        if free(i)
    ]
