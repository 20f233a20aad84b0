"""The table of the zoo: one row a model, and the time of a forward pass measured on request.

The table only reads; measuring loads one model after the other, under the one memory budget, and can be stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core import catalogue, links, session
from core.checkpoints.listing import ORDERS, Listed, ordered
from core.checkpoints.sizes import Size
from core.checkpoints.spec import CheckpointSpec, Measure
from core.errors import AtlasError
from core.figures.numbers import short
from core.ui.glossary import noted, told
from core.ui.links import PageState
from core.ui.page import BRANCH_TITLES, base_path
from core.ui.picker import SOURCES
from core.ui.text_table import Cell, Link, Row, TextTable, text_table
from core.ui.zoo.frame import ZooView, branches

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.efficiency.timing import Timing

ALL = "all"
UNMEASURED = "not measured yet"
HEADINGS = ("Model", "Architecture", "Parameters", "Weights", "Tokens seen", "Quality", "Milliseconds")
WIDTHS = (17, 13, 16, 16, 8, 17, 13)
_PLANNED = "zoo-to-measure"
_FAILED = "zoo-not-measured"
HOW = (
    "Milliseconds are of one forward pass over the first 32 tokens of a fixed text, cut by the model's own tokeniser: "
    "the median of 9 passes (3 where one takes over a second), after 2 that are not counted. An encoder-decoder reads "
    "the 32 tokens with its encoder and with its decoder. Whatever else this machine does meanwhile is in the numbers, "
    "which is why the fastest and the slowest pass stand beside the median."
)


@dataclass(frozen=True, slots=True)
class Places:
    """Where measuring draws while the page already stands, and the rows of the table as they stand."""

    table: DeltaGenerator
    progress: DeltaGenerator
    rows: Sequence[Listed]


@dataclass(slots=True)
class _Plan:
    """What is still to be measured; lives in the session, so that a click elsewhere does not lose it."""

    slugs: list[str]
    again: bool
    done: int = 0


def models_table(view: ZooView) -> Places:
    """Draw controls and table; returns the places that :func:`measure_models` fills."""
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shown = _filtered(view)
        order = _order(state)
        _buttons(shown)
    progress = st.empty()
    place = st.empty()
    rows = ordered(shown, order, _seconds(shown))
    _draw(place, rows)
    _how(progress, shown, view.models)
    told(
        "**Try** an architecture's name: its page opens with this model. Or measure the times, then sort by them.\n\n"
        "**Notice** that qualities compare only where the measure and the texts are the same, and that more parameters "
        "do not always take longer: a wide layer is one product, many layers wait for each other."
    )
    st.caption(
        "Parameters are the numbers that the weights store, read from the headers of the files, shared ones once. A "
        "difference stores only what it changes and is added to its base when it is loaded. Tokens seen are those of "
        "the training that the card describes; a base has seen its own before."
    )
    noted(HOW)
    return Places(place, progress, rows)


def _filtered(view: ZooView) -> list[Listed]:
    state = view.state
    options = [ALL, *branches(view.models)]
    current = state.text("branch", ALL)
    chosen = st.selectbox(
        "Branch",
        options,
        index=options.index(current) if current in options else 0,
        key=state.key("branch"),
        format_func=lambda slug: "All branches" if slug == ALL else BRANCH_TITLES.get(slug, slug),
        width=200,
    )
    state.set(branch=None if chosen == ALL else chosen)
    return [model for model in view.models if chosen in (ALL, model.spec.branch)]


def _order(state: PageState) -> str:
    options = list(ORDERS)
    current = state.text("sort", options[0])
    chosen = st.selectbox(
        "Sort by",
        options,
        index=options.index(current),
        key=state.key("sort"),
        format_func=ORDERS.__getitem__,
        width=230,
    )
    state.set(sort=chosen)
    return chosen


def _buttons(shown: Sequence[Listed]) -> None:
    """Measure, or stop measuring."""
    if st.session_state.get(_PLANNED) is not None:
        st.button("Stop", icon=":material/stop:", key="zoo-measure", on_click=_plan, args=(None,))
        return
    missing = [m.spec.slug for m in shown if session.timed(m.spec) is None]
    plan = _Plan(missing or [m.spec.slug for m in shown], again=not missing)
    st.button(
        "Measure again" if plan.again else "Measure on this machine",
        icon=":material/timer:",
        key="zoo-measure",
        on_click=_plan,
        args=(plan,),
        disabled=not shown,
        help="Loads the models in this list one after the other and times a forward pass of each",
    )


def _plan(plan: _Plan | None) -> None:
    """Begin to measure, or stop."""
    st.session_state[_PLANNED] = plan
    if plan is not None:
        st.session_state[_FAILED] = {}


def measure_models(view: ZooView, places: Places) -> None:
    """Measure what was asked for, the page already being complete; the table is drawn anew after each model."""
    plan: _Plan | None = st.session_state.get(_PLANNED)
    if plan is None:
        return
    known = {model.spec.slug for model in view.models}
    count = len(plan.slugs) + plan.done

    def tell(share: float, doing: str) -> None:
        places.progress.progress((plan.done + share) / count, text=f"Model {plan.done + 1} of {count}. {doing}")

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
        _draw(places.table, places.rows)
    st.session_state[_PLANNED] = None
    st.rerun()


def _how(place: DeltaGenerator, shown: Sequence[Listed], models: Sequence[Listed]) -> None:
    """What was measured; stands where the progress is shown."""
    found = [timing for model in shown if (timing := session.timed(model.spec)) is not None]
    threads = sorted({timing.threads for timing in found})
    count = f"{len(shown)} of {len(models)} models" if len(shown) < len(models) else f"{len(models)} models"
    if not found:
        place.caption(f"{count}. Times are not measured yet: they hold for one machine only.")
        return
    place.caption(
        f"{count}. Times: one forward pass over 32 tokens on this machine, median, "
        f"{' or '.join(map(str, threads))} {'thread' if threads == [1] else 'threads'}."
    )


def _seconds(models: Sequence[Listed]) -> dict[str, float]:
    return {m.spec.slug: timing.seconds for m in models if (timing := session.timed(m.spec)) is not None}


def _draw(place: DeltaGenerator, models: Sequence[Listed]) -> None:
    failed: Mapping[str, str] = st.session_state.get(_FAILED, {})
    rows: list[Row] = [_row(model, session.timed(model.spec), failed.get(model.spec.slug)) for model in models]
    below = [_said(model.spec) for model in models]
    with place.container():
        text_table(TextTable(HEADINGS, rows, caption="Live models", widths=WIDTHS, below=below))


def _row(model: Listed, timing: Timing | None, failure: str | None) -> Row:
    spec = model.spec
    return (
        (spec.name, SOURCES.get(spec.source, spec.source)),
        _architecture(spec),
        _parameters(model.size),
        _weights(model.size),
        short(model.tokens) if model.tokens is not None else "not stated",
        _quality(model.quality),
        _time(timing, failure),
    )


def _architecture(spec: CheckpointSpec) -> Cell:
    """The system, as a link to its page with this model."""
    branch = str(spec.branch)
    title = BRANCH_TITLES.get(branch, branch)
    if branch not in BRANCH_TITLES or not links.exists(branch):
        return (spec.system or "not in the catalogue", title)
    listed = {system.slug: system for system in catalogue.by_branch(spec.branch)}
    system = listed.get(spec.system or "")
    wanted: dict[str, links.Value] = {"system": system.slug if system else None, "model": spec.slug}
    href = base_path() + links.url(branch, wanted)
    return (Link(system.name if system else f"{title} page", href), title if system else "not in the catalogue")


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
    return (f"{_digits(measure.value)} {measure.unit}".strip(), measure.name, measure.on)


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


def _said(spec: CheckpointSpec) -> tuple[str, ...]:
    """The first strength and the first weakness of the card; nothing where it states none."""
    card = spec.card
    if card is None:
        return ("No card comes with these weights, so nothing is said of their quality.",)
    good = [f"Good at: {text}" for text in card.strengths[:1]]
    return (*good, *[f"Bad at: {text}" for text in card.weaknesses[:1]])
