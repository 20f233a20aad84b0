"""The frame of the timeline: what is shown and how, up to which month, and whose line is lit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from core.catalogue import BRANCHES
from core.figures.lineage import Entry, family, line_of
from core.ui.links import PageState, open_page
from core.ui.notices import informed
from core.ui.page import BRANCH_TITLES, header, plain
from core.ui.timeline.picture import picture
from core.ui.unbuilt import unbuilt

AXES = {"branch": "By branch", "size": "By size"}


@dataclass(frozen=True, slots=True)
class TimelineView:
    """What the visitor chose: ``shown`` in time's order, the ``line`` of the chosen system, the last month."""

    state: PageState
    axis: str
    shown: tuple[Entry, ...]
    line: tuple[Entry, ...]
    until: int

    @property
    def chosen(self) -> str | None:
        """The slug of the system whose line is lit."""
        return self.state.text("system") or None

    @property
    def seen(self) -> tuple[Entry, ...]:
        """What is shown up to the last month."""
        return tuple(entry for entry in self.shown if entry.at <= self.until)


def timeline_frame() -> TimelineView:
    """Draw title and controls; reads and writes axis, branches, system, year and month."""
    header(
        "Timeline",
        "Who came when, from whom, and how large, counted from the module trees.",
    )
    everything = family()
    names = {entry.slug: entry.name for entry in everything}
    state = open_page("timeline", {"branches": BRANCHES, "system": names})
    with st.container(horizontal=True, vertical_alignment="center"):
        axis = _axis(state)
        branches = _branches(state)
        chosen = _system(state, names)
    line = line_of(chosen, everything) if chosen else ()
    inside = {entry.slug for entry in line}
    shown = tuple(e for e in everything if not e.branch or e.slug in inside or set(e.branches) & set(branches))
    if not branches:
        informed("No branch is chosen. Choose one or more under “Branches”.")
        shown = ()
    return TimelineView(state, axis, shown, line, _until(state))


def family_over_time(view: TimelineView) -> TimelineView:
    """The picture, whose nodes are links to the systems. The view that returns ends where playing has stopped."""
    systems = sum(entry.branch is not None for entry in view.shown)
    label = f"{systems} systems over the years {AXES[view.axis].lower()}; arrow keys walk, Enter opens"
    until = picture(
        view.shown, view.axis, key=view.state.key("picture"), until=view.until, chosen=view.chosen, label=label
    )
    unbuilt()
    if until is None:
        return view
    keep(view.state, until)
    return replace(view, until=until)


def keep(state: PageState, until: int) -> None:
    """Put the last month into the link; the end of time and a year's December need no words."""
    if until >= family()[-1].at:
        state.set(year=None, month=None)
    else:
        state.set(year=until // 12, month=None if until % 12 == 11 else until % 12 + 1)


def _axis(state: PageState) -> str:
    chosen = st.segmented_control(
        "Arranged",
        list(AXES),
        default=state.text("axis", "branch"),
        required=True,
        key=state.key("axis"),
        format_func=AXES.__getitem__,
        label_visibility="collapsed",
    )
    state.set(axis=chosen)
    return str(chosen)


def _branches(state: PageState) -> tuple[str, ...]:
    """The branches to show; a system counts wherever it is listed."""
    wanted = state.words("branches")
    before = [branch for branch in BRANCHES if wanted is None or branch in wanted]
    now = st.session_state.get(state.key("branches"), before)  # what was just chosen, so that the label keeps up
    some = ", ".join(BRANCH_TITLES[branch] for branch in BRANCHES if branch in now)
    label = "all" if len(now) == len(BRANCHES) else some or "none"
    with st.popover(f"Branches: {label}", key=state.key("branches.open")):
        chosen = st.pills(
            "Branches",
            list(BRANCHES),
            selection_mode="multi",
            key=state.key("branches"),
            default=before,
            format_func=BRANCH_TITLES.__getitem__,
            label_visibility="collapsed",
        )
        st.caption("A system counts under every branch where it is listed.")
    kept = tuple(branch for branch in BRANCHES if branch in chosen)
    state.set(branches=None if len(kept) == len(BRANCHES) else kept)
    return kept


def _system(state: PageState, names: dict[str, str]) -> str | None:
    slugs = ["", *sorted(names, key=lambda slug: names[slug].lower())]
    current = state.text("system")
    chosen = st.selectbox(
        "Line of descent",
        slugs,
        index=slugs.index(current) if current in slugs else 0,
        key=state.key("system"),
        format_func=lambda slug: f"Line of {names[slug]}" if slug else "No line lit",
        width=300,
        label_visibility="collapsed",
    )
    state.set(system=chosen or None)
    return chosen or None


def _until(state: PageState) -> int:
    """The last month to show; a link may name one before or after everything, which the page says."""
    everything = family()
    year = state.values.get("year")
    if not isinstance(year, int):
        state.set(month=None)
        return everything[-1].at
    wanted = year * 12 + state.number("month", 12) - 1
    until = min(max(wanted, everything[0].at), everything[-1].at)
    if year < everything[0].year or year > everything[-1].year:
        st.caption(plain(f"The family shown here begins in {everything[0].date} and ends in {everything[-1].date}."))
    keep(state, until)
    return until
