"""Learning curves of a model that started from another one, whole or in part, and of one from random weights."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.checkpoints.listing import CurvePoint, read_curve
from core.figures.labels import sentence
from core.figures.lines import Line, line_chart
from core.figures.plot import ABOVE, DASHES
from core.settings import ASSETS
from core.ui.demos.demo import DemoView
from core.ui.page import theme

MEASURED = ASSETS / "measured"
MEASURES = ("loss", "connective")
BASELINE = "connective, the most frequent one always"


def warm_start(view: DemoView) -> None:
    """Draw the curves of each measure over the same steps, where all runs are stored."""
    runs = {name: MEASURED / f"{view.spec.slug}-{name}" for name in ("whole", "random")}
    runs["kept"] = Path(view.spec.location)
    curves = {
        name: [point for point in read_curve(folder) if point.split == "held-out"] for name, folder in runs.items()
    }
    if not all(curves.values()):
        return
    st.subheader(view.words.label("start"), anchor=False)
    for column, measure in zip(st.columns(2, gap="medium"), MEASURES, strict=True):
        lines = [_line(view, name, points, measure, number) for number, (name, points) in enumerate(curves.items())]
        if measure == "connective":
            lines.append(_line(view, "often", curves["kept"], BASELINE, len(lines)))
        title, _, unit = view.words.part(f"Picture: start-{measure}").partition("\n\n")
        rows = [
            {"start": line.name, "tokens": tokens, measure: value}
            for line in lines
            for tokens, value in zip(line.positions, line.values, strict=True)
        ]
        with column:
            figure = line_chart(
                lines,
                unit,
                across="training tokens",
                hover="%{x:.3s} tokens: %{y:.4g}",
                most_markers=9,
                legend=ABOVE,
                yaxis={"type": "log", "dtick": 1} if measure == "loss" else {},  # it falls to a hundredth
                theme=theme(),
            )
            values = "; ".join(f"{line.name} {line.values[-1]:.3g}" for line in lines)
            alt = sentence("Study", measure=title, across="training tokens", values=values)
            view.picture(f"start-{measure}", figure, rows, alt=alt)
    ends = {
        f"{name}_{measure}": f"{_last(points, measure):.3g}" for name, points in curves.items() for measure in MEASURES
    }
    view.try_and_notice("start", **ends, often=f"{_last(curves['kept'], BASELINE):.3g}")


def _line(view: DemoView, name: str, points: list[CurvePoint], measure: str, number: int) -> Line:
    measured = [point for point in points if point.measure == measure]
    look, branch = theme(), view.spec.branch
    color = {"whole": look.accent(branch), "random": look.ink, "kept": look.secondary, "often": look.muted}[name]
    tokens, values = [point.tokens for point in measured], [point.value for point in measured]
    return Line(view.words.label(name), tokens, values, color, DASHES[number])


def _last(points: list[CurvePoint], measure: str) -> float:
    return next(point.value for point in reversed(points) if point.measure == measure)
