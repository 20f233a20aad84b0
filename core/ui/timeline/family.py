"""The family over the years: the picture, one line of descent in sentences, and a table of all systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import streamlit as st

from core.catalogue import BRANCHES, systems
from core.content import content
from core.figures.labels import short
from core.figures.lineage import Entry, family, leap, line_of, middle, tops
from core.links.parameters import Integer
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import Linker, plain_terms
from core.ui.links import PageState, page_link
from core.ui.notices import info, unbuilt
from core.ui.page import BRANCH_TITLES, plain
from core.ui.param import Carried, Choice, Words
from core.ui.section import Section, View
from core.ui.text_table import Link, Part, Row, TextTable, text_table
from core.ui.timeline.picture import page_of, picture, sizes_in_words

AXIS = Choice(
    name="axis", label="Vertical axis", options={"branch": "By branch", "size": "By size"}, style="row", hide_label=True
)
SHOWN = Words(
    name="branches",
    label="Branches",
    default=BRANCHES,
    options={branch: BRANCH_TITLES[branch] for branch in BRANCHES},
    most=len(BRANCHES),
    may_be_empty=True,
    hide_label=True,
)
SYSTEM = Choice(name="system", label="Line of descent", options={}, width=300, hide_label=True)
YEAR = Carried(name="year", label="Year", as_=Integer(None, 1900, 2100))
MONTH = Carried(name="month", label="Month", as_=Integer(None, 1, 12))


def over_time(view: View) -> None:
    """Draw the section."""
    state, everything = view.state, family()
    names = {entry.slug: entry.name for entry in sorted(everything, key=lambda entry: entry.name.lower())}
    lines = {"": "No line of descent", **{slug: f"Line of {name}" for slug, name in names.items()}}
    with st.container(horizontal=True, vertical_alignment="center"):
        axis = AXIS.draw(state)
        branches = _branches(view)
        chosen = SYSTEM.with_(options=lines).draw(state)
    line = line_of(chosen, everything) if chosen else ()
    until = _until(view)
    if not branches:
        info(view.words.part("No branch"))
        return
    inside = {entry.slug for entry in line}
    shown = tuple(e for e in everything if not e.branch or e.slug in inside or set(e.branches) & set(branches))
    count = sum(entry.branch is not None for entry in shown)
    label = view.words.part("Alt", systems=count, axis=AXIS.options[axis].lower())
    stopped = picture(shown, axis, key=state.key("picture"), until=until, chosen=chosen or None, label=label)
    unbuilt()
    if stopped is not None:
        until = stopped
        _store_month(state, until)
    seen = tuple(entry for entry in shown if entry.at <= until)
    view.try_and_notice(growth=plain(growth(seen)))
    if line:
        _line_of_descent(view, line, names[chosen], chosen)
    _list()
    with st.expander("As a table", icon=":material/table_rows:"):
        _table(seen, names)
        view.note("Counted")
        download_csv(family_table(seen), "family", state.key("csv"))


def _branches(view: View) -> tuple[str, ...]:
    """The branches to show, selected in a popover; a system counts in every branch that lists it."""
    state = view.state
    before = SHOWN.value(state)
    now = st.session_state.get(state.key(SHOWN.name), before)  # what was just chosen, so that the label keeps up
    some = ", ".join(title for branch, title in SHOWN.options.items() if branch in now)
    label = "all" if len(now) == len(BRANCHES) else some or "none"
    with st.popover(f"Branches: {label}", key=state.key("branches.open")):
        chosen = SHOWN.draw(state)
        view.note("Branches")
    return chosen


def _until(view: View) -> int:
    """The last month to show; a month outside the family's range gets a warning."""
    state = view.state
    everything = family()
    year = YEAR.value(state)
    if not isinstance(year, int):
        state.set(month=None)
        return everything[-1].at
    wanted = year * 12 + cast(int, MONTH.value(state) or 12) - 1
    until = min(max(wanted, everything[0].at), everything[-1].at)
    if year < everything[0].year or year > everything[-1].year:
        view.note("Span", first=everything[0].date, last=everything[-1].date)
    _store_month(state, until)
    return until


def _store_month(state: PageState, until: int) -> None:
    """Store the last month in the URL, in its shortest form."""
    if until >= family()[-1].at:
        state.set(year=None, month=None)
    else:
        state.set(year=until // 12, month=None if until % 12 == 11 else until % 12 + 1)


def growth(shown: Sequence[Entry]) -> str:
    """Sentences on each year's largest system, the largest increase, the systems since, and how small most are."""
    words, best, half = content("timeline", "family"), tops(shown), middle(shown)
    counted = sum(entry.largest is not None for entry in shown)
    sentences = []
    if len(best) > 1:
        reached = [f"{short(entry.largest or 0)} in {entry.year} ({entry.name})" for entry in best]
        reached[0] = reached[0].replace(" in ", " parameters in ", 1)
        sentences.append(words.part("Growth", reached=", ".join(reached)))
        if (step := leap(shown)) is not None:
            before, after, factor = step
            times = f"{factor:,.0f}" if factor >= 10 else f"{factor:.1f}"
            sentences.append(words.part("Leap", before=before.year, after=after.year, times=times))
        if later := sum(entry.at > best[-1].at and entry.largest is not None for entry in shown):
            sentences.append(words.part("Since" if later > 1 else "Since: one", later=later))
    if half is not None and counted > 3:
        sentences.append(words.part("Most", counted=counted, half=short(half)))
    return " ".join(sentences) or words.part("Too few")


def _line_of_descent(view: View, line: Sequence[Entry], name: str, slug: str) -> None:
    """Draw the changes along the selected system's line of descent."""
    st.subheader(plain(f"Line of descent of {name}"), anchor=False)
    rows = steps(line, Linker("timeline.line"))
    if not rows:
        change = next(entry.change for entry in line if entry.slug == slug)
        st.markdown(f"{plain(view.words.part('Alone', name=name))} {plain_terms(change)}")
        return
    caption = f"Line of descent of {name}"
    text_table(TextTable(("Step", "When", "What changed"), rows, caption, widths=(27, 15, 58)))


def steps(line: Sequence[Entry], linker: Linker) -> list[Row]:
    """``BERT → RoBERTa``, its month, and its changes, for each system of the line with a parent."""
    names = {entry.slug: entry.name for entry in line}
    return [
        ((_linked(entry, f"{names[entry.parent]} → {entry.name}"),), entry.date, linker.rich(entry.change))
        for entry in line
        if entry.parent in names
    ]


def _list() -> None:
    """All systems as links, by branch, for keyboards, screen readers and small screens."""
    with st.expander("As a list", icon=":material/list:"):
        for column, (branch, title) in zip(st.columns(4), BRANCH_TITLES.items(), strict=True):
            with column, st.container(gap=None):
                st.markdown(f"**{title}**")
                for system in systems():
                    if branch in system.branches:
                        page_link(branch, f"{plain(system.name)} ({system.year})", {"system": system.slug})


def _table(seen: Sequence[Entry], names: dict[str, str]) -> None:
    """Draw the systems of the picture as a table."""
    linker = Linker("timeline.table")
    rows: list[Row] = [
        (
            (_linked(entry, entry.name), entry.organization),
            entry.date,
            _branch(entry),
            _parameters(entry),
            names.get(entry.parent or "", ""),
            linker.rich(entry.change),
        )
        for entry in seen
    ]
    headings = ("System", "When", "Branch", "Parameters", "From", "What changed")
    text_table(TextTable(headings, rows, "Systems, oldest first", widths=(18, 11, 13, 14, 12, 32)))


def family_table(shown: Iterable[Entry]) -> Table:
    """The rows of ``shown``; sizes in full."""
    return Table.from_records(
        [
            {
                "slug": entry.slug,
                "name": entry.name,
                "year": entry.year,
                "month": entry.month,
                "organization": entry.organization,
                "branch": entry.branch,
                "also listed under": " ".join(entry.branches[1:]),
                "parent": entry.parent,
                "smallest size (parameters)": entry.smallest or None,
                "largest size (parameters)": entry.largest or None,
                "change": entry.change,
            }
            for entry in shown
        ]
    )


def _linked(entry: Entry, text: str) -> Part:
    href = page_of(entry)
    return text if href is None else Link(text, href)


def _branch(entry: Entry) -> tuple[Part, ...]:
    if entry.branch is None:
        return ("root",)
    also = [BRANCH_TITLES[branch] for branch in entry.branches[1:]]
    return (BRANCH_TITLES[entry.branch], f"also {', '.join(also)}" if also else "")


def _parameters(entry: Entry) -> tuple[Part, ...]:
    if entry.largest is None or entry.smallest is None:
        return (sizes_in_words(entry),)
    if entry.largest == entry.smallest:
        return (short(entry.largest),)
    return (f"{short(entry.smallest)} to {short(entry.largest)}", f"{len(entry.sizes)} sizes")


FAMILY = Section("family", over_time, (AXIS, SHOWN, SYSTEM, YEAR, MONTH))
