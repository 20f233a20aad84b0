"""What stands below the picture: what to notice, one line of descent in sentences, and everything as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from core.figures.lineage import Entry, family, leap, middle, tops
from core.figures.numbers import short
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import Linker, linking, noted, plain_terms
from core.ui.page import BRANCH_TITLES, plain
from core.ui.text_table import Link, Part, Row, TextTable, text_table
from core.ui.timeline.frame import TimelineView
from core.ui.timeline.picture import page_of, sizes_in_words

COLUMNS = (
    "slug",
    "name",
    "year",
    "month",
    "organisation",
    "branch",
    "also listed under",
    "parent",
    "smallest size (parameters)",
    "largest size (parameters)",
    "change",
)


def notice(view: TimelineView) -> None:
    """Try, and notice: both true for what is shown."""
    sentences = [growth_sentence(view.seen), middle_sentence(view.seen)]
    said = " ".join(sentence for sentence in sentences if sentence)
    tries = (
        "**Try** Play, and watch where the branches begin. A node opens its system; the pointer, or the arrow keys on "
        "a node, show its line."
    )
    st.markdown(tries + (f"\n\n**Notice** {plain_terms(said)}" if said else ""))
    noted(
        "A system stands at the month of its first public version, with all the sizes that its page lists, later ones "
        "too. Sizes are counted from the module trees; the largest one sets a marker’s area, or its height."
    )


def growth_sentence(shown: Sequence[Entry]) -> str:
    """How far each year's systems went, the largest leap, and what came since; empty where there is nothing to say."""
    best = tops(shown)
    if len(best) < 2:
        return ""
    reached = [f"{short(entry.largest or 0)} in {entry.year} ({entry.name})" for entry in best]
    reached[0] = reached[0].replace(" in ", " parameters in ", 1)
    said = f"each year’s largest, by the year in which a system began: {', '.join(reached)}."
    step = leap(shown)
    if step is not None:
        before, after, factor = step
        said += f" The largest leap, from {before.year} to {after.year}, is {_times(factor)}."
    later = sum(entry.at > best[-1].at and entry.largest is not None for entry in shown)
    if later:
        said += f" None of the {later} that began since is larger." if later > 1 else " The one since is not larger."
    return said


def middle_sentence(shown: Sequence[Entry]) -> str:
    """What most of them are: the middle of the largest sizes."""
    half = middle(shown)
    counted = sum(entry.largest is not None for entry in shown)
    if half is None or counted < 4:
        return ""
    return f"Most stayed small: half of the {counted} with a size have none above {short(half)}."


def _times(factor: float) -> str:
    """``34 times`` from ten on, else with a decimal."""
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.1f} times"


def line_of_descent(view: TimelineView) -> None:
    """The changes along the chosen system's line, one sentence or two for each step."""
    if not view.line:
        return
    chosen = next(entry for entry in view.line if entry.slug == view.chosen)
    st.subheader(plain(f"The line of {chosen.name}"), anchor=False)
    with linking("timeline.line") as linker:
        rows = steps(view.line, linker)
    if not rows:
        st.markdown(plain(f"{chosen.name} has neither parent nor children here. ") + plain_terms(chosen.change))
        return
    caption = f"Each step of the line of {chosen.name}: from whom to whom, when, and what changed"
    text_table(TextTable(("Step", "When", "What changed"), rows, caption, widths=(27, 15, 58)))


def steps(line: Sequence[Entry], linker: Linker) -> list[Row]:
    """``BERT → RoBERTa``, its month, and what it changed, for everyone in the line with a parent."""
    names = {entry.slug: entry.name for entry in line}
    return [
        ((_linked(entry, f"{names[entry.parent]} → {entry.name}"),), entry.date, linker.rich(entry.change))
        for entry in line
        if entry.parent in names
    ]


def same_as_table(view: TimelineView) -> None:
    """The picture's systems as a table to read and a file to keep."""
    with st.expander("The same as a table", icon=":material/table_rows:"):
        names = {entry.slug: entry.name for entry in family()}
        with linking("timeline.table") as linker:
            rows: list[Row] = [
                (
                    (_linked(entry, entry.name), entry.organisation),
                    entry.date,
                    _branch(entry),
                    _parameters(entry),
                    names.get(entry.parent or "", ""),
                    linker.rich(entry.change),
                )
                for entry in view.seen
            ]
        headings = ("System", "When", "Branch", "Parameters", "From", "What changed")
        text_table(
            TextTable(headings, rows, "The systems of the picture, oldest first", widths=(18, 11, 13, 14, 12, 32))
        )
        download_csv(family_table(view.seen), "family", view.state.key("csv"))


def family_table(shown: Iterable[Entry]) -> Table:
    """The rows of ``shown``; sizes in full."""
    return Table(
        COLUMNS,
        tuple(
            (
                entry.slug,
                entry.name,
                entry.year,
                entry.month,
                entry.organisation,
                entry.branch,
                " ".join(entry.branches[1:]),
                entry.parent,
                entry.smallest or None,
                entry.largest or None,
                entry.change,
            )
            for entry in shown
        ),
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
