"""The section Table: filters, columns, order, pinned systems, sources, downloads.

The table is HTML, in which everything is escaped. Two check boxes in each row work without the server: one shows
the source of every cell, one (on a narrow screen, where rows are cards) the properties that a card omits at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import cast

import streamlit as st

from core import links
from core.anatomy.sheet import (
    COLUMNS,
    MISSING,
    Cell,
    Filter,
    SheetRow,
    chosen,
    cited,
    marked,
    ordered,
    sheet,
    sheet_table,
)
from core.catalogue.schema import BRANCHES, Citation
from core.links.parameters import Integer
from core.ui.export import download_csv
from core.ui.glossary import Linker, info, unbuilt
from core.ui.links import PageState, page_link, take_up
from core.ui.page import BRANCH_TITLES, accent, base_path, css, plain
from core.ui.param import Carried, Choice, Text, Toggle, Words, differing, settings_popover
from core.ui.section import Section, View
from core.ui.tables import Mark, Part, Rich, TableRow, TextTable, inline, text_table

_WIDTHS = {"name": 11, "type": 10, "parameters": 17, "activation": 10, "batch": 13, "unknown": 14}
_USUAL = 17
_MOST_MARKED = 0.6
"""The largest share of a text that marks may cover; where more differs, “differs” says all."""
_IN_CARD = 4
"""Cells that a closed card shows, including the name."""

STYLE = css("sheet")


def sheet_html(rows: Sequence[SheetRow], columns: Sequence[str], linker: Linker) -> str:
    """The table of ``rows``; ``columns`` are slugs, the name first."""
    headings = {column.slug: column.heading for column in COLUMNS}
    widths = [_WIDTHS.get(slug, _USUAL) for slug in columns]
    style = STYLE.replace("WIDTH", str(sum(widths))).replace("CARD", str(_IN_CARD + 1))
    cols = "".join(f'<col style="width:{width}rem">' for width in widths)
    head = "".join(f'<th scope="col">{escape(headings[slug])}</th>' for slug in columns)
    body = "".join(f"<tr>{_name(row)}{_cells(row, columns, headings, linker)}</tr>" for row in rows)
    return (
        f'{style}<div class="atlas-sheet" role="region" aria-label="Systems, property by property" tabindex="0"><table>'
        f"<caption>Systems, property by property</caption><colgroup>{cols}</colgroup>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _name(row: SheetRow) -> str:
    system = row.system
    href = base_path() + links.url(system.branch, {"system": system.slug, "facts": "open"})
    small = "".join(f"<small>{escape(line)}</small>" for line in row.cells["name"].lines[1:])
    live = "<small>runs here</small>" if system.live.exact else ""
    dot = f'<span class="dot" style="background:{accent(system.branch)}"></span>'
    of = escape(system.name)
    return (
        f'<th scope="row">{dot}<a href="{escape(href)}">{of}</a>{small}{live}'
        f'<label><input type="checkbox" class="s" aria-label="Sources of {of}">Sources</label>'
        f'<label class="card"><input type="checkbox" class="c" aria-label="All properties of {of}">'
        "All properties</label></th>"
    )


def _cells(row: SheetRow, columns: Sequence[str], headings: dict[str, str], linker: Linker) -> str:
    shown = (slug for slug in columns if slug != "name")
    return "".join(f'<td data-h="{escape(headings[slug])}">{_cell(row.cells[slug], linker)}</td>' for slug in shown)


def _cell(cell: Cell, linker: Linker) -> str:
    if not cell.lines:
        return f'<span class="none">{MISSING}</span>'
    hover = escape("\n".join(map(cited, cell.citations)))
    lines = "".join(f"<div>{inline(linker.rich(line))}</div>" for line in cell.lines)
    evidence = f'<small class="ev">{escape(cell.evidence)}</small>' if cell.evidence else ""
    return f'<div title="{hover}">{lines}{evidence}</div>' + "".join(map(_source, cell.citations))


def _source(citation: Citation) -> str:
    title = escape(citation.title)
    # addresses come from records, and only the web's are links
    if citation.url and citation.url.startswith(("https://", "http://")):
        title = f'<a href="{escape(citation.url)}">{title}</a>'
    who = f"{escape(citation.authors)}: " if citation.authors else ""
    return f'<small class="src">{who}{title}. {escape(citation.evidence.capitalize())}: {escape(citation.read)}</small>'


def pins_table(rows: Sequence[SheetRow], columns: Sequence[str], linker: Linker) -> TextTable:
    """Two or more systems as columns, properties as rows; words unique to a column are marked, if they are few."""
    names = tuple(row.system.name for row in rows)
    body = [_property(column.slug, column.heading, rows, linker) for column in COLUMNS if column.slug in columns]
    caption = f"{' and '.join(names)}, property by property"
    return TextTable(("", *names), body, caption, (16, *[84 // len(rows)] * len(rows)))


def _property(slug: str, heading: str, rows: Sequence[SheetRow], linker: Linker) -> TableRow:
    cells = [row.cells[slug] for row in rows]
    same = len({cell.text for cell in cells}) == 1
    verdict = "not stated" if not any(cell.lines for cell in cells) else "the same" if same else "differs"
    shown: list[tuple[Part, ...]] = []
    for at, cell in enumerate(cells):
        others = [other.text for column, other in enumerate(cells) if column != at and other.lines]
        # no marks against an empty cell; a missing text has no words to mark
        runs = marked(cell.text, others) if cell.lines and others and not same else ((cell.text, False),)
        if sum(len(run) for run, new in runs if new) > _MOST_MARKED * len(cell.text):
            runs = ((cell.text, False),)  # marks on nearly every word would point at nothing
        parts = [Mark(linker.rich(run)) if new else linker.rich(run) for run, new in runs]
        shown.append((Rich(tuple(parts)), cell.evidence))
    return ((heading, verdict), *shown)


MOST_CHARS = 80
"""The longest search text."""
_HEADINGS = {column.slug: column.heading for column in COLUMNS}
ANY = Text(name="any", label="Search", most=MOST_CHARS, width=190)
WITHIN = {slug: Text(name=f"in-{slug}", label=heading, most=MOST_CHARS) for slug, heading in _HEADINGS.items()}
BRANCH = Choice(
    name="branch",
    label="Branch",
    options={"all": "All branches"} | {branch: BRANCH_TITLES[branch] for branch in BRANCHES},
    width=150,
)
SORT = Choice(
    name="sort",
    label="Sort by",
    options={"age": "Year", **_HEADINGS},
    width=135,
)
ORDER = Toggle(name="order", label="Descending", on="down")
FROM = Carried(name="from", label="From year", as_=Integer(None, 1900, 2100))
TO = Carried(name="to", label="To year", as_=Integer(None, 1900, 2100))
LIVE = Choice(
    name="live",
    label="Live model of this architecture",
    options={"all": "All", "yes": "Yes", "no": "No"},
    style="row",
)
SHOWN = Words(
    name="columns",
    label="Columns",
    default=tuple(slug for slug in _HEADINGS if slug != "name"),
    options={slug: heading for slug, heading in _HEADINGS.items() if slug != "name"},
    may_be_empty=True,
)
PINS = Words(
    name="pins",
    label="Pinned systems",
    options={},
    most=4,
    style="menu",
    as_chosen=True,
    placeholder="Two to four systems",
)


def systems_table(view: View) -> None:
    state, rows = view.state, sheet()
    unbuilt()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        anywhere = ANY.draw(state).strip()
        branch = BRANCH.draw(state)
        column = SORT.draw(state)
        years = st.session_state.get(state.key("years"), _linked_years(state, rows))
        changed = differing(state, ORDER, SHOWN, LIVE, *WITHIN.values()) + (years != _all_years(rows))
        with settings_popover(state, changed):
            descending = ORDER.draw(state)
            wanted = _filters(view, rows, anywhere, "" if branch == "all" else branch)
            columns = ["name", *SHOWN.draw(state)]
    matching = ordered(chosen(rows, wanted), "" if column == "age" else column, reverse=descending)
    by_slug = {row.system.slug: row for row in rows}
    pins = PINS.with_(options={slug: row.system.name for slug, row in by_slug.items()}).draw(state)
    if len(pins) > 1:
        _side_by_side(view, [by_slug[slug] for slug in pins], columns)
    if not matching:
        info(view.words.part("Nothing found", systems=len(rows)))
        return
    count = f"{len(matching)} of {len(rows)} systems" if len(matching) < len(rows) else f"{len(rows)} systems"
    view.note("Count", systems=count, columns=len(columns), properties=len(COLUMNS))
    with st.container(key="atlas-long"):
        st.html(sheet_html(matching, columns, Linker("compare.table")))
    tip = view.words.label("download")
    download_csv(sheet_table(matching, columns), "systems", state.key("save.csv"), tip=tip)
    view.try_and_notice()
    view.note("Sources")


def _filters(view: View, rows: Sequence[SheetRow], anywhere: str, branch: str) -> Filter:
    """Draw the filters: years, what runs here, and a search in each column."""
    state = view.state
    first, last = _years(state, rows)
    live = LIVE.draw(state)
    view.note("Columns")
    columns = st.columns(2)
    within = {}
    for at, (slug, param) in enumerate(WITHIN.items()):
        with columns[at % 2]:
            within[slug] = param.draw(state).strip()
    within = {name: words for name, words in within.items() if words}
    return Filter(anywhere, within, branch, first, last, None if live == "all" else live == "yes")


def _all_years(rows: Sequence[SheetRow]) -> tuple[int, int]:
    """The first and the last year of all systems."""
    return min(row.system.year for row in rows), max(row.system.year for row in rows)


def _linked_years(state: PageState, rows: Sequence[SheetRow]) -> tuple[int, int]:
    """The years that the link or the visitor set, in their order and within all."""
    low, high = _all_years(rows)
    ends = (FROM.value(state) or low, TO.value(state) or high)
    begin, end = sorted(min(max(cast(int, year), low), high) for year in ends)
    return begin, end


def _years(state: PageState, rows: Sequence[SheetRow]) -> tuple[int | None, int | None]:
    """The first and the last year; None for the bound of all systems."""
    low, high = _all_years(rows)
    first, last = st.slider("Years", low, high, _linked_years(state, rows), key=state.key("years"))
    years = first if first > low else None, last if last < high else None
    state.set(**{"from": years[0], "to": years[1]})
    return years


def _side_by_side(view: View, pinned: Sequence[SheetRow], columns: Sequence[str]) -> None:
    *first, last = (row.system.name for row in pinned)
    names = f"{', '.join(first)} and {last}"
    st.subheader(plain(names), anchor=False)
    with st.container(horizontal=True, gap=None):
        for more in view.words.front["more"]:
            page_link(more["page"], more["label"], more["query"], icon=":material/arrow_forward:", width="content")
    text_table(pins_table(pinned, [slug for slug in columns if slug != "name"], Linker("pins")))
    view.note("Pinned", others="the other lacks" if len(pinned) == 2 else "all others lack")
    if len(pinned) == 2:
        left, right = (row.system.slug for row in pinned)
        wanted = {**view.state.values, "tab": "trees", "left": left, "right": right}
        wanted |= {"left-size": None, "right-size": None}
        # a link to the page that stands already would leave the old address in the address bar
        st.button(
            plain(f"Module trees: {names}"),
            icon=":material/compare:",
            key=view.state.key("trees"),
            on_click=take_up,
            args=(view.state.page, wanted),
        )


TABLE = Section("table", systems_table, (ANY, *WITHIN.values(), BRANCH, LIVE, FROM, TO, SHOWN, SORT, ORDER, PINS))
