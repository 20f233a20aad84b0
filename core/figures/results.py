"""Published results as charts: dots against a reference, a measure against size, two versions side by side.

Every picture is of one measure. Labels stand above their rows and figures right of them, so that the same picture
serves 400 and 1,440 pixels. Differences are ``value - reference``, with the decimals that the figures are printed with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from core.figures.labels import label as escaped
from core.figures.labels import sentence, short, whole
from core.figures.plot import DASHES, SYMBOLS, Json, Trace, cut, figure, note, scatter
from core.lazy import go
from core.theme import Theme

ROW = 44
"""Height of a row in pixels."""
_LONGEST = 46
_LINE = 50
"""Characters of an axis in words that fit 400 pixels."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One row of a dot picture."""

    label: str
    value: float
    printed: str
    color: str
    reference: bool = False
    hollow: bool = False
    others: tuple[float, ...] = ()
    """Further values of the same row, drawn as small rings."""
    before: float | None = None
    """The value in another version, drawn as a square and joined by a line."""
    before_printed: str = ""


@dataclass(frozen=True, slots=True)
class SizedFigure:
    """One figure against size."""

    series: str
    text: str
    parameters: int
    value: float
    printed: str


def decimals(*printed: str) -> int:
    """The largest number of decimals among the figures as printed."""
    return max((len(text.partition(".")[2]) for text in printed), default=0)


def difference(dot: Dot, reference: Dot) -> str:
    """``value - reference`` with its sign and the decimals of the figures, e.g. ``+1.4``."""
    digits = decimals(dot.printed, reference.printed)
    return signed(dot.value - reference.value, digits)


def signed(value: float, digits: int) -> str:
    """A difference with its sign: ``+1.4``, ``−0.2``, and ``±0.0`` where nothing is left after rounding."""
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return f"±{text}"
    return f"{'+' if value > 0 else '−'}{text}"


def dots(rows: Sequence[Dot], axis: str, *, theme: Theme) -> go.Figure:
    """A dot per row, from top to bottom, each with a mark at the reference, if any.

    :param axis: what the axis measures, with its unit and which way is better.
    """
    base = next((row for row in rows if row.reference), None)
    traces: list[Trace] = []
    for at, row in enumerate(rows):
        start = row.before if row.before is not None else (base.value if base and not row.reference else None)
        if start is not None:
            line = {"color": theme.ink if row.before is not None else theme.muted, "width": 1.6}
            traces.append(scatter([start, row.value], [at, at], "lines", line=line, hoverinfo="skip"))
        if row.before is not None:
            marker: Json = {"symbol": "square-open", "size": 12, "color": theme.ink, "line": {"width": 2}}
            traces.append(_marks([row.before], at, marker))
        if row.others:
            marker = {"symbol": "circle-open", "size": 8, "color": row.color, "line": {"width": 1.5}, "opacity": 0.75}
            traces.append(_marks(row.others, at, marker))
        traces.append(_main(row, at, _right(row, base)))
    rights = [_right(row, base) for row in rows]
    layout = _frame(axis, ROW * len(rows) + 74)
    layout["margin"] |= {"r": 14 + round(7.6 * max(map(len, rights)))}
    layout["annotations"] += [text for at, row in enumerate(rows) for text in _texts(row, at, rights[at])]
    if base:
        # a stroke in each row, not one line through all of them: it would run through the figures at the right
        stroke = {"type": "line", "x0": base.value, "x1": base.value, "layer": "below"}
        line = {"color": theme.muted, "width": 2}
        layout["shapes"] = [stroke | {"y0": at - 0.2, "y1": at + 0.2, "line": line} for at in range(len(rows))]
    return figure(
        theme,
        traces,
        xaxis={"range": _range(rows), "showgrid": True},
        yaxis={"range": [len(rows) - 0.45, -0.75], "visible": False},
        showlegend=False,
        **layout,
    )


def scaling(points: Sequence[SizedFigure], axis: str, colors: Mapping[str, str], *, theme: Theme) -> go.Figure:
    """A measure against parameters on a logarithmic axis, one line a series.

    :param colors: the color of each series; marker and dash tell them apart as well.
    """
    traces: list[Trace] = []
    series = list(dict.fromkeys(point.series for point in points))
    for number, name in enumerate(series):
        line = sorted((p for p in points if p.series == name), key=lambda p: (p.parameters, p.value))
        color = colors.get(name, theme.muted)
        traces.append(
            scatter(
                [p.parameters for p in line],
                [p.value for p in line],
                "lines+markers+text",
                name=escaped(name),
                text=[escaped(p.text) for p in line],
                textposition=[_text_position(p, points) for p in line],
                line={"color": color, "width": 2, "dash": DASHES[number % len(DASHES)]},
                marker={"color": color, "size": 11, "symbol": SYMBOLS[number % len(SYMBOLS)]},
                customdata=[[p.printed, short(p.parameters)] for p in line],
                hovertemplate="%{fullData.name} %{text}<br>%{customdata[1]} parameters: %{customdata[0]}"
                "<extra></extra>",
            )
        )
    values = [point.value for point in points]
    room = 0.16 * (max(values) - min(values) or 1.0)
    span, several = _decades(points), len(series) > 1
    layout = _frame(axis, 400)
    layout["margin"] |= {"t": layout["margin"]["t"] + (26 if several else 2)}
    layout["annotations"][0]["yshift"] += 26 if several else 2
    if any(_text_position(p, points).endswith("right") for p in points):  # do not clip a name at the edge
        layout["margin"] |= {"r": 40}
    return figure(
        theme,
        traces,
        xaxis={
            "type": "log",
            "range": span,
            "title": {"text": "parameters (log scale)"},
            "showgrid": True,
            **_ticks(span),
        },
        yaxis={"range": [min(values) - room, max(values) + room]},
        showlegend=several,
        legend={"y": 1.02},
        **layout,
    )


def dots_alt(rows: Sequence[Dot], measure: str) -> str:
    """The rows in words, for screen readers."""
    base = next((row for row in rows if row.reference), None)
    parts = [f"{row.label} {_right(row, base)}" for row in rows]
    headline = sentence("Results: difference", measure=measure, reference=base.label) if base else measure
    return f"{headline}: {'; '.join(parts)}."


def scaling_alt(points: Sequence[SizedFigure], measure: str) -> str:
    """The points in words, for screen readers."""
    parts = [f"{p.series} {p.text}, {short(p.parameters)} parameters, {p.printed}" for p in points]
    return sentence("Results: scale", measure=measure, points="; ".join(parts))


def _right(row: Dot, base: Dot | None) -> str:
    """The text at the right edge: the figure, and its difference from the reference or the previous version."""
    if row.before is not None:
        digits = decimals(row.printed, row.before_printed)
        return f"{row.before_printed} → {row.printed} ({signed(row.value - row.before, digits)})"
    if base is None or row.reference:
        return row.printed
    return f"{row.printed} ({difference(row, base)})"


def _main(row: Dot, at: int, right: str) -> Trace:
    marker: Json = {"symbol": "circle", "size": 13, "color": row.color}
    if row.hollow:
        marker |= {"symbol": "circle-open", "line": {"width": 2.5}}
    if row.reference:
        marker |= {"symbol": "circle-dot" if not row.hollow else "circle-open-dot", "size": 16, "line": {"width": 2}}
    text = f"{escaped(row.label)}<br>{right}"
    return _marks([row.value], at, marker) | {
        "hovertemplate": "%{text}<extra></extra>",
        "text": [text],
        "hoverinfo": "all",
    }


def _marks(values: Sequence[float], at: int, marker: Json) -> Trace:
    return scatter(list(values), [at] * len(values), "markers", marker=marker, hoverinfo="x")


def _texts(row: Dot, at: int, right: str) -> list[Json]:
    """The label above the row, its figure right of it."""
    anchor: Json = {"xref": "paper", "xanchor": "left"}
    return [
        note(escaped(cut(row.label, _LONGEST)), 0, at, yshift=18, **anchor),
        note(f"<b>{escaped(right)}</b>", 1, at, xshift=8, **anchor),
    ]


def _range(rows: Sequence[Dot]) -> list[float]:
    values = [v for row in rows for v in (row.value, *row.others, *([row.before] if row.before is not None else []))]
    room = 0.06 * (max(values) - min(values)) or 0.5
    return [min(values) - room, max(values) + room]


def _decades(points: Sequence[SizedFigure]) -> list[float]:
    low, high = (log10(edge(p.parameters for p in points)) for edge in (min, max))
    room = max(0.12 * (high - low), 0.15)
    return [low - room, high + room]


def _text_position(point: SizedFigure, points: Sequence[SizedFigure]) -> str:
    """The text position that keeps a point's name off its own line and away from a nearby series."""
    line = sorted((p for p in points if p.series == point.series), key=lambda p: (p.parameters, p.value))
    rising = line[-1].value >= line[0].value
    near = [p for p in points if p.series != point.series and 0.7 < p.parameters / point.parameters < 1.4]
    above = all(point.value >= p.value for p in near)
    return f"{'top' if above else 'bottom'} {'left' if rising == above else 'right'}"


def _ticks(span: Sequence[float]) -> dict[str, Any]:
    """Ticks at 1, 3, 10, ... (closer ones on a short axis), with the letters of the numbers elsewhere (B, not G)."""
    factors = (1, 2, 5) if span[1] - span[0] < 1.5 else (1, 3)
    every = [factor * 10**power for power in range(3, 14) for factor in factors]
    at = [value for value in every if 10 ** span[0] <= value <= 10 ** span[1]]
    return {"tickvals": at, "ticktext": [whole(short(value)) for value in at]}


def _frame(axis: str, height: int) -> Json:
    """Layout with the axis in words above the picture; on two lines where it would not fit 400 pixels."""
    words = axis if len(axis) <= _LINE else ", <br>".join(axis.rsplit(", ", 1))
    lines = 1 + words.count("<br>")
    text = escaped(words).replace("&lt;br&gt;", "<br>")
    anchor = {"xref": "paper", "xanchor": "left", "yref": "paper", "yanchor": "bottom", "yshift": 6, "align": "left"}
    return {
        "height": height + 17 * (lines - 1),
        "margin": {"l": 4, "r": 8, "t": 10 + 18 * lines, "b": 44},
        "annotations": [note(text, 0, 1, **anchor)],
    }
