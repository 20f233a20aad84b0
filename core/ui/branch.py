"""The frame that the four branch pages share: choose a system, a live model and a section."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from core import catalogue, checkpoints
from core.catalogue import Branch, System
from core.checkpoints.spec import CheckpointSpec
from core.ui.facts import facts_panel
from core.ui.glossary import plain_terms, terms
from core.ui.heads.panel import VIEWS
from core.ui.links import PageState, link_row, open_page, page_link, sections
from core.ui.page import BRANCH_TITLES, header, plain, sentences
from core.ui.picker import card_panel, checkpoint_picker, hub_panel
from core.ui.tree.inside import inside_link
from core.ui.tree.panel import tree_panel
from core.ui.tree.parent import parent_link

SECTIONS = {
    "demo": "Demo",
    "heads": "Heads",
    "tree": "Module tree",
    "facts": "Facts",
}


START: dict[Branch, str] = {"encoder": "bert", "decoder": "gpt-2", "encoder-decoder": "t5", "efficient": "bigbird"}
"""The system that a branch opens with: the one that most people come for."""


@dataclass(frozen=True, slots=True)
class BranchView:
    """What the visitor chose in the frame."""

    state: PageState
    system: System
    spec: CheckpointSpec | None
    """The live model, or None where none can run here."""
    section: str


def branch_frame(branch: Branch, sentence: str) -> BranchView:
    """Draw title and controls of a branch page; the choices are already in the state when this returns."""
    header(BRANCH_TITLES[branch], sentence, branch)
    systems = {system.slug: system for system in catalogue.by_branch(branch)}
    specs = {spec.slug: spec for spec in checkpoints.for_branch(branch) if spec.ready}
    choices: dict[str, Collection[str]] = {
        "system": systems,
        "model": specs,
        "beside": specs,
        "size": _sizes(systems),
        "view": VIEWS,
    }
    asked = st.query_params.get("system", "")
    state = open_page(branch, choices)
    if asked not in systems:
        _elsewhere(asked)

    with st.container(horizontal=True, vertical_alignment="bottom"):  # wraps on a narrow screen
        system = systems[_system(systems, _implied(state, specs, systems, START[branch]), state)]
        spec = _model(system, specs, state)
    implied = _implied(state, specs, systems, START[branch])
    state.set(system=None if system.slug == implied else system.slug)
    section = sections(state, SECTIONS, "demo")
    state.set(tab=None if section == "demo" else section)
    if section in ("demo", "heads") and spec is not None:
        _relative(system, spec)
    if section == "demo" and spec is not None and spec.card is not None and spec.card.weaknesses:
        st.caption(f"{plain(spec.name)}: {plain_terms(spec.card.weaknesses[0])}")
    return BranchView(state, system, spec, section)


def _elsewhere(asked: str) -> None:
    """Lead to a system that a link looks for on the page of another branch."""
    system = next((one for one in catalogue.systems() if one.slug == asked), None)
    if system is not None and system.branch in BRANCH_TITLES:
        page_link(
            system.branch,
            f"{plain(system.name)} stands on the page {BRANCH_TITLES[system.branch]}",
            {"system": system.slug},
            icon=":material/arrow_forward:",
        )


def _relative(system: System, spec: CheckpointSpec) -> None:
    """Say when the model that runs is not this system but a relative of it, or another that was chosen."""
    if spec.slug == system.live.checkpoint:
        if not system.live.exact:
            st.caption(plain_terms(system.live.note))
    elif spec.system and spec.system != system.slug:
        own = catalogue.get(spec.system).name
        st.caption(plain_terms(f"{spec.name} is a model of {own}; it runs here in place of {system.name}."))


def reading_sections(view: BranchView) -> None:
    """The two sections that need no model: the module tree, and what is known."""
    state, slug = view.state, view.system.slug
    if view.section == "tree":
        with sentences():
            wanted = {name: state.text(name) or None for name in ("size", "node", "drawing")}
            below = partial(inside_link, view.system, state.number("layer") or None)
            size, node, drawing = tree_panel(slug, key=state.key(f"tree.{slug}"), below=below, **wanted)
            state.set(size=size, node=node, drawing=drawing)
            parent_link(view.system, size)
    elif view.section == "facts":
        with sentences():
            facts_panel(slug)


def foot(view: BranchView) -> None:
    """The model's card, what could be downloaded, and the link to this view."""
    st.divider()
    if view.spec is not None and view.section in ("demo", "heads"):
        with sentences():
            card_panel(view.spec)
    with sentences():
        hub_panel(view.system.slug)
    link_row(view.state)


def no_model(view: BranchView) -> None:
    """Say that nothing can run here for this system, and where it runs or what would change that."""
    home = _home(view.system)
    if home is not None and home.branch != view.state.page:
        title = BRANCH_TITLES[home.branch]
        st.info(
            terms(
                f"{plain(view.system.name)} has no demo and no heads on this page. Its live model, {plain(home.name)}, "
                f"runs on the page {title}. Its module tree and facts are here, and other live models can be chosen."
            )
        )
        query = {"system": view.system.slug} | ({} if view.section == "demo" else {"tab": view.section})
        label = f"Run {plain(home.name)} on the page {title}"
        page_link(home.branch, label, query, icon=":material/arrow_forward:")
        return
    st.info(
        terms(
            f"No live model of this branch is installed here, so {plain(view.system.name)} cannot be run. "
            "Its module tree and facts are complete. “python -m core doctor” says what is missing; "
            "About says how a host adds models."
        )
    )


def _sizes(systems: dict[str, System]) -> set[str]:
    return {size.name for system in systems.values() for size in system.sizes}


def _implied(state: PageState, specs: Mapping[str, CheckpointSpec], systems: Mapping[str, System], start: str) -> str:
    """The system of a link that names none: that of the model it names, or the one that the branch opens with."""
    spec = specs.get(state.text("model"))
    own = spec.system if spec is not None else None
    return own if own is not None and own in systems else start


def _home(system: System) -> CheckpointSpec | None:
    """A live model of the system itself, whichever branch's page runs it."""
    own = (spec for spec in checkpoints.for_system(system.slug) if spec.ready and spec.branch in BRANCH_TITLES)
    return next(own, None)


def _system(systems: Mapping[str, System], implied: str, state: PageState) -> str:
    current = state.text("system", implied)
    slugs = list(systems)
    chosen = st.selectbox(
        "System",
        slugs,
        index=slugs.index(current),
        format_func=lambda slug: f"{systems[slug].name} ({systems[slug].year})",
        key=state.key("system"),
        width=260,
    )
    if chosen != current:  # another system: its own model, size and node start afresh
        state.set(model=None, size=None, node=None, layer=None, head=None)
    return chosen


def _model(system: System, specs: Mapping[str, CheckpointSpec], state: PageState) -> CheckpointSpec | None:
    """Choose the live model: the record's own choice first, then the system's others, its relatives, the branch's.

    A system whose own model runs on another branch's page opens with none.
    """
    live, home = system.live, _home(system)
    order = sorted(
        specs.values(),
        key=lambda s: (
            not (live.exact and s.slug == live.checkpoint),
            s.system != system.slug,
            s.slug != live.checkpoint,
            s.slug,
        ),
    )
    guest = home is not None and all(s.system != system.slug and s.slug != live.checkpoint for s in order)
    key, selected = state.key(f"model.{system.slug}"), state.text("model")
    chosen = checkpoint_picker(order, key=key, selected=selected, empty="None on this page" if guest else None)
    default = None if guest or not order else order[0]
    state.set(model=None if chosen is None or chosen == default else chosen.slug)
    return chosen
