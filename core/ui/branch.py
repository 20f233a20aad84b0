"""The four branch pages: a system, a live model, and the sections that show them.

A page file lists its demos (:mod:`core.ui.demos.demo`); the rest is common to the four pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import streamlit as st

from core import catalogue, checkpoints, links
from core.attention.inside.modules import step_of
from core.catalogue.schema import SAVINGS, Branch, System
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.finetuning import trainable
from core.links import parameters as link
from core.ui.demos.cover import COVER
from core.ui.demos.demo import Demo, DemoView
from core.ui.facts import change, facts_panel
from core.ui.glossary import info, markdown, plain_terms, sentences
from core.ui.heads.panel import LAYER
from core.ui.links import PageState, page_link
from core.ui.page import BRANCH_TITLES, alone, base_path, plain
from core.ui.param import Carried, Choice, Text, menu_names
from core.ui.picker import SOURCES, card_panel, hub_panel
from core.ui.section import Page, Section, View, by_name, tab_row
from core.ui.tree import VIEWS as DRAWINGS
from core.ui.tree import tree_panel
from core.words import first_sentence

START: dict[Branch, str] = {"encoder": "bert", "decoder": "gpt-2", "encoder-decoder": "t5", "efficient": "bigbird"}
"""The default system of each branch: its best known one."""

_RESETS = ("model", "size", "node", "layer", "head", "token")
SYSTEM = Choice(name="system", label="System", options={}, width=200, resets=_RESETS, hide_label=True)
MODEL = Choice(
    name="model",
    label="Live model",
    options={},
    width=320,  # room for the longest name and source
    hide_label=True,
)
DEMO = Choice(name="demo", label="Demo", options={}, width=250, hide_label=True)
TEXT = Text(name="text", label="Text")
FACTS = Carried(name="facts", label="Facts", as_=link.Choice(None, ("open",)))
TREE = (
    Carried(name="size", label="Size", as_=link.Choice()),
    Carried(name="node", label="Module", as_=link.Text()),
    Carried(name="drawing", label="View", as_=link.Choice(None, tuple(DRAWINGS))),
    LAYER,
)


@dataclass(frozen=True, slots=True)
class BranchView(View):
    """The visitor's choices above the sections."""

    system: System = field(kw_only=True)
    spec: CheckpointSpec | None = field(kw_only=True)
    """The live model; None if none can run here."""

    @property
    def title(self) -> str:
        """With the system's name, which a presentation shows nowhere else."""
        return f"{plain(self.system.name)}: {self.words.title}"


def branch_page(
    branch: Branch,
    *demos: Demo,
    below: Callable[[BranchView], None] | None = None,
    other_demos: Mapping[str, Sequence[Section]] | None = None,
) -> Page:
    """The page of a branch; the first of the demos that fit a model is its default.

    Args:
        below: what stands below the demo of every system.
        other_demos: by system, demos of a model that is no language model; the first opens in place of a live one.
    """
    other_demos = other_demos or {}
    sections = [section for several in other_demos.values() for section in several]
    every: list[Demo | Section] = [*demos, *sections]
    params = by_name(param for demo in every for param in demo.params)
    choice = DEMO.with_(options={demo.slug: demo.slug for demo in every}, default="")
    return Page(
        branch,
        (
            Section(
                "demo", partial(_live, demos, other_demos, below), (choice, FACTS, *params.values()), folder="branch"
            ),
            Section("tree", _tree, TREE, folder="branch"),
        ),
        params=(SYSTEM, MODEL, TEXT, COVER),
        branch=branch,
        above=partial(_choose, other_demos),
        titled=True,
    )


def _live(
    demos: Sequence[Demo],
    other_demos: Mapping[str, Sequence[Section]],
    below: Callable[[BranchView], None] | None,
    view: BranchView,
) -> None:
    """Draw the demo of the live model, or say why there is none; the model's card follows."""
    if view.spec is None and (sections := other_demos.get(view.system.slug)):
        section = _own_demo(sections, view)
        with sentences():
            words = section.words(view.state.page)
            view.state.helps = words.front.get("help", {})
            own = View(view.state, words, view.later)
            section.draw(own)
            own.finish()
    elif view.spec is None:
        _no_model(view)
    else:
        with sentences():
            _demo(demos, view, view.spec)
        if note := _stand_in(view.system, view.spec):
            st.caption(note)
        if view.spec.card is not None and view.spec.card.weaknesses:
            st.caption(f"**Limits of {plain(view.spec.name)}.** {plain_terms(view.spec.card.weaknesses[0])}")
    if below is not None:
        with sentences():
            below(view)
    if not (alone()):
        with sentences():
            change(view.system)
    _facts(view)
    _foot(view, view.spec)


def _own_demo(sections: Sequence[Section], view: BranchView) -> Section:
    """The demo of a model that is no language model; a menu, if it has several."""
    if len(sections) == 1:
        return sections[0]
    by_slug = {section.slug: section for section in sections}
    titles = {slug: section.words(view.state.page).title for slug, section in by_slug.items()}
    with view.controls():
        return by_slug[DEMO.with_(options=titles, default=sections[0].slug).draw(view.state, tag=view.system.slug)]


def _choose(other_demos: Mapping[str, Sequence[Section]], view: View) -> BranchView:
    """Draw the menus of systems and live models, the title, which names the system, and its lead."""
    state = view.state
    branch: Branch = state.page  # type: ignore[assignment]
    systems = {system.slug: system for system in catalogue.by_branch(branch)}
    saving = branch == "efficient"  # its systems are sorted by what they save
    if saving:
        systems = dict(sorted(systems.items(), key=lambda item: SAVINGS.index(item[1].saves[0])))
    specs = {spec.slug: spec for spec in checkpoints.for_branch(branch) if spec.ready}
    _elsewhere(state.text(SYSTEM.name), systems)

    title = (view.heading or st).container(width="content")
    with st.container(horizontal=True) if alone() else view.heading or st.container():  # wraps on a narrow screen
        names = {
            slug: f"{system.name} ({system.year}){f' · {system.saves[0]}' if saving else ''}"
            for slug, system in systems.items()
        }
        menu = SYSTEM.with_(
            options=names,
            default=_implied(state, specs, systems),
            width={"efficient": 270, "decoder": 240}.get(branch, 200),
        )
        system = systems[menu.draw(state)]
        sections = other_demos.get(system.slug)
        spec = _model(system, specs, state, sections[0].words(branch).label("model") if sections else "")
    state.set(system=None if system.slug == _implied(state, specs, systems) else system.slug)
    title.title(f"{view.words.title}: {plain(system.name)}", anchor=False, width="content")
    if not alone():
        if spec is not None and _stand_in(system, spec):
            with view.heading or st.container():
                st.badge(_words("Runs here", model=plain(spec.name)), icon=":material/swap_horiz:", color="gray")
        markdown(first_sentence(system.change))
    row = tab_row()
    return BranchView(state, view.words, view.later, view.heading, row, system=system, spec=spec)


def _implied(state: PageState, specs: Mapping[str, CheckpointSpec], systems: Mapping[str, System]) -> str:
    """The system of a link without one: that of its model, or the branch's default."""
    spec = specs.get(state.text(MODEL.name))
    system = spec.system if spec is not None else None
    return system if system is not None and system in systems else START[state.page]  # type: ignore[index]


def _elsewhere(slug: str, systems: Mapping[str, System]) -> None:
    """Link to a system on another branch's page."""
    system = next((candidate for candidate in catalogue.systems() if candidate.slug == slug), None)
    if system is not None and slug not in systems and system.branch in BRANCH_TITLES:
        page_link(
            system.branch,
            _words("On another page", system=plain(system.name), page=BRANCH_TITLES[system.branch]),
            {"system": system.slug},
            icon=":material/arrow_forward:",
        )


def _model(
    system: System, specs: Mapping[str, CheckpointSpec], state: PageState, demo_model: str
) -> CheckpointSpec | None:
    """Choose the live model: the record's own choice first, then the system's others, its relatives, the branch's.

    A system whose own model runs on another branch's page opens with none, and so does one whose demo has a model of
    its own, ``demo_model``.
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
    names = {"": "None on this page" if order else "none installed"} if guest or not order else {}
    names |= {"": demo_model} if demo_model else {}
    short = menu_names(order)
    names |= {spec.slug: f"{short[spec.slug]} · {SOURCES[spec.source]}" for spec in order}
    return specs.get(MODEL.with_(options=names, help=_words("Live model")).draw(state, tag=system.slug))


def _home(system: System) -> CheckpointSpec | None:
    """A live model of the system itself, else the one that its record names, whichever branch's page runs it."""
    candidates = [*checkpoints.for_system(system.slug), *checkpoints.available()]
    related = (spec for spec in candidates if spec.system == system.slug or spec.slug == system.live.checkpoint)
    return next((spec for spec in related if spec.ready and spec.branch in BRANCH_TITLES), None)


def _stand_in(system: System, spec: CheckpointSpec) -> str:
    """A note, as Markdown, that the live model is of a relative of this system, or another one; empty if it is not."""
    if spec.slug == system.live.checkpoint:
        return "" if system.live.exact else plain_terms(system.live.note)
    if spec.system and spec.system != system.slug:
        relative = catalogue.get(spec.system).name
        return plain_terms(_words("Stand-in", model=spec.name, own=relative, system=system.name))
    return ""


def _demo(demos: Sequence[Demo], view: BranchView, spec: CheckpointSpec) -> None:
    """Draw the demo of the live model; if it has several, a menu beside that of the models."""
    state = view.state
    offered = {demo.slug: demo for demo in demos if demo.fits(spec)}
    choice = DEMO.with_(options={slug: demo.words.title for slug, demo in offered.items()}, default="")
    with view.controls():
        demo = offered[choice.draw(state, tag=spec.slug) if len(offered) > 1 else choice.value(state)]
    row = tab_row() if alone() else view.row  # alone, the row above is hidden
    with sentences():
        own = DemoView(state, demo.words, view.later, row=row, spec=spec)
        demo.draw(own)
        own.finish()
    if more := _other_demos(demos, offered, view.system.slug, spec):
        st.markdown(more)
    query = {"model": spec.slug}
    text = {TEXT.name: state.text(TEXT.name)} if state.text(TEXT.name) else {}
    page_link("attention", plain(_words("Heads", model=spec.name)), query | text, icon=":material/grid_on:")
    named = spec.card.extra.get("beside", ()) if spec.card else ()
    if partner := next((other for other in checkpoints.available() if other.ready and other.slug in named), None):
        label = plain(_words("Beside", model=spec.name, other=partner.name))
        pair = {"tab": "beside", "one": partner.slug, "other": spec.slug}
        page_link("catalogue", label, pair | text, icon=":material/compare:")
    if trainable(spec):
        label = plain(_words("Fine-tune", model=spec.name))
        page_link("training", label, query | {"tab": "train"}, icon=":material/tune:")


def _other_demos(demos: Sequence[Demo], offered: Mapping[str, Demo], system: str, spec: CheckpointSpec) -> str:
    """Markdown links to demos of the system's other models that this one lacks; may be empty."""
    checkpoints_by_demo: dict[str, str] = {}
    for other in checkpoints.for_system(system):
        if other.ready and other.branch == spec.branch and other.family is spec.family:
            for demo in demos:
                if demo.slug not in {*offered, *checkpoints_by_demo} and demo.fits(other):
                    wanted = {"system": system, "model": other.slug, "demo": demo.slug}
                    target = base_path() + links.url(spec.branch, wanted)
                    checkpoints_by_demo[demo.slug] = f"[{demo.words.title.lower()}, with {plain(other.name)}]({target})"
    return f"Also here: {'; '.join(checkpoints_by_demo.values())}." if checkpoints_by_demo else ""


def _tree(view: BranchView) -> None:
    """Draw the module tree, with links to a running block and to the comparison with the parent's tree."""
    state, system = view.state, view.system
    with sentences():
        wanted = {name: state.text(name) or None for name in ("size", "node", "drawing")}
        below = partial(_block_link, system, state.number("layer") or None)
        size, node, drawing = tree_panel(
            system.slug, state, key=state.key(f"tree.{system.slug}"), below=below, **wanted
        )
        state.set(size=size, node=node, drawing=drawing)
        _parent_link(system, size)
    if not (alone()):
        with sentences():
            change(system)
    _foot(view)


def _block_link(system: System, layer: int | None, size: str, node: str) -> None:
    """Draw a link to the step that shows the output of the module at ``node``, if a model of the system runs here.

    Args:
        layer: from 1, if the node represents several layers.
    """
    ready = [spec for spec in checkpoints.for_system(system.slug) if spec.ready]
    spec = min(ready, key=lambda spec: spec.slug != system.live.checkpoint, default=None)  # the record's own choice
    shown = None if spec is None else step_of(spec, node, size, None if layer is None else layer - 1)
    if spec is None or shown is None:
        return
    query = {"tab": "block", "model": spec.slug, "step": shown.slug}
    if spec.offers("rewrites"):
        query["side"] = shown.side
    if shown.layer is not None:
        query["layer"] = str(shown.layer + 1)
    where = "the last layer" if shown.layer is None else f"layer {shown.layer + 1}"
    page_link("attention", plain(f"Run it: {where} of {spec.name}"), query, icon=":material/play_circle:")


def _parent_link(system: System, size: str | None) -> None:
    """Draw a link to the comparison with the parent's tree; nothing without a parent that has a record.

    Args:
        size: the selected size; None for the default.
    """
    parent = next((other for other in catalogue.systems() if other.slug == system.parent), None)
    if parent is None or not parent.sizes or not system.sizes:
        return
    query = {"tab": "trees", "left": parent.slug, "right": system.slug} | ({"right-size": size} if size else {})
    page_link("catalogue", plain(_words("Parent", parent=parent.name)), query, icon=":material/compare:")


def _facts(view: BranchView) -> None:
    """Draw the facts in a fold, which a link can open."""
    if alone():
        return
    state, opened = view.state, view.state.text(FACTS.name) == "open"
    key = state.key(f"facts.{view.system.slug}")
    fold = st.expander(content("branch", "facts").title, opened, key=key, on_change="rerun")
    state.set(facts="open" if fold.open else None)
    if fold.open:  # closed, its tables are not made
        with fold, sentences():
            facts_panel(view.system.slug)


def _foot(view: BranchView, spec: CheckpointSpec | None = None) -> None:
    """Draw the model's card, and what can be downloaded."""
    if alone():
        return
    st.divider()
    if spec is not None:
        with sentences():
            card_panel(spec, view.state)
    with sentences():
        hub_panel(view.system.slug)


def _no_model(view: BranchView) -> None:
    """Draw a notice that no live model is available for this system, and where one runs or how to get one."""
    home = _home(view.system)
    if home is None or home.branch == view.state.page:
        info(_words("No model of this branch", system=view.system.name))
        return
    info(_words("Elsewhere", system=view.system.name, model=home.name, page=BRANCH_TITLES[home.branch]))
    run_link(view)


def run_link(view: BranchView) -> None:
    """Draw a link to the demo with a live model of the system, on whichever page it runs; nothing without one."""
    home = _home(view.system)
    if home is None:
        return
    query = {"system": view.system.slug} if home.system == view.system.slug else {"model": home.slug}
    part = "Run here" if home.branch == view.state.page else "Run elsewhere"
    label = _words(part, model=plain(home.name), page=BRANCH_TITLES[home.branch])
    page_link(home.branch, label, query, icon=":material/arrow_forward:")


def _words(part: str, **values: str) -> str:
    return content("branch", "models").part(part, **values)
