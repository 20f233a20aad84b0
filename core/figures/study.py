"""The chart of any study: curves with their spread over seeds, points, or points and their Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from core.figures.labels import in_bytes, percent, sentence, short, whole
from core.figures.lines import Line, line_chart
from core.figures.plot import DASHES, Json
from core.lazy import go
from core.studies import Axis, Cell, Spread, Study, StudyRow, Unit, Where, front, order, select
from core.theme import Theme

_BANDED = 4
"""More lines than that have thin bars in place of bands, which would cover each other."""
_TICKS, _APART = 9, 1.4
"""Values of x that a logarithmic axis names one by one, if each is at least that many times the last; else powers of
ten."""


def written(value: float, unit: Unit) -> str:
    """A value with its unit."""
    match unit:
        case "share":
            return percent(value)
        case "points":
            return f"{100 * value:.1f}".replace("-", "−")
        case "bytes":
            return in_bytes(value)
        case "seconds":
            return f"{1000 * value:.3g} ms"
        case "nats" | "bits":
            return f"{value:.2f}".replace("-", "−")
        case "count":
            return f"{value:,.0f}" if value < 1e6 else whole(short(round(value)))
    return f"{value:.2g}".replace("-", "−")


def in_words(spread: Spread, unit: Unit) -> str:
    """A number of a verdict: of several seeds the mean and the sample standard deviation; of a difference in points the
    mean and two standard errors."""
    text = written(spread.mean, unit)
    if len(spread.values) == 1:
        return text
    around = 2 * spread.error if unit == "points" else spread.deviation
    return f"{text} ± {written(around, 'points' if unit == 'share' else unit)}"


def study_lines(study: Study, x: Axis, y: Axis, chosen: Mapping[str, Cell], theme: Theme) -> list[Line]:
    """A line for each value of the series among the chosen rows, then the baselines."""
    rows = select(study.rows, {**study.where, **chosen})
    keys = list(dict.fromkeys(row[study.series.column] for row in rows if row[y.column] != ""))
    lines = []
    for number, key in enumerate(keys):
        part = [row for row in rows if row[study.series.column] == key]
        color, dash = theme.categorical[number % len(theme.categorical)], DASHES[number % len(DASHES)]
        lines.append(_line(study, study.series.label(key), x, y, part, (color, dash), banded=len(keys) <= _BANDED))
    if study.kind == "front":
        edge = front([(float(row[x.column]), float(row[y.column])) for row in rows], y.better)
        best = [sentence("Front")] * len(edge)
        lines.append(Line(best[0], [at for at, _ in edge], [value for _, value in edge], theme.ink, "dot", words=best))
    every = [at for line in lines for at in line.positions]
    for number, baseline in enumerate(study.baselines):
        followed: Where = {column: chosen[column] for column in baseline.follows}
        part = select(study.rows, baseline.where | followed)
        values = study.curve(x.column, y.column, part)
        dash = DASHES[-1 - number % len(DASHES)]
        if len(values) > 1:
            lines.append(_line(study, baseline.name, x, y, part, (theme.ink, dash), banded=len(keys) < _BANDED))
        elif every and values:  # a baseline may lack one of several y
            (level,) = (spread.mean for spread in values.values())
            lines.append(Line(baseline.name, [min(every), max(every)], [level] * 2, theme.muted, dash))
    return lines


def _line(
    study: Study, name: str, x: Axis, y: Axis, rows: Sequence[StudyRow], look: tuple[str, str], *, banded: bool
) -> Line:
    curve = study.curve(x.column, y.column, rows)
    means = [spread.mean for spread in curve.values()]
    spread = ranges = None
    if y.low:
        bounds = [study.curve(x.column, column, rows) for column in (y.low, y.high)]
        ranges = [(bounds[0][at].ends[0], bounds[1][at].ends[1]) for at in curve]
    elif any(len(values.values) > 1 for values in curve.values()):
        if study.kind == "curves" and banded:
            spread = [values.deviation for values in curve.values()]
        else:
            ranges = [values.ends for values in curve.values()]
    words = [study.about.format(**next(row for row in rows if row[x.column] == at)) for at in curve if study.about]
    positions = [x.names.get(str(at), str(at)) for at in curve] if x.names else list(curve)
    return Line(name, positions, means, *look, spread=spread, ranges=ranges, words=words or None)


def study_chart(study: Study, lines: Sequence[Line], x: Axis, y: Axis, *, theme: Theme) -> go.Figure:
    """The lines over the axes of a study."""
    made = line_chart(
        lines,
        y.title,
        across=x.title,
        hover=("%{customdata}: " if study.about else "%{x}: ") + ("%{y:.1%}" if y.unit == "share" else "%{y:.4g}"),
        xaxis=_axis(x, sorted({at for line in lines for at in line.positions}, key=order)),
        yaxis={"tickformat": ".0%"} if y.unit == "share" else {"type": "log", "dtick": 1} if y.log else {},
        height=420,
        theme=theme,
    )
    if study.kind != "curves":
        drawn = {sentence("Front"), *(baseline.name for baseline in study.baselines)}
        made.for_each_trace(lambda trace: trace.update(mode="lines" if trace.name in drawn else "markers"))
    return made


def _axis(axis: Axis, positions: Sequence[Cell]) -> Json:
    if any(isinstance(at, str) for at in positions):
        return {"type": "category"}
    kind: Json = {"type": "log"} if axis.log else {}
    apart = all(_APART * float(low) <= float(high) for low, high in pairwise(positions))
    if axis.log and apart and len(positions) <= _TICKS:
        return kind | {"tickvals": list(positions), "ticktext": [written(float(at), axis.unit) for at in positions]}
    suffix = {"tickformat": "~s", "ticksuffix": "B"} if axis.unit == "bytes" else {}
    return kind | ({"dtick": 1} if axis.log else {}) | suffix


def study_alt(lines: Sequence[Line], x: Axis, y: Axis) -> str:
    """The chart in a sentence: the last value of each line."""
    last = (f"{line.name} {written(float(line.values[-1]), y.unit)}" for line in lines if line.values[-1] is not None)
    return sentence("Study", measure=y.title, across=x.title, values="; ".join(last))
