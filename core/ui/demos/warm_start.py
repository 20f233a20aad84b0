"""Learning curves of a model that started from another one, whole or in part, and of one from random weights."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.checkpoints.listing import Point, read_curve
from core.figures.curves import Line, curves_alt, learning_curves
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
        lines = [_line(view, name, points, measure) for name, points in curves.items()]
        if measure == "connective":
            lines.append(_line(view, "often", curves["kept"], BASELINE))
        title, _, unit = view.words.part(f"Picture: start-{measure}").partition("\n\n")
        rows = [
            {"start": line.name, "tokens": tokens, measure: value}
            for line in lines
            for tokens, value in zip(line.tokens, line.values, strict=True)
        ]
        with column:
            figure = learning_curves(lines, unit, log=False, theme=theme())
            if measure == "loss":  # it falls to a hundredth
                figure.update_yaxes(type="log", dtick=1, autorange=True, range=None)
            view.picture(f"start-{measure}", figure, rows, alt=curves_alt(lines, title))
    ends = {
        f"{name}_{measure}": f"{_last(points, measure):.3g}" for name, points in curves.items() for measure in MEASURES
    }
    view.try_and_notice("start", **ends, often=f"{_last(curves['kept'], BASELINE):.3g}")


def _line(view: DemoView, name: str, points: list[Point], measure: str) -> Line:
    own = [point for point in points if point.measure == measure]
    look, branch = theme(), view.spec.branch
    color = {"whole": look.accent(branch), "random": look.ink, "kept": look.secondary, "often": look.muted}[name]
    return Line(view.words.label(name), branch, tuple(p.tokens for p in own), tuple(p.value for p in own), color)


def _last(points: list[Point], measure: str) -> float:
    return next(point.value for point in reversed(points) if point.measure == measure)
