"""The learning curves of all live models that have one, in one picture."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.checkpoints.listing import Curve, curves, falls
from core.figures.curves import Line, curves_alt, learning_curves
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.links import PageState
from core.ui.notices import informed, warned
from core.ui.page import plain, theme
from core.ui.text_table import Row, TextTable, text_table
from core.ui.zoo.frame import ZooView
from core.ui.zoo.same_tokens import same_tokens, tokens_slider

HELD_OUT = "held-out"


def curves_picture(view: ZooView) -> None:
    """Draw controls, picture and table; reads and writes measure, scale, models and the tokens to compare at."""
    found = curves()
    if not found:
        informed("No model that runs here has a learning curve: the models trained with this project bring one.")
        return
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = _measure(found, state)
        log = _scale(state)
        lines = _chosen(found, name, state)
    if not lines:
        informed("No model is chosen. Choose one or more under “Models”.")
        return
    better = "lower is better" if falls(name) else "higher is better"
    # Losses count tokens of different vocabularies: in a row they would say what the sentence below them denies.
    tokens = tokens_slider(lines, state) if len(lines) > 1 and "loss" not in name else None
    picture, as_table = st.tabs(["Picture", "As a table"])
    with picture:
        chart(
            learning_curves(lines, name, log=log, theme=theme(), mark=tokens),
            key=state.key("curves.chart"),
            alt=curves_alt(lines, name),
        )
    with as_table:
        _table(lines, name)
    st.caption(plain(f"{name}: {better}. Colour: the model's branch, in three shades. Dash and marker: the model."))
    if tokens is not None:
        same_tokens(lines, name, tokens)
    st.markdown(_notice(name))


def measures(found: Sequence[Curve]) -> list[str]:
    """Texts and measure of everything that was measured, e.g. ``held-out top-1``; what most models have comes first."""
    counts: dict[str, int] = {}
    for curve in found:
        for name in dict.fromkeys(f"{point.split} {point.measure}" for point in curve.points):
            counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: (-counts[name], not name.startswith(HELD_OUT), name))


def lines_of(found: Sequence[Curve], name: str) -> dict[str, Line]:
    """The curves of one measure by slug, in the order of the models."""
    lines: dict[str, Line] = {}
    for curve in found:
        points = sorted((p for p in curve.points if f"{p.split} {p.measure}" == name), key=lambda p: p.tokens)
        if points:
            spec = curve.spec
            tokens, values = tuple(p.tokens for p in points), tuple(p.value for p in points)
            lines[spec.slug] = Line(spec.name, spec.branch, tokens, values)
    return lines


def _measure(found: Sequence[Curve], state: PageState) -> str:
    options = measures(found)
    current = state.text("measure", options[0])
    if current not in options:
        warned(
            f"No model has a curve of “{current[:40]}”. The measure that most models have is shown.",
            icon=":material/link_off:",
        )
        current = options[0]
    chosen = st.selectbox("Measure", options, index=options.index(current), key=state.key("measure"), width=260)
    state.set(measure=None if chosen == options[0] else chosen)
    return chosen


def _scale(state: PageState) -> bool:
    chosen = st.segmented_control(
        "Tokens",
        ["log", "linear"],
        default=state.text("scale", "log"),
        required=True,
        key=state.key("scale"),
        format_func=lambda scale: "by powers of ten" if scale == "log" else "evenly",
    )
    state.set(scale=chosen)
    return chosen == "log"


def _chosen(found: Sequence[Curve], name: str, state: PageState) -> list[Line]:
    """The models to draw: all that have the measure, or those that the visitor keeps."""
    lines = lines_of(found, name)
    slot = state.key("models.of")
    # A choice belongs to one measure: another one starts with all the models that have it.
    wanted = state.words("models") if st.session_state.get(slot, name) == name else None
    st.session_state[slot] = name
    kept = [slug for slug in lines if wanted is None or slug in wanted]
    with st.popover(f"Models: {len(kept)} of {len(lines)}" if wanted is not None else f"Models: all {len(lines)}"):
        chosen = st.multiselect(
            "Models with this measure",
            list(lines),
            default=kept,
            key=state.key(f"models.{name}"),
            format_func=lambda slug: lines[slug].name,
        )
    state.set(models=None if len(chosen) == len(lines) else tuple(sorted(chosen)))
    return [line for slug, line in lines.items() if slug in chosen]


def _table(lines: Sequence[Line], name: str) -> None:

    best = min if falls(name) else max
    rows: list[Row] = [
        (
            line.name,
            f"{line.values[0]:.4g}",
            f"{best(line.values):.4g}",
            f"{line.values[-1]:.4g}",
            f"{line.tokens[-1] / 1e6:,.2f} M",
            f"{len(line.values)}",
        )
        for line in lines
    ]
    headings = ("Model", "First", "Best", "Last", "Tokens at the end", "Points")
    text_table(TextTable(headings, rows, caption=name, widths=(30, 14, 14, 14, 18, 10), numeric=(1, 2, 3, 4, 5)))
    points = [
        {"model": line.name, "tokens": tokens, name: value}
        for line in lines
        for tokens, value in zip(line.tokens, line.values, strict=True)
    ]
    data_table(
        points,
        "learning-curves",
        alt=f"Every point of the curves: {name}",
        height=260,
        column_config={"tokens": st.column_config.NumberColumn(format="localized")},
    )


def _notice(name: str) -> str:
    tries = "**Try** the even scale, where the first steps, which change most, shrink into a corner.\n\n"
    if "loss" in name:
        return tries + (
            "**Notice** the shapes, not the heights: a loss is counted per token of a model's own vocabulary, on its "
            "own texts, so two losses are comparable only where both are the same."
        )
    if "bits per byte" in name:
        tries = "**Try** fewer tokens: does the order of the models stay?\n\n"
        return tries + (
            "**Notice** that bits per byte do not depend on how a model cuts its text, so models that read the same "
            "held-out text can be compared."
        )
    return tries + (
        "**Notice** what was measured: two lines are comparable only where both models were asked for the same "
        "words of the same texts. Each model's card names them."
    )
