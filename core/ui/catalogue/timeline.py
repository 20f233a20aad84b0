"""The family over the years: the picture, one line of descent in sentences, and a table of all systems.

The picture is a component: links for the keyboard, a slider of months, a list on narrow screens. Its layouts are
computed here for a few widths (:mod:`core.figures.timeline`); the browser takes the widest that fits and stretches it.
Below the narrowest it shows the list. The slider moves in the browser, which sends only where it stops.
"""

from __future__ import annotations

from calendar import month_name
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import streamlit as st

from core import links
from core.catalogue import citations, milestones, systems
from core.catalogue.schema import BRANCHES
from core.content import content
from core.figures.labels import short
from core.figures.lineage import Entry, family, leap, line_of, middle, tops
from core.figures.timeline import LINE, SYMBOLS, Drawing, Sign, by_size, key, lanes, span_of
from core.links.parameters import Integer
from core.table import Table
from core.theme import PURPLE
from core.ui.component import Component, Message, Position
from core.ui.glossary import Linker, info, plain_terms, unbuilt
from core.ui.links import PageState, page_link
from core.ui.page import BRANCH_TITLES, accent, base_path, plain
from core.ui.panel import offer_drawing, offer_table
from core.ui.param import Carried, Choice, Words
from core.ui.section import Section, View
from core.ui.tables import Link, Part, TableRow, TextTable, text_table

WIDTHS = {"branch": (460, 520, 600, 700, 820, 940, 1060, 1200, 1360), "size": (600, 700, 780, 860, 940, 1120, 1300)}
"""Widths in pixels for which a layout is computed: lanes are quick, but free space for names takes a while to find."""


class Stopped(Message):
    """The month where the slider stopped, from year 0."""

    until: Position


PICTURE = Component("timeline", Stopped, uses=("dom",))


def picture(
    shown: Sequence[Entry], axis: str, *, key: str, until: int, chosen: str | None, label: str, years: bool = True
) -> int | None:
    """Draw ``shown`` by ``axis`` ("branch" or "size") up to the month ``until``, the line of ``chosen`` highlighted.

    Return the month where the visitor has just stopped the slider, if so.
    """
    stopped = PICTURE.sent(key)
    month = None if stopped is None else min(max(stopped.until, family()[0].at), family()[-1].at)
    now = {"until": until if month is None else month, "chosen": chosen, "years": years}
    with st.container(key="atlas-tall"):
        PICTURE.draw(key, component_data(tuple(shown), axis, label) | now)
    return month


@lru_cache(maxsize=64)
def component_data(shown: tuple[Entry, ...], axis: str, label: str) -> dict[str, Any]:
    """The props for a selection of systems; read-only."""
    everything = family()
    span = span_of(everything)
    draw = lanes if axis == "branch" else by_size
    index = {entry.slug: i for i, entry in enumerate(shown)}
    return {
        "nodes": [_node(entry, index) for entry in shown],
        "drawings": [_packed(draw(shown, span, width), shown, axis) for width in WIDTHS[axis]],
        "first": everything[0].at,
        "last": everything[-1].at,
        "label": label,
        "sign": f"{axis} {[entry.slug for entry in shown]}",
    }


def sizes_in_words(entry: Entry) -> str:
    """``109 M to 335 M parameters``, with the number of sizes where there are several."""
    if entry.largest is None or entry.smallest is None:
        return "size not counted" if entry.branch is None else "size not published"
    if entry.smallest == entry.largest:
        return f"{short(entry.largest)} parameters"
    return f"{short(entry.smallest)} to {short(entry.largest)} parameters, {len(entry.sizes)} sizes"


def page_of(entry: Entry) -> str | None:
    """The link to a system's page, or None for a milestone, which has none."""
    return None if entry.branch is None else base_path() + links.url(entry.branch, {"system": entry.slug})


def _node(entry: Entry, index: Mapping[str, int]) -> dict[str, Any]:
    branch = BRANCH_TITLES.get(str(entry.branch), "milestone without a page")
    parent = next((other.name for other in family() if other.slug == entry.parent), "")
    sizes = sizes_in_words(entry)
    text = f"{entry.name}, {entry.date}, {branch}, {entry.organization}, {sizes}"
    return {
        "slug": entry.slug,
        "name": entry.name,
        "at": entry.at,
        "date": entry.date,
        "parent": index.get(entry.parent or "", -1),
        "from": parent,
        "color": accent(str(entry.branch)),
        "shape": SYMBOLS[entry.branch],
        "hollow": entry.largest is None,
        "ring": PURPLE if "efficient" in entry.branches[1:] else "",
        "size": short(entry.largest) if entry.largest else "",
        "href": page_of(entry),
        "who": f"{entry.date} · {branch} · {entry.organization}",
        "sizes": sizes[0].upper() + sizes[1:],
        "change": entry.change,
        "said": text + (f", from {parent}" if parent else ""),
    }


def _packed(drawing: Drawing, shown: Sequence[Entry], axis: str) -> dict[str, Any]:
    signs = key(shown, drawing.width, sizes=axis == "branch")
    below = max((sign.y + max(LINE / 2, sign.r + 3) for sign in signs), default=0.0)
    rounded = _rounded
    return {
        "width": rounded(drawing.width),
        "height": rounded(drawing.height),
        "below": rounded(below),
        "x0": drawing.x0,
        "step": drawing.step,
        "marks": [
            [
                rounded(v)
                for v in (m.x, m.y, m.r, m.low, *((m.label.left, m.label.top, m.label.width) if m.label else ()))
            ]
            for m in drawing.marks
        ],
        "bands": [
            {"color": accent(str(b.branch)), "title": b.title, "top": rounded(b.top), "height": rounded(b.height)}
            for b in drawing.bands
        ],
        "years": [[rounded(x), text] for x, text in drawing.years],
        "levels": [[rounded(y), text] for y, text in drawing.levels],
        "key": [_sign(sign, drawing.height) for sign in signs],
    }


def _sign(sign: Sign, top: float) -> dict[str, Any]:
    return {
        "text": sign.text,
        "color": accent(str(sign.branch)),
        "shape": SYMBOLS[sign.branch],
        "hollow": sign.hollow,
        "ring": PURPLE if sign.ring else "",
        "x": _rounded(sign.x),
        "y": _rounded(top + sign.y),
        "r": _rounded(sign.r),
    }


def _rounded(value: float) -> float:
    return round(value, 1)


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
SYSTEM = Choice(name="line", label="Line of descent", options={}, width=300, hide_label=True)
YEAR = Carried(name="year", label="Year", as_=Integer(None, 1900, 2100))
MONTH = Carried(name="month", label="Month", as_=Integer(None, 1, 12))


def over_time(view: View) -> None:
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
    shown = tuple(e for e in everything if e.slug in inside or set(e.branches) & set(branches))
    if axis == "branch":  # a milestone has no counted size
        parents = {entry.parent for entry in shown}
        every = len(branches) == len(BRANCHES)
        shown = tuple(e for e in everything if e in shown or (not e.branch and (every or e.slug in parents)))
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
    view.note("Counted", last=everything[-1].date)
    offer_drawing(state, state.key("picture"), view.words.title, "svg", "png")
    offer_table(state, family_table(seen), view.words.title, "family")


def _branches(view: View) -> tuple[str, ...]:
    """The branches to show, selected in a popover; a system counts in every branch that lists it."""
    state = view.state
    now = SHOWN.standing(state)
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
    words, best, half = content("catalogue", "timeline"), tops(shown), middle(shown)
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


def steps(line: Sequence[Entry], linker: Linker) -> list[TableRow]:
    """``BERT → RoBERTa``, its month, and its changes, for each system of the line with a parent."""
    names = {entry.slug: entry.name for entry in line}
    return [
        ((_linked(entry, f"{names[entry.parent]} → {entry.name}"),), entry.date, linker.rich(entry.change))
        for entry in line
        if entry.parent in names
    ]


def _list() -> None:
    """All systems as links, by branch, and the milestones in a table, for keyboards, screen readers, small screens."""
    with st.expander("As a list", icon=":material/list:"):
        for column, (branch, title) in zip(st.columns(4), BRANCH_TITLES.items(), strict=True):
            with column, st.container(gap=None):
                st.markdown(f"**{title}**")
                for system in systems():
                    if branch in system.branches:
                        page_link(branch, f"{plain(system.name)} ({system.year})", {"system": system.slug})
        text_table(milestone_table(Linker("timeline.milestones")))


def milestone_table(linker: Linker) -> TextTable:
    """The milestones, oldest first, each with its source."""
    cited = citations()
    rows: list[TableRow] = [
        (
            (row.name, f"{month_name[row.month]} {row.year}, {row.organization}"),
            linker.rich(row.change),
            tuple(part for key in row.sources for part in (cited[key].title, cited[key].evidence)),
        )
        for row in sorted(milestones(), key=lambda row: (row.year, row.month))
    ]
    return TextTable(("Milestone", "What it changed", "Source"), rows, "Milestones without a page here", (20, 50, 30))


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


TIMELINE = Section("timeline", over_time, (AXIS, SHOWN, SYSTEM, YEAR, MONTH))
