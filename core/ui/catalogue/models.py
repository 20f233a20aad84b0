"""All live models in one table, read from their files and cards."""

from __future__ import annotations

import streamlit as st

from core import catalogue, links
from core.checkpoints.listing import ORDERS, Listed, apart, live, ordered
from core.checkpoints.sizes import Size
from core.checkpoints.spec import CheckpointSpec, Measure
from core.figures.labels import short, with_unit
from core.links.parameters import Value
from core.ui.page import BRANCH_TITLES, base_path
from core.ui.param import Choice
from core.ui.picker import SOURCES, digits, interval, nothing_runs
from core.ui.section import Section, View
from core.ui.tables import Cell, Link, TableRow, TextTable, text_table
from core.words import counted

BRANCH = Choice(name="branch", label="Branch", default="all", options={}, width=200)
SORT = Choice(name="by", label="Sort by", options=ORDERS, width=230)
HEADINGS = ("Model", "Architecture", "Parameters", "Weights", "Training tokens", "Quality")
WIDTHS = (16, 19, 16, 16, 13, 20)


def models_table(view: View) -> None:
    """Draw the section."""
    state, models = view.state, (*live(), *apart())
    if nothing_runs(live()):
        return
    branches = {str(model.spec.branch) for model in models}
    named = {branch: BRANCH_TITLES[branch] for branch in BRANCH_TITLES if branch in branches}
    others = {branch: branch for branch in sorted(branches - named.keys())}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        branch = BRANCH.with_(options={"all": "All branches", **named, **others}).draw(state)
        shown = [model for model in models if branch in ("all", model.spec.branch)]
        models_in_order = ordered(shown, SORT.draw(state))
    st.caption(f"{len(shown)} of {len(models)} models" if len(shown) < len(models) else counted(len(models), "model"))
    rows = [_row(model) for model in models_in_order]
    with st.container(key="atlas-long"):
        text_table(TextTable(HEADINGS, rows, caption="Live models", widths=WIDTHS))
    view.try_and_notice()
    view.how_it_works("Columns")


def _row(model: Listed) -> TableRow:
    spec = model.spec
    return (
        (spec.name, SOURCES.get(spec.source, spec.source)),
        _architecture(spec, "" if model.apart else spec.slug),
        _parameters(model.size),
        _weights(model.size),
        short(model.tokens) if model.tokens is not None else "not stated",
        _quality(model.quality),
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


MODELS = Section("models", models_table, (BRANCH, SORT))
