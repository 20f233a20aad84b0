"""Home: the family over the years, a card for each branch, the family as a list, first steps, and what runs here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core import catalogue
from core.checkpoints.spec import WHOLE
from core.figures.lineage import family
from core.ui.glossary import terms
from core.ui.links import page_link
from core.ui.notices import unbuilt
from core.ui.page import BRANCH_ICONS, BRANCH_TITLES, plain
from core.ui.section import Section, View
from core.ui.timeline.picture import picture

if TYPE_CHECKING:
    from core.checkpoints.spec import CheckpointSpec


def home(view: View) -> None:
    """Draw the page."""
    left, right = st.columns([2.3, 1], gap="medium")
    with left:
        _family_picture(view)
        view.note("Picture")
        st.page_link("pages/timeline.py", label=view.words.label("timeline"), icon=":material/timeline:")
    with right:
        _branch_cards(view)
    _family_list()
    _first_steps(view)
    _what_runs(view)


def _family_picture(view: View) -> None:
    """The family in lanes over the years; a node opens its system. The same picture is played on the timeline."""
    everything = family()
    label = view.words.part("Picture for screen readers", systems=len(catalogue.systems()))
    picture(everything, "branch", key="home.family", until=everything[-1].at, chosen=None, label=label, play=False)
    unbuilt()


def _branch_cards(view: View) -> None:
    """One card for each branch: its page, what one does there, how many systems it lists."""
    for branch, title in BRANCH_TITLES.items():
        listed = catalogue.by_branch(branch)
        with st.container(border=True, gap=None):
            st.page_link(f"pages/{branch}.py", label=f"**{title}**", icon=BRANCH_ICONS[branch])
            st.caption(f"{view.words.label(branch)} {len(listed)} systems.")


def _family_list() -> None:
    """The picture as links, by branch, for keyboards, screen readers and small screens."""
    with st.expander("The family as a list", icon=":material/list:"):
        for column, (branch, title) in zip(st.columns(4), BRANCH_TITLES.items(), strict=True):
            with column, st.container(gap=None):
                st.markdown(f"**{title}**")
                for system in catalogue.systems():
                    if branch in system.branches:
                        page_link(branch, f"{plain(system.name)} ({system.year})", {"system": system.slug})


def _what_runs(view: View) -> None:
    """The live models of this installation, and the published ones that would need a download."""
    from core import checkpoints
    from core.settings import settings

    live = [spec for spec in checkpoints.available() if spec.ready]
    fetched = {spec.system for spec in live if spec.source == "hub"}
    published = [s.name for s in catalogue.systems() if s.hub and s.slug not in fetched]
    view.say("Runs")
    if live:
        _live_list(view, live)
        st.page_link("pages/zoo.py", label=view.words.label("models"), icon=":material/table_rows:")
    else:
        view.say("None runs")
    if published:
        how = view.words.part(f"Download {settings().hub}")
        st.caption(plain(f"{view.words.part('Download', names=', '.join(published))} {how}"))


def _live_list(view: View, live: Sequence[CheckpointSpec]) -> None:
    """Links to the live models by branch; below, where those come from that are no whole models trained here."""
    groups = dict.fromkeys([*BRANCH_TITLES, *(spec.branch for spec in live)])
    filled = [(branch, own) for branch in groups if (own := [spec for spec in live if spec.branch == branch])]
    widths = [max(20, *(len(spec.name) for spec in own)) for _, own in filled]  # a link does not wrap
    for column, (branch, own) in zip(st.columns(widths), filled, strict=True):
        with column, st.container(gap=None):
            st.markdown(f"**{plain(BRANCH_TITLES.get(branch, branch))}**")
            for spec in own:
                if branch in BRANCH_TITLES:
                    query = {"model": spec.slug} | ({"system": spec.system} if spec.system else {})
                    page_link(branch, plain(spec.name), query)
                else:  # a host's model of a branch that has no page
                    st.markdown(plain(spec.name))
    others = [f"{spec.name}: {spec.origin.removeprefix(f'{WHOLE}, ')}." for spec in live if spec.origin != WHOLE]
    numbers = {"trained": len(live) - len(others), "live": len(live)}
    st.caption(plain(view.words.part("Trained", **numbers, others=" ".join(others))))


def _first_steps(view: View) -> None:
    """Concrete beginnings, three in a row, each a link that opens a view."""
    view.say("Begin")
    steps = view.words.front["steps"]
    for start in range(0, len(steps), 3):
        for column, step in zip(st.columns(3), steps[start : start + 3], strict=False):
            with column, st.container(border=True, gap=None, height="stretch"):
                page_link(step["page"], f"**{step['label']}**", step["query"], icon=f":material/{step['icon']}:")
                st.caption(terms(step["line"]))


HOME = Section("home", home)
