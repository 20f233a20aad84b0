"""The parts of Home: doors to the branches, the family as a list, what runs here, and nine ways to begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core import catalogue
from core.catalogue import System
from core.figures.lineage import family
from core.ui.glossary import noted
from core.ui.links import page_link
from core.ui.page import BRANCH_ICONS, BRANCH_TITLES, plain
from core.ui.timeline.picture import picture
from core.ui.unbuilt import unbuilt

if TYPE_CHECKING:
    from core.checkpoints.spec import CheckpointSpec

_SENTENCES = {
    "encoder": "Reads both ways: hide words and see its guess.",
    "decoder": "Writes left to right: watch and change its choices.",
    "encoder-decoder": "Reads one text, writes another: see where it looks.",
    "efficient": "Does with less: sparse against full attention.",
}

_STEPS: tuple[tuple[str, str, str, dict[str, str], str], ...] = (
    (
        "encoder",
        ":material/visibility:",
        "Hide a word",
        {"system": "minilm", "text": "The doctor washed her [MASK] before dinner."},
        "A live encoder fills the gap from both sides. Then hide a second word and watch the first guess change.",
    ),
    (
        "decoder",
        ":material/edit_note:",
        "Overrule a decoder",
        {"system": "gpt-2", "text": "Once upon a time there was a little fox who"},
        "Each step shows what else could have come. Go back, take the second choice, and read another story.",
    ),
    (
        "decoder",
        ":material/account_tree:",
        "Walk through GPT-3",
        {"system": "gpt-3", "tab": "tree"},
        "GPT-3's module tree at full size, with every tensor's shape, although no weight is loaded.",
    ),
    (
        "attention",
        ":material/grid_on:",
        "Switch heads off",
        {"tab": "off"},
        "Which head does an answer need? Take heads away one by one: many a beautiful one turns out to do nothing.",
    ),
    (
        "objectives",
        ":material/quiz:",
        "Guess ten words",
        {"tab": "rounds"},
        "Ten hidden words, a model and you. Write down your guess before you see what it says.",
    ),
    (
        "objectives",
        ":material/healing:",
        "Damage a sentence",
        {"objective": "spans"},
        "See what a model is asked while it is trained: your sentence damaged, the target, and which words count.",
    ),
    (
        "tokenizers",
        ":material/content_cut:",
        "Cut a word",
        {"tab": "steps"},
        "Watch how a long word falls into pieces, merge by merge, and how another tokeniser cuts the same word.",
    ),
    (
        "generation",
        ":material/edit:",
        "Compare ways to choose",
        {"tab": "side"},
        "One beginning, several rules for the next word, side by side, with every word's surprise as a colour.",
    ),
    (
        "vectors",
        ":material/scatter_plot:",
        "Follow one word",
        {"tab": "word"},
        "“Play” in twelve sentences begins as one vector; layer by layer the sentences pull it apart.",
    ),
)
"""Page, icon, label, query and what one does there."""


def family_picture() -> None:
    """The family in lanes over the years; a node opens its system. The same picture is played on the timeline."""
    everything = family()
    systems = len(catalogue.systems())
    label = f"{systems} systems over the years in a lane for each branch; arrow keys walk, Enter opens"
    picture(everything, "branch", key="home.family", until=everything[-1].at, chosen=None, label=label, play=False)
    unbuilt()


def doors() -> None:
    """One card for each branch: its page, what one does there, how many systems it lists."""
    for branch, title in BRANCH_TITLES.items():
        listed = catalogue.by_branch(branch)
        with st.container(border=True, gap=None):
            st.page_link(f"pages/{branch}.py", label=f"**{title}**", icon=BRANCH_ICONS[branch])
            st.caption(f"{_SENTENCES[branch]} {len(listed)} systems.")


def family_list(systems: Sequence[System]) -> None:
    """The picture as links, by branch, for keyboards, screen readers and small screens."""
    with st.expander("The family as a list", icon=":material/list:"):
        for column, (branch, title) in zip(st.columns(4), BRANCH_TITLES.items(), strict=True):
            with column, st.container(gap=None):
                st.markdown(f"**{title}**")
                for system in systems:
                    if branch in system.branches:
                        page_link(branch, f"{plain(system.name)} ({system.year})", {"system": system.slug})


def what_runs() -> None:
    """The live models of this installation, and the published ones that would need a download."""
    from core import checkpoints
    from core.settings import settings

    live = [spec for spec in checkpoints.available() if spec.ready]
    fetched = {spec.system for spec in live if spec.source == "hub"}
    published = [s.name for s in catalogue.systems() if s.hub and s.slug not in fetched]
    st.subheader("What runs on this machine", anchor=False)
    if live:
        _live_list(live)
        st.page_link("pages/zoo.py", label="Models: all of them in one table", icon=":material/table_rows:")
    else:
        st.markdown("No live model is installed here; trees and facts of every system are complete without one.")
    if not published:
        return
    if settings().hub == "on":
        how = "Each system's page offers the download and states its size before anything is fetched."
    else:
        how = "Downloads are off here; whoever runs this installation can allow them with ATLAS_HUB=on."
    st.caption(plain(f"What would need a download: published checkpoints of {_joined(published)}. {how}"))


def _live_list(live: Sequence[CheckpointSpec]) -> None:
    """Links to the live models by branch; below, where those come from that were not trained here."""
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
    elsewhere = [f"{spec.name}: {spec.origin}" for spec in live if not spec.origin.startswith("trained here")]
    trained = len(live) - len(elsewhere)
    said = " ".join(f"{line}." for line in elsewhere)
    st.caption(plain(f"Trained here: {trained} of {len(live)}. {said}"))


def first_steps() -> None:
    """Concrete beginnings, three in a row, each a link that opens a view."""
    st.subheader("Where to begin", anchor=False)
    for start in range(0, len(_STEPS), 3):
        row = _STEPS[start : start + 3]
        for column, (page, icon, label, query, sentence) in zip(st.columns(3), row, strict=True):
            with column, st.container(border=True, gap=None, height="stretch"):
                page_link(page, f"**{label}**", query, icon=icon)
                noted(sentence)


def _joined(names: Iterable[str]) -> str:
    """``a, b and c``."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
