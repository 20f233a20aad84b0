"""A live model's card, and models to download; the source of the weights is always named."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import streamlit as st

from core import session, settings
from core.checkpoints import hub, registry
from core.checkpoints.listing import read_curve
from core.checkpoints.spec import Card, CheckpointSpec, Measure
from core.content import content
from core.errors import AtlasError
from core.figures.labels import with_unit
from core.figures.lines import learning_curve
from core.table import Table
from core.ui.glossary import caption, info, markdown, plain_terms, warning
from core.ui.links import PageState
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.tables import data_table

SOURCES = {
    "bundled": "trained here",
    "package": "from a package",
    "directory": "this host's folder",
    "hub": "Hugging Face Hub",
    "visitor": "trained live",
}
"""The source of a checkpoint in a word or two, for menus."""


def card_panel(spec: CheckpointSpec, state: PageState) -> None:
    """Draw a model's card: measures, data and license, recipe, weaknesses, learning curve."""
    with st.expander(f"About this model: {plain(spec.name)}, {SOURCES[spec.source]}"):
        st.markdown(f"Weights: {plain(spec.origin)}.")
        if spec.card is None:
            markdown(_words("No card: Hub" if spec.source == "hub" else "No card"))
            _facts_table(spec)
        else:
            _card(spec, spec.card, state)


def _card(spec: CheckpointSpec, card: Card, state: PageState) -> None:
    st.markdown(plain_terms(card.summary))
    if card.measures:
        st.subheader("Measured quality", anchor=False)
        rows = [
            {
                "measure": m.name,
                "value": with_unit(digits(m.value), m.unit),
                "95% interval": interval(m),
                "n": f"{m.n:,}" if m.n else "",
                "measured on": m.on,
            }
            for m in card.measures
        ]
        data_table(rows, f"{spec.slug}-measures", alt=f"Measured quality of {spec.name}")
        if any(m.n for m in card.measures):
            caption(_words("Interval"))
    for title, lines in (("Strengths", card.strengths), ("Weaknesses", card.weaknesses)):
        if lines:
            st.subheader(title, anchor=False)
            st.markdown("\n".join(f"- {plain_terms(line)}" for line in lines))
    _facts_table(
        spec,
        ("Training data", "; ".join(card.data)),
        ("License of the data", "; ".join(card.data_licence)),
        ("License of the weights", card.licence),
        ("Recipe", f"{card.recipe}, seed {card.seed}"),
        ("Training", f"{card.steps:,} steps, {card.tokens / 1e6:,.1f}M tokens"),
    )
    _curve(spec, Path(spec.location).joinpath(*spec.slug.split(":")[1:]), state)


def _facts_table(spec: CheckpointSpec, *facts: tuple[str, str]) -> None:
    """Draw the facts of the card, then those of the files."""
    rows = [*facts, ("Source", spec.origin)]
    if spec.size_bytes:
        rows.append(("Size of the files", _size(spec.size_bytes)))
    if spec.max_positions:
        rows.append(("Maximum input length", f"{spec.max_positions:,} tokens"))
    names, values = zip(*rows, strict=True)
    table = {"what": list(map(plain, names)), "value": list(map(plain, values))}
    st.table(table, border="horizontal", hide_header=True)


def _curve(spec: CheckpointSpec, folder: Path, state: PageState) -> None:
    points = read_curve(folder)
    if not points:
        return
    measures = list(dict.fromkeys(point.measure for point in points))
    measure = measures[0]
    if len(measures) > 1:
        measure = st.selectbox("Measure", measures, key=f"curve.{spec.slug}", persist_state="page")
    chosen = [point for point in points if point.measure == measure]
    first, last = chosen[0].value, chosen[-1].value
    rows = [
        {"million tokens": round(p.tokens / 1e6, 3), "minutes": p.minutes, "texts": p.split, measure: p.value}
        for p in chosen
    ]
    Panel(
        f"{spec.slug}-learning-curve",
        "Learning curve",
        learning_curve(points, measure, accent(spec.branch), theme=theme()),
        f"{measure} of {spec.name} over training, from {digits(first)} to {digits(last)}",
        Table.from_records(rows),
        heading=True,
    ).draw(state)


def hub_panel(system: str) -> None:
    """Draw the published checkpoints of a system, how to get them, and unusable folders of this host."""
    published = [spec for spec in registry.published() if spec.system == system]
    missing = [spec for spec in published if not spec.ready]
    if missing and settings.settings().hub == "off":
        names = ", ".join(f"`{spec.slug}`" for spec in missing)
        caption(_words("Downloads off", names=names, first=missing[0].slug))
    elif published and settings.settings().hub == "on":
        with st.expander("Published checkpoints on the Hugging Face Hub"):
            for spec in published:
                _offer(spec.slug)
    for folder in registry.refused():
        st.caption(f":material/block: {plain(folder.reason)}")


@st.fragment
def _offer(slug: str) -> None:
    """Draw one published checkpoint with buttons to request its size, download it, and stop."""
    spec = next(spec for spec in registry.published() if spec.slug == slug)
    download = hub.current(slug)
    if download is not None and download.state == "running":
        _watch(slug)
        return
    left, right = st.columns([3, 2], vertical_alignment="center")
    if spec.ready:
        left.markdown(_words("Downloaded", name=spec.location))
        return
    if download is not None and download.state == "failed":
        warning(download.error, icon=":material/cloud_off:")
    plans: dict[str, hub.Plan] = st.session_state.setdefault("picker.plans", {})
    text, button = left.empty(), right.empty()

    def start() -> None:
        hub.start(spec)

    if slug not in plans:
        text.markdown(_words("Not downloaded", name=spec.location))
        if not button.button("Query its size", key=f"hub.size.{slug}"):
            return
        try:
            with st.spinner(session.waiting("querying-the-hub")):
                plans[slug] = hub.plan(spec)
        except AtlasError as error:
            warning(str(error), icon=":material/cloud_off:")
            return
    stated = plans[slug]
    text.markdown(
        _words(
            "Size",
            name=spec.location,
            total=_size(stated.total_bytes),
            files=len(stated.files),
            there=_size(stated.total_bytes - stated.missing_bytes),
        )
    )
    button.button(
        f"Download {_size(stated.missing_bytes)}",
        key=f"hub.get.{slug}",
        type="primary",
        on_click=start,
    )


@st.fragment(run_every=1.0)
def _watch(slug: str) -> None:
    """Draw a running download, which continues when the visitor leaves the page."""
    download = hub.current(slug)
    if download is None or download.state != "running":
        st.session_state.get("picker.plans", {}).pop(slug, None)
        st.rerun()
        return
    share = download.done / download.total if download.total else 0.0
    st.progress(share, text=f"Downloading {slug}: {_size(download.done)} of {_size(download.total)}")
    if st.button("Stop", key=f"hub.stop.{slug}", help=_words("Stop")):
        download.stop()


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count < 1e8 else f"{count / 1e6:,.0f} MB"


def digits(value: float) -> str:
    """Three digits, from a thousand on all of the whole number."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def interval(measure: Measure) -> str:
    """The 95% interval: ``38.6 to 40.3%``, ``0.41 to 0.57``; empty for a measure without one."""
    if measure.interval is None:
        return ""
    decimals = 1 if measure.unit == "%" or abs(measure.value) >= 10 else 2
    low, high = (f"{end:.{decimals}f}" for end in measure.interval)
    return with_unit(f"{low} to {high}", measure.unit)


def nothing_runs(models: Collection[object]) -> bool:
    """Whether ``models`` is empty; then a notice says so, and how to change that."""
    if not models:
        info(_words("No model"))
    return not models


def _words(part: str, **values: str | int) -> str:
    """A part of this module's content; names of models are the app's."""
    return content("branch", "models").part(part, **values)
