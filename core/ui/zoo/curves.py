"""The learning curves of all live models, compared at equal numbers of training tokens.

The last values of two runs differ by their training data as well as by the architecture. At
the same number of tokens only the second remains, except for the learning rate: it decays towards each run's end, so a
model in the middle of its run is slightly worse than a shorter run would be.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core import checkpoints
from core.checkpoints.listing import Curve, curves, lower_is_better
from core.figures.curves import Line, curves_alt, learning_curves, value_at
from core.table import Table
from core.ui.glossary import info
from core.ui.links import PageState
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, Real, Words
from core.ui.section import Section, View
from core.ui.tables import Row, TextTable, text_table

HELD_OUT = "held-out"
_STEP = 0.1
_OPENING = 3
_MILLION = 1e6
MEASURE = Choice(name="measure", label="Measure", options={}, width=260, resets=("models", "at"))
SCALE = Choice(name="scale", label="Token axis", options={"log": "Logarithmic", "linear": "Linear"}, style="row")
MODELS = Words(
    name="models",
    label="Models with this measure",
    options={},
    most=100,
    style="menu",
    may_be_empty=True,
    resets=("at",),
)
AT = Real(
    name="at",
    label="Compare after (million tokens)",
    default=1.0,
    low=0.1,
    high=100.0,
    step=_STEP,
    format="%.1f",
    width=420,
)


def learning(view: View) -> None:
    state, curves_by_slug = view.state, curves()
    if not curves_by_slug:
        info(view.words.part("No curve"))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = MEASURE.with_(options={measure: measure for measure in measures(curves_by_slug)}).draw(state)
        log = SCALE.draw(state) == "log"
        lines = _chosen(lines_of(curves_by_slug, name), name, state)
    if not lines:
        info(view.words.part("None chosen"))
        return
    # Losses count tokens of different vocabularies: in a row they would say what the sentence below them denies.
    tokens = _tokens(lines, state) if len(lines) > 1 and "loss" not in name else None
    better = "lower is better" if lower_is_better(name) else "higher is better"
    points = tuple((line.name, at, value) for line in lines for at, value in zip(line.tokens, line.values, strict=True))
    Panel(
        "learning-curves",
        name,
        learning_curves(lines, name, log=log, theme=theme(), mark=tokens),
        curves_alt(lines, name),
        Table(("model", "tokens", name), points),
        note=view.words.part("Note", measure=name, better=better),
    ).draw(state)
    _values(view, lines, name, tokens)
    view.try_and_notice("loss" if "loss" in name else "bytes" if "bits per byte" in name else "")


def measures(learning_curves: Sequence[Curve]) -> list[str]:
    """Texts and measure of each learning curve, e.g. ``held-out top-1``, the most frequent first."""
    counts: dict[str, int] = {}
    for curve in learning_curves:
        for name in dict.fromkeys(f"{point.split} {point.measure}" for point in curve.points):
            counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: (-counts[name], not name.startswith(HELD_OUT), name))


def lines_of(learning_curves: Sequence[Curve], name: str) -> dict[str, Line]:
    """The curves of one measure by slug, in the order of the models."""
    lines: dict[str, Line] = {}
    for curve in learning_curves:
        points = sorted((p for p in curve.points if f"{p.split} {p.measure}" == name), key=lambda p: p.tokens)
        if points:
            spec = curve.spec
            tokens, values = tuple(p.tokens for p in points), tuple(p.value for p in points)
            lines[spec.slug] = Line(spec.name, spec.branch, tokens, values)
    return lines


def _chosen(lines: dict[str, Line], name: str, state: PageState) -> list[Line]:
    """The models to draw: by default three of those that have the measure."""
    usual = [slug for slug in (*checkpoints.first("curves"), *lines) if slug in lines]
    default = tuple(dict.fromkeys(usual))[:_OPENING]
    param = MODELS.with_(options={slug: line.name for slug, line in lines.items()}, default=default)
    count = len(param.value(state))
    with st.popover(f"Models: {count} of {len(lines)}" if count < len(lines) else f"Models: all {count}"):
        return [lines[slug] for slug in param.draw(state, tag=name)]


def _tokens(lines: Sequence[Line], state: PageState) -> int:
    """Draw the slider of the number of tokens to compare at; by default the shortest run's."""
    low = round(max(_STEP, _floor(min(line.tokens[0] for line in lines)) + _STEP), 1)
    high = round(max(low + _STEP, _floor(max(line.tokens[-1] for line in lines))), 1)
    usual = round(min(max(low, _floor(min(line.tokens[-1] for line in lines))), high), 1)
    shown = "-".join(sorted(line.name for line in lines))
    return round(AT.with_(low=low, high=high, default=usual).draw(state, tag=shown) * _MILLION)


def _values(view: View, lines: Sequence[Line], name: str, tokens: int | None) -> None:
    """Each curve's first, best and last value, sorted by the value after ``tokens``, if given.

    Models without a value at that point come last.
    """
    reached = {line: None if tokens is None else value_at(line, tokens) for line in lines}
    worst = float("inf") if lower_is_better(name) else float("-inf")
    order = sorted(
        lines,
        key=lambda line: worst if (value := reached[line]) is None else value,
        reverse=not lower_is_better(name),
    )
    best = min if lower_is_better(name) else max
    rows: list[Row] = []
    for line in order if tokens is not None else lines:
        value = reached[line]
        if value is not None:
            then = f"{value:.4g}"
        else:
            then = "training ended" if tokens is not None and line.tokens[-1] < tokens else "not yet measured"
        ends = (line.values[0], best(line.values), line.values[-1])
        middle = () if tokens is None else (then,)
        rows.append((line.name, *middle, *(f"{end:.4g}" for end in ends), f"{line.tokens[-1] / _MILLION:,.2f} M"))
    after = () if tokens is None else (f"After {tokens / _MILLION:.1f} M tokens",)
    headings = ("Model", *after, "First", "Best", "Last", "Training tokens")
    widths = (30, 18, 12, 12, 12, 16) if after else (36, 16, 16, 16, 16)
    text_table(TextTable(headings, rows, name, widths=widths, numeric=tuple(range(1, len(headings)))))
    if tokens is not None:
        view.note("After")


def _floor(tokens: int) -> float:
    return int(tokens / _MILLION / _STEP) * _STEP


CURVES = Section("curves", learning, (MEASURE, SCALE, MODELS, AT))
