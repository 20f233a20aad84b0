"""All models in one table, with the time of a forward pass measured on request, and their learning curves.

The table only reads; measuring loads one model after the other, under the one memory budget, and can be stopped.

The curves are compared at equal numbers of training tokens. The last values of two runs differ by their training data
as well as by the architecture. At the same number of tokens only the second remains, except for the learning rate: it
decays towards each run's end, so a model in the middle of its run is slightly worse than a shorter run would be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import catalogue, checkpoints, links, session
from core.checkpoints.listing import ORDERS, Curve, Listed, apart, curves, live, lower_is_better, ordered
from core.checkpoints.sizes import Size
from core.checkpoints.spec import CheckpointSpec, Measure
from core.content import content
from core.efficiency.timing import Timing
from core.errors import AtlasError
from core.figures.curves import Line, curves_alt, learning_curves, value_at
from core.figures.labels import short, with_unit
from core.links.parameters import Value
from core.table import Table
from core.ui.glossary import info
from core.ui.links import PageState
from core.ui.measuring import measure_button
from core.ui.page import BRANCH_TITLES, base_path, theme
from core.ui.panel import Panel
from core.ui.param import Choice, Real, Words
from core.ui.picker import SOURCES, digits, interval, nothing_runs
from core.ui.section import Section, View
from core.ui.tables import Cell, Link, Row, TextTable, text_table
from core.words import counted

BRANCH = Choice(name="branch", label="Branch", default="all", options={}, width=200)
SORT = Choice(name="by", label="Sort by", options=ORDERS, width=230)
UNMEASURED = "–"
HEADINGS = ("Model", "Architecture", "Parameters", "Weights", "Training tokens", "Quality", "Time")
WIDTHS = (14, 17, 14, 14, 11, 17, 13)
_PLANNED = "zoo-to-measure"
_FAILED = "zoo-not-measured"


@dataclass(slots=True)
class _Plan:
    """The models still to be measured, stored in the session so that it survives other clicks."""

    slugs: list[str]
    again: bool
    done: int = 0


def models_table(view: View) -> None:
    """Draw the section; measurements run after the page is drawn."""
    state, models = view.state, (*live(), *apart())
    if nothing_runs(live()):
        return
    branches = {str(model.spec.branch) for model in models}
    named = {branch: BRANCH_TITLES[branch] for branch in BRANCH_TITLES if branch in branches}
    others = {branch: branch for branch in sorted(branches - named.keys())}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        branch = BRANCH.with_(options={"all": "All branches", **named, **others}).draw(state)
        shown = [model for model in models if branch in ("all", model.spec.branch)]
        order = SORT.draw(state)
        _buttons(view, [model for model in shown if not model.apart])
    progress, table = st.empty(), st.empty()
    times = {model.spec.slug: timing for model in shown if (timing := session.timed(model.spec)) is not None}
    rows = ordered(shown, order, {slug: timing.seconds for slug, timing in times.items()})
    _draw(table, rows)
    count = f"{len(shown)} of {len(models)} models" if len(shown) < len(models) else counted(len(models), "model")
    threads = sorted({timing.threads for timing in times.values()})
    with progress:
        if times:
            of = f"{' or '.join(map(str, threads))} {'thread' if threads == [1] else 'threads'}"
            view.note("Measured", models=count, threads=of)
        else:
            view.note("Unmeasured", models=count)
    view.try_and_notice()
    with st.expander("How it is measured"):
        view.note("Columns")
        view.note("Time")
    plan: _Plan | None = st.session_state.get(_PLANNED)
    if plan is not None:
        known = {model.spec.slug for model in models}
        view.later.append(lambda: _measure(plan, known, progress, lambda: _draw(table, rows)))


def _buttons(view: View, shown: Sequence[Listed]) -> None:
    """Draw the buttons that start or stop measuring."""
    if st.session_state.get(_PLANNED) is not None:
        st.button("Stop", icon=":material/stop:", key="zoo-measure", on_click=_plan, args=(None,))
        return
    missing = [m.spec.slug for m in shown if session.timed(m.spec) is None]
    plan = _Plan(missing or [m.spec.slug for m in shown], again=not missing)
    measure_button(
        "Measure again" if plan.again else "Measure on this machine",
        "zoo-measure",
        _plan,
        (plan,),
        disabled=not shown,
        help=view.words.label("measure"),
    )


def _plan(plan: _Plan | None) -> None:
    """Start or stop measuring; a callback."""
    st.session_state[_PLANNED] = plan
    if plan is not None:
        st.session_state[_FAILED] = {}


def _measure(plan: _Plan, known: Collection[str], placeholder: DeltaGenerator, drawn: Callable[[], None]) -> None:
    """Measure the planned models after the page is complete; redraw the table after each."""
    count = len(plan.slugs) + plan.done

    def tell(share: float, doing: str) -> None:
        placeholder.progress((plan.done + share) / count, text=f"Model {plan.done + 1} of {count}. {doing}")

    while plan.slugs:
        slug = plan.slugs[0]
        tell(0.0, "Loading")
        if slug in known:
            try:
                session.timing(slug, tell, again=plan.again)
            except AtlasError as error:
                st.session_state[_FAILED][slug] = str(error)
        plan.slugs.pop(0)
        plan.done += 1
        drawn()
    st.session_state[_PLANNED] = None
    st.rerun()


def _draw(placeholder: DeltaGenerator, models: Sequence[Listed]) -> None:
    failed: Mapping[str, str] = st.session_state.get(_FAILED, {})
    rows: list[Row] = [_row(model, session.timed(model.spec), failed.get(model.spec.slug)) for model in models]
    below = [_card(model.spec) for model in models]
    with placeholder.container():
        text_table(TextTable(HEADINGS, rows, caption="Live models", widths=WIDTHS, below=below))


def _row(model: Listed, timing: Timing | None, failure: str | None) -> Row:
    spec = model.spec
    return (
        (spec.name, SOURCES.get(spec.source, spec.source)),
        _architecture(spec, "" if model.apart else spec.slug),
        _parameters(model.size),
        _weights(model.size),
        short(model.tokens) if model.tokens is not None else "not stated",
        _quality(model.quality),
        content("catalogue", "models").label("untimed") if model.apart else _time(timing, failure),
    )


def _architecture(spec: CheckpointSpec, model: str) -> Cell:
    """The system, as a link to its page with this ``model``."""
    branch = str(spec.branch)
    title = BRANCH_TITLES.get(branch, branch)
    if branch not in BRANCH_TITLES or not links.exists(branch):
        return (spec.system or "not in the Atlas", title)
    listed = {system.slug: system for system in catalogue.by_branch(spec.branch)}
    system = listed.get(spec.system or "")
    wanted: dict[str, Value] = {"system": system.slug if system else None, "model": model or None}
    href = base_path() + links.url(branch, wanted)
    return (Link(system.name if system else f"{title} page", href), title if system else "not in the Atlas")


def _parameters(size: Size | None) -> Cell:
    return "unknown" if size is None else short(size.parameters)


def _weights(size: Size | None) -> Cell:
    if size is None:
        return "unknown"
    if not size.base_bytes:
        return _bytes(size.bytes)
    return (_bytes(size.all_bytes), f"base {_bytes(size.base_bytes)} + difference {_bytes(size.bytes)}")


def _whole(number: str) -> str:
    """A number and its unit, never on two lines."""
    return number.replace(" ", "\N{NO-BREAK SPACE}")


def _bytes(count: int) -> str:
    if count < 1e6:
        return _whole(f"{count / 1e3:,.0f} kB")
    return _whole(f"{count / 1e6:,.1f} MB" if count < 1e8 else f"{count / 1e6:,.0f} MB")


def _quality(measure: Measure | None) -> Cell:
    if measure is None:
        return "not stated"
    between = (
        [f"95% interval {interval(measure)}, n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{measure.n:,}"] if measure.n else []
    )
    return (with_unit(digits(measure.value), measure.unit), measure.name, *between, measure.on)


def _time(timing: Timing | None, failure: str | None) -> Cell:
    if timing is None:
        return ("not measured", failure) if failure else UNMEASURED
    low, high = milliseconds(timing.fastest), milliseconds(timing.slowest)
    fewer = "" if timing.tokens == 32 else f", {counted(timing.tokens, 'token')}"
    return (f"{milliseconds(timing.seconds)} ms", f"{low} to {high} in {timing.runs} passes{fewer}")


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds with an honest number of digits: 0.00312 is 3.1, 0.0283 is 28."""
    value = 1000 * seconds
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _card(spec: CheckpointSpec) -> tuple[str, ...]:
    """The card's first strength and first weakness, if any, its data and their license."""
    card = spec.card
    if card is None:
        return (content("catalogue", "models").label("uncarded"),)
    said = [f"Strength: {text}" for text in card.strengths[:1]] + [f"Weakness: {text}" for text in card.weaknesses[:1]]
    return (*said, f"Data: {'; '.join(card.data)} ({'; '.join(card.data_licence)})")


MODELS = Section("models", models_table, (BRANCH, SORT))


HELD_OUT = "held-out"
_STEP = 0.1
_OPENING = 3
_MILLION = 1e6
MEASURE = Choice(name="curve", label="Measure", options={}, width=260, resets=("models", "at"))
SCALE = Choice(name="scale", label="Token axis", options={"log": "Logarithmic", "linear": "Linear"}, style="row")
DRAWN = Words(
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
    param = DRAWN.with_(options={slug: line.name for slug, line in lines.items()}, default=default)
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


CURVES = Section("curves", learning, (MEASURE, SCALE, DRAWN, AT))
