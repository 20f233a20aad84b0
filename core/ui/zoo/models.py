"""All models in one table, and the time of a forward pass measured on request.

The table only reads; measuring loads one model after the other, under the one memory budget, and can be stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import catalogue, links, session
from core.checkpoints.listing import ORDERS, Listed, apart, live, ordered
from core.checkpoints.sizes import Size
from core.checkpoints.spec import CheckpointSpec, Measure
from core.content import content
from core.efficiency.timing import Timing
from core.errors import AtlasError
from core.figures.labels import short, with_unit
from core.links.parameters import Value
from core.ui.measuring import measure_button
from core.ui.page import BRANCH_TITLES, base_path
from core.ui.param import Choice
from core.ui.picker import SOURCES
from core.ui.section import Section, View
from core.ui.tables import Cell, Link, Row, TextTable, text_table

BRANCH = Choice(name="branch", label="Branch", default="all", options={}, width=200)
SORT = Choice(name="sort", label="Sort by", options=ORDERS, width=230)
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
    branches = {str(model.spec.branch) for model in models}
    named = {branch: BRANCH_TITLES[branch] for branch in BRANCH_TITLES if branch in branches}
    others = {branch: branch for branch in sorted(branches - named.keys())}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        branch = BRANCH.with_(options={"all": "All branches", **named, **others}).draw(state)
        shown = [model for model in models if branch in ("all", model.spec.branch)]
        order = SORT.draw(state)
        _buttons(view, [model for model in shown if not model.apart])
    progress, table = st.empty(), st.empty()
    times = {model.spec.slug: timing for model in shown if (timing := session.timed(model.spec.slug)) is not None}
    rows = ordered(shown, order, {slug: timing.seconds for slug, timing in times.items()})
    _draw(table, rows)
    count = f"{len(shown)} of {len(models)} models" if len(shown) < len(models) else f"{len(models)} models"
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
    missing = [m.spec.slug for m in shown if session.timed(m.spec.slug) is None]
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
    rows: list[Row] = [_row(model, session.timed(model.spec.slug), failed.get(model.spec.slug)) for model in models]
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
        content("zoo", "models").label("untimed") if model.apart else _time(timing, failure),
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
    if size is None:
        return "unknown"
    if not size.base_parameters:
        return short(size.parameters)
    base, own = _whole(short(size.base_parameters)), _whole(short(size.parameters))
    return (short(size.all_parameters), f"base {base} + difference {own}")


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
    return (with_unit(_digits(measure.value), measure.unit), measure.name, measure.on)


def _digits(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _time(timing: Timing | None, failure: str | None) -> Cell:
    if timing is None:
        return ("not measured", failure) if failure else UNMEASURED
    low, high = milliseconds(timing.fastest), milliseconds(timing.slowest)
    fewer = "" if timing.tokens == 32 else f", {timing.tokens} tokens"
    return (f"{milliseconds(timing.seconds)} ms", f"{low} to {high} in {timing.runs} passes{fewer}")


def milliseconds(seconds: float) -> str:
    """Seconds as milliseconds with an honest number of digits: 0.00312 is 3.1, 0.0283 is 28."""
    value = 1000 * seconds
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _card(spec: CheckpointSpec) -> tuple[str, ...]:
    """The card's first strength and first weakness, if any, its data and their license."""
    card = spec.card
    if card is None:
        return (content("zoo", "models").label("uncarded"),)
    said = [f"Strength: {text}" for text in card.strengths[:1]] + [f"Weakness: {text}" for text in card.weaknesses[:1]]
    return (*said, f"Data: {'; '.join(card.data)} ({'; '.join(card.data_licence)})")


MODELS = Section("models", models_table, (BRANCH, SORT))
