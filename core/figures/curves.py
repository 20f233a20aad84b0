"""The learning curves of several models in one picture: a measure over the tokens seen, a line for each model.

A line has its branch's color in one of three shades, and a dash and a marker that no other line has; its name stands
at its end.
Names that would overlap are moved apart, each with a thin line to its own end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from typing import TYPE_CHECKING, Any

from core.figures.labels import label
from core.figures.plot import Json, figure, title, upright
from core.theme import Theme, mixed

if TYPE_CHECKING:
    import plotly.graph_objects as go

_DASHES = ("solid", "7px,3px", "2px,3px", "8px,3px,2px,3px", "14px,3px", "14px,3px,2px,3px")
"""Short gaps, so that a curve that jumps keeps its shape."""
_MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star", "triangle-down")
_SHADES = (0.0, 0.4, 0.7)
"""How far the lines of one branch are mixed with the ink, in turn: more contrast with the page, never less."""
_GAP = 17
"""Pixels from one name to the next."""
_TOP, _BOTTOM, _RIGHT = 12, 44, 128
_LONGEST = 18
"""Characters of a name at its line's end; the whole name is on hover and in the table."""


@dataclass(frozen=True, slots=True)
class Line:
    """One model's curve. ``tokens`` rise, ``values`` are as many; both have at least one entry."""

    name: str
    branch: str
    tokens: tuple[int, ...]
    values: tuple[float, ...]


def value_at(line: Line, tokens: int) -> float | None:
    """What ``line`` says at so many tokens, on the straight line between its neighbours; None outside its range."""
    place = bisect_left(line.tokens, tokens)
    if place == len(line.tokens):
        return None
    if line.tokens[place] == tokens:
        return line.values[place]
    if place == 0:
        return None
    before, after = line.tokens[place - 1], line.tokens[place]
    share = (tokens - before) / (after - before)
    return line.values[place - 1] + share * (line.values[place] - line.values[place - 1])


def learning_curves(
    lines: Sequence[Line],
    measure: str,
    *,
    log: bool = True,
    mark: int | None = None,
    theme: Theme,
) -> go.Figure:
    """``measure`` against the tokens seen.

    :param log: whether tokens are on a logarithmic scale.
    :param mark: so many tokens are marked by an upright line.
    """
    height = max(430, _GAP * len(lines) + _TOP + _BOTTOM)
    low, high = _range([value for line in lines for value in line.values])
    span, pixels = _tokens_range(lines, log), height - _TOP - _BOTTOM
    traces, before = [], dict.fromkeys((line.branch for line in lines), 0)
    for number, line in enumerate(lines):
        shade = _SHADES[before[line.branch] % len(_SHADES)]
        traces.append(_trace(line, number, mixed(theme.accent(line.branch), theme.ink, shade)))
        before[line.branch] += 1
    dotted: Json = {"color": theme.ink, "width": 1, "dash": "dot"}
    return figure(
        theme,
        traces,
        height=height,
        margin={"l": 0, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        showlegend=False,
        xaxis={
            **title("tokens seen"),
            "type": "log" if log else "linear",
            "range": span,
            "showgrid": True,
            "dtick": 1 if log else None,
            "tickformat": "~s" if log else None,
            "exponentformat": "SI",
        },
        yaxis={**title(label(measure)), "range": [low, high]},
        annotations=_names(lines, (low, high), span[1], pixels, theme, log),
        shapes=[] if mark is None else [upright(mark, **dotted) | {"opacity": 0.7, "layer": "below"}],
    )


def curves_alt(lines: Sequence[Line], measure: str) -> str:
    """The picture in a few sentences, for screen readers."""
    said = "; ".join(
        f"{line.name} from {line.values[0]:.3g} to {line.values[-1]:.3g} "
        f"after {line.tokens[-1] / 1e6:.3g} million tokens"
        for line in lines
    )
    return f"{measure} over the tokens seen. {said}."


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near to ``wanted`` as they can be with ``gap`` between neighbours, inside ``low`` and ``high``.

    In the order of ``wanted``. Where there is not room for all, the gap shrinks.
    """
    if not wanted:
        return []
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Groups of names that touch: each stands around the mean of what its members want.
    groups: list[list[int]] = []
    for i in order:
        groups.append([i])
        while len(groups) > 1 and _first(groups[-1], wanted, gap, low, high) < gap + (
            _first(groups[-2], wanted, gap, low, high) + gap * (len(groups[-2]) - 1)
        ):
            last = groups.pop()
            groups[-1] += last
    places = [0.0] * len(wanted)
    for group in groups:
        start = _first(group, wanted, gap, low, high)
        for number, i in enumerate(group):
            places[i] = start + gap * number
    return places


def _first(group: Sequence[int], wanted: Sequence[float], gap: float, low: float, high: float) -> float:
    """Where the first name of a group stands."""
    middle = sum(wanted[i] for i in group) / len(group)
    length = gap * (len(group) - 1)
    return min(max(middle - length / 2, low), high - length)


def short_name(name: str) -> str:
    """``name``, cut after a word where it is long."""
    if len(name) <= _LONGEST:
        return name
    words = name[:_LONGEST].rpartition(" ")[0]
    return f"{words if len(words) > _LONGEST // 2 else name[: _LONGEST - 1]}…"


def _trace(line: Line, number: int, color: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": list(line.tokens),
        "y": list(line.values),
        "name": label(line.name),
        "mode": "lines+markers",
        "line": {"color": color, "width": 2, "dash": _DASHES[number % len(_DASHES)]},
        "marker": {"symbol": _MARKERS[number % len(_MARKERS)], "size": 8, "color": color, "maxdisplayed": 9},
        "hovertemplate": "%{x:.3s} tokens: %{y:.4g}<extra>" + label(line.name) + "</extra>",
    }


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
    lines: Sequence[Line], span: tuple[float, float], edge: float, pixels: float, theme: Theme, log: bool
) -> list[dict[str, Any]]:
    """Each line's name: at the picture's right edge where the line ends near it, else beside the line's end.

    Names of one column are moved apart, and a thin line leads from each to the end that it names.
    """
    last = max(line.tokens[-1] for line in lines)
    low, high = span
    wanted = [pixels * (high - line.values[-1]) / (high - low) for line in lines]
    column = [_column(line.tokens[-1], last, log) for line in lines]
    places = dict.fromkeys(range(len(lines)), 0.0)
    for one in set(column):
        members = [i for i in range(len(lines)) if column[i] == one]
        moved = spread([wanted[i] for i in members], _GAP, 0, pixels)
        places.update(zip(members, moved, strict=True))
    return [
        {
            "x": log10(line.tokens[-1]) if log else line.tokens[-1],
            "y": line.values[-1],
            "axref": "pixel" if column[i] else "x",
            "ax": 14 if column[i] else edge,
            "ay": places[i] - wanted[i],
            "xanchor": "left",
            "yanchor": "middle",
            "text": label(short_name(line.name)),
            "font": {"size": 12, "color": theme.ink},
            "showarrow": True,
            "arrowhead": 0,
            "arrowwidth": 0.8,
            "arrowcolor": theme.ink,
            "standoff": 5,
            "borderpad": 1,
            "bgcolor": theme.ground,
            "opacity": 0.9,
        }
        for i, line in enumerate(lines)
    ]


def _column(tokens: int, last: int, log: bool) -> int:
    """0 for a line that ends near the picture's edge, else a number of the neighbourhood in which it ends."""
    share = log10(last / max(1, tokens)) / 2 if log else 1 - tokens / last
    return int(share / 0.2)
