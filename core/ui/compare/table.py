"""The section "Table": filter, choose, sort, pin, read, download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from core.anatomy.sheet import COLUMNS, Filter, SheetRow, chosen, ordered, sheet
from core.anatomy.sheet_files import markdown, sheet_table
from core.catalogue import BRANCHES
from core.ui.compare.pins import pins_html
from core.ui.compare.sheet import sheet_html
from core.ui.export import download_csv, download_markdown
from core.ui.glossary import linking, told
from core.ui.links import PageState, take_up
from core.ui.notices import informed
from core.ui.page import BRANCH_TITLES, base_path, plain
from core.ui.text_table import inline

_ALL = "all"
_AGE = "age"
_LIVE = {"all": "All", "yes": "The architecture", "no": "Not, or a relative"}
MOST_CHARS = 80
"""The longest search text."""
MOST_PINS = 4
_CHOSEN = tuple(column for column in COLUMNS if column.slug != "name")
"""Columns that may be left out."""
_HEADINGS = {column.slug: column.heading for column in COLUMNS}


def systems_table(state: PageState) -> None:
    """Draw the whole section; reads and writes everything but ``left`` and ``right`` of the page's link."""
    rows = sheet()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        anywhere = _search(state, "any", "Search", "All words must occur in a row: rotary, 2019 Google", width=190)
        branch = _branch(state)
        column, falling = _sort(state)
        within, years, live = _filters(state, rows)
        columns = _columns(state)
    wanted = Filter(anywhere, within, branch, *years, live)
    found = ordered(chosen(rows, wanted), column, reverse=falling)
    pinned = _pins(state, rows)
    count = f"{len(found)} of {len(rows)} systems" if len(found) < len(rows) else f"{len(rows)} systems"
    if len(pinned) > 1:
        _beside(state, pinned, columns)
    if not found:
        informed(
            f"None of the {len(rows)} systems has all of that. Fewer words in the search, or Reset, bring the others "
            "back."
        )
        return
    st.caption(f"{count}, {len(columns)} of {len(COLUMNS)} properties. Small print says how a cell's source was read.")
    with linking("compare.table") as linker:
        st.html(sheet_html(found, columns, base=base_path(), linker=linker))
    _downloads(state, found, columns)
    told(
        "**Try** Sources in a row: every cell then names the text it stands on. Or pin two systems and read only what "
        "differs.\n\n"
        "**Notice** how few activations and tokenisers there are, and how often a published count of parameters is not "
        "the count of the tree."
    )
    st.caption(
        "The columns are those of the big table of source 001; the cells come from this atlas's records, where slips "
        "of the sources are mended. Names, years and houses are given as they are commonly listed. Parameters are "
        "counted in the trees, shared ones once."
    )


def _search(state: PageState, name: str, label: str, hint: str, *, width: int | Literal["stretch"] = "stretch") -> str:
    """A search text of a link or a visitor, cut to what the field takes."""
    asked = state.text(name)
    if len(asked) > MOST_CHARS:
        st.caption(f"Only the first {MOST_CHARS} characters of a search count.")
    typed = st.text_input(
        label, value=asked[:MOST_CHARS], max_chars=MOST_CHARS, key=state.key(name), help=hint, width=width
    )
    words = (typed or "").strip()
    state.set(**{name: words or None})
    return words


def _branch(state: PageState) -> str:
    options = [_ALL, *BRANCHES]
    current = state.text("branch", _ALL)
    picked = st.selectbox(
        "Branch",
        options,
        index=options.index(current) if current in options else 0,
        key=state.key("branch"),
        format_func=lambda slug: "All branches" if slug == _ALL else BRANCH_TITLES[slug],
        width=150,
    )
    state.set(branch=None if picked == _ALL else picked)
    return "" if picked == _ALL else picked


def _sort(state: PageState) -> tuple[str, bool]:
    options = [_AGE, *(column.slug for column in COLUMNS)]
    current = state.text("sort", _AGE)
    picked = st.selectbox(
        "Sort by",
        options,
        index=options.index(current),
        key=state.key("sort"),
        width=135,
        format_func=lambda slug: "Year" if slug == _AGE else _HEADINGS[slug],
        help="Parameters and vocabulary are sorted by the counts of the tree, other columns by their words",
    )
    falling = st.toggle("Descending", value=state.text("order") == "down", key=state.key("order"))
    state.set(sort=None if picked == _AGE else picked, order="down" if falling else None)
    return ("" if picked == _AGE else picked), falling


def _filters(
    state: PageState, rows: Sequence[SheetRow]
) -> tuple[dict[str, str], tuple[int | None, int | None], bool | None]:
    """Years, what runs here, and a search in each column."""
    active = sum(bool(state.text(column.slug)) for column in COLUMNS)
    active += sum(state.values.get(name) is not None for name in ("from", "to", "live"))
    with st.popover(f"Filters ({active})" if active else "Filters", icon=":material/filter_alt:", width="content"):
        low, high = min(row.system.year for row in rows), max(row.system.year for row in rows)
        begin, end = (min(max(state.number(name, at), low), high) for name, at in (("from", low), ("to", high)))
        first, last = st.slider("Years", low, high, (min(begin, end), max(begin, end)), key=state.key("years"))
        kind = st.segmented_control(
            "Runs here",
            list(_LIVE),
            format_func=_LIVE.__getitem__,
            default=state.text("live", "all"),
            key=state.key("live"),
            required=True,
        )
        st.caption("Words that must occur in a column:")
        left, right = st.columns(2)
        within = {}
        for at, column in enumerate(COLUMNS):
            with (left, right)[at % 2]:
                words = _search(state, column.slug, column.heading, "All words must occur in this cell")
            if words:
                within[column.slug] = words
    years = first if first > low else None, last if last < high else None
    state.set(**{"from": years[0], "to": years[1]}, live=None if kind == "all" else kind)
    return within, years, None if kind == "all" else kind == "yes"


def _columns(state: PageState) -> list[str]:
    """The chosen columns in the table's order; the name is always there."""
    options = [column.slug for column in _CHOSEN]
    asked = state.words("columns")
    start = options if asked is None else [slug for slug in options if slug in asked]
    with st.popover("Columns", icon=":material/view_column:", width="content"):
        picked = st.pills(
            "Columns",
            options,
            selection_mode="multi",
            default=start,
            format_func=_HEADINGS.__getitem__,
            key=state.key("columns"),
        )
    kept = [slug for slug in options if slug in picked]
    state.set(columns=None if len(kept) == len(options) else tuple(kept))
    return ["name", *kept]


def _pins(state: PageState, rows: Sequence[SheetRow]) -> list[SheetRow]:
    by_slug = {row.system.slug: row for row in rows}
    picked = st.multiselect(
        "Side by side",
        list(by_slug),
        default=list(state.words("pins") or ())[:MOST_PINS],
        format_func=lambda slug: by_slug[slug].system.name,
        max_selections=MOST_PINS,
        key=state.key("pins"),
        placeholder="Pin two to four systems to see where they differ",
    )
    state.set(pins=tuple(picked) or None)
    return [by_slug[slug] for slug in picked]


def _beside(state: PageState, pinned: Sequence[SheetRow], columns: Sequence[str]) -> None:
    *first, last = (row.system.name for row in pinned)
    names = f"{', '.join(first)} and {last}"
    st.subheader(plain(f"Side by side: {names}"), anchor=False)
    with linking("pins") as linker:
        st.html(pins_html(pinned, [slug for slug in columns if slug != "name"], lambda text: inline(linker.rich(text))))
    other = "the other has not" if len(pinned) == 2 else "none of the others has"
    st.caption(f"Shaded: words that {other}. What nobody found in a text is not compared.")
    if len(pinned) == 2:
        left, right = (row.system.slug for row in pinned)
        wanted = {**state.values, "tab": "trees", "left": left, "right": right}
        wanted |= {"left-size": None, "right-size": None}
        # a link to the page that stands already would leave the old address in the address bar
        st.button(
            plain(f"Their trees, part by part: {names}"),
            icon=":material/compare:",
            key=state.key("trees"),
            on_click=take_up,
            args=(state.page, wanted),
        )


def _downloads(state: PageState, rows: Sequence[SheetRow], columns: Sequence[str]) -> None:
    tip = "These rows and columns, each cell with its sources"
    with st.container(horizontal=True):
        download_csv(sheet_table(rows, columns), "systems", state.key("save.csv"), tip=tip)
        download_markdown(markdown(rows, columns), "systems", state.key("save.md"), tip=tip)
