"""The frame of the page Attention: a live model, and the ways to look at its heads."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import checkpoints
from core.attention.roles.everyhead import SCORES
from core.attention.roles.relations import LABELS
from core.attention.word_maps import ROLES
from core.checkpoints.spec import CheckpointSpec
from core.ui.heads.panel import VIEWS, link_heads
from core.ui.heads.text import text_trace
from core.ui.links import PageState, open_page, sections
from core.ui.page import BRANCH_TITLES, header
from core.ui.picker import SOURCES

SECTIONS = {
    "heads": "One head",
    "all": "All heads",
    "bertviz": "bertviz",
    "block": "Inside a block",
    "off": "Switch off",
    "grammar": "Grammar",
    "every": "Every head",
    "beside": "Side by side",
}
OF_ALL = ("every", "beside")
"""Sections about several models, which need no menu of one."""


@dataclass(frozen=True, slots=True)
class AttentionView:
    """What the visitor chose in the frame."""

    state: PageState
    spec: CheckpointSpec
    section: str
    choices: dict[str, Collection[str]]
    """What a link, or a recipe, may name."""
    row: DeltaGenerator
    """Where the menu of models stands, with room for more beside it."""


def attention_frame() -> AttentionView | None:
    """Draw the title and the two choices; None where no model runs here."""
    header(
        "Attention",
        "Every head of every live model: where it looks, what it looks for, and what the answer becomes without it.",
    )
    specs = {spec.slug: spec for spec in _ordered(checkpoints.available())}
    choices: dict[str, Collection[str]] = {
        "model": specs,
        "view": VIEWS,
        "relation": LABELS,
        "with": specs,
        "score": SCORES,
        "branch": BRANCH_TITLES,
        "models": specs,
        "beside": specs,
        "role": ROLES,
    }
    state = open_page("attention", choices)
    if not specs:
        return None
    section = sections(state, SECTIONS, "heads")
    first = next((slug for slug in checkpoints.first("attention") if slug in specs), next(iter(specs)))
    slug = state.text("model", first)
    row = st.container(horizontal=True, vertical_alignment="bottom")
    if section not in OF_ALL:
        slug = row.selectbox(
            "Live model",
            list(specs),
            index=list(specs).index(slug),
            format_func=lambda slug: _named(specs[slug]),
            key=state.key("model"),
            help="What really runs here, and where its weights come from",
            width=300 if section == "block" else 460,
        )
    if slug != state.text("model", first):
        state.set(layer=None, head=None, map=None, task=None, off=None, side=None, step=None)
        state.set(layers=(), heads=(), on=(), open=())
    state.set(model=None if slug == first else slug)
    return AttentionView(state, specs[slug], section, choices, row)


def show(view: AttentionView) -> None:
    """Draw the chosen section.

    Raises:
        AtlasError: what the text or the model does not allow, as a sentence.
    """
    drawn: dict[str, Callable[[AttentionView], None]] = {
        "heads": _one_head,
        "all": _all,
        "bertviz": _bertviz,
        "block": _block,
        "off": _switch_off,
        "grammar": _grammar,
        "every": _every,
        "beside": _beside,
    }
    drawn[view.section](view)


def _one_head(view: AttentionView) -> None:
    trace = text_trace(view.spec, view.state, pairs=True)
    link_heads(trace, view.state, view.spec.branch)


def _all(view: AttentionView) -> None:
    from core.ui.attention.maps import all_maps

    all_maps(view.spec, view.state)


def _bertviz(view: AttentionView) -> None:
    from core.ui.attention.bertviz import bertviz_views

    bertviz_views(view.spec, view.state)


def _block(view: AttentionView) -> None:
    from core.ui.attention.block import inside

    inside(view.spec, view.state, view.row)


def _switch_off(view: AttentionView) -> None:
    from core.ui.attention.off import switch_off

    switch_off(view.spec, view.state)


def _grammar(view: AttentionView) -> None:
    from core.ui.attention.grammar import grammar

    grammar(view.spec, view.state)


def _every(view: AttentionView) -> None:
    from core.ui.attention.every import every_head

    every_head(view.state, _ordered(checkpoints.available()))


def _beside(view: AttentionView) -> None:
    from core.ui.attention.beside import beside

    beside(view.state, _ordered(checkpoints.available()))


def _ordered(specs: Collection[CheckpointSpec]) -> list[CheckpointSpec]:
    """Those that can run, by branch as in the sidebar."""
    branches = list(BRANCH_TITLES)
    ready = [spec for spec in specs if spec.ready]
    return sorted(ready, key=lambda spec: (branches.index(spec.branch) if spec.branch in branches else 9, spec.slug))


def _named(spec: CheckpointSpec) -> str:
    return f"{spec.name} · {BRANCH_TITLES.get(spec.branch, spec.branch)} · {SOURCES[spec.source]}"
