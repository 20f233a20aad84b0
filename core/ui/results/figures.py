"""Published figures with their sources in a table: filtered, page by page, with a download of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import streamlit as st

from core import catalogue
from core.catalogue.results import COLUMNS, Result, citation, name, names, paper, results
from core.content import content
from core.errors import UnknownSystem
from core.figures.labels import short, with_unit
from core.table import Cell as Value
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import Linker
from core.ui.notices import info
from core.ui.page import base_path
from core.ui.param import Choice, Integer
from core.ui.section import Section, View
from core.ui.tables import Cell, Link, Part, Row, TextTable, text_table

EVERY = "all"
FILTERS = tuple(
    Choice(name=name, label=label, options={}, resets=("page",))
    for name, label in (("system", "System"), ("dataset", "Data set"), ("split", "Split"), ("paper", "Paper"))
)
PAGE = Integer(name="page", label="Page", low=1, high=200)
ROWS = 40
"""Rows per page."""


def all_figures(view: View) -> None:
    """Draw the filters, one page of the table and the download."""
    figures = results()
    offered = _offered(figures)
    *columns, last = st.columns((3, 4, 3, 4, 2), gap="small")
    wanted = {}
    for column, choice in zip(columns, FILTERS, strict=True):
        with column:
            wanted[choice.name] = choice.with_(options={EVERY: EVERY} | offered[choice.name]).draw(view.state)
    selected = filtered(figures, wanted)
    pages = max(1, -(-len(selected) // ROWS))
    page = PAGE.with_(label=f"Page, of {pages}", high=pages)
    with last:
        number = page.draw(view.state, tag=".".join(wanted.values())) if pages > 1 else page.value(view.state)
    view.note("Count", fitting=f"{len(selected):,}", every=f"{len(figures):,}")
    if not selected:
        info(view.words.part("None fits"))
        return
    result_table(selected[(number - 1) * ROWS : number * ROWS], caption="Published figures")
    download_csv(figures_table(selected), "results", view.state.key("csv"))


def _offered(figures: Collection[Result]) -> dict[str, dict[str, str]]:
    """The options of each filter with their names, in alphabetical order; baselines are not systems."""
    known = names().systems
    return {
        "system": _sorted({row.system: known[row.system] for row in figures if row.system in known}),
        "dataset": _sorted({row.measure.dataset: row.measure.dataset for row in figures}),
        "split": _sorted({row.measure.split: row.measure.split for row in figures}),
        "paper": _sorted({row.paper: paper(row.paper) for row in figures}),
    }


def _sorted(options: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(options.items(), key=lambda option: option[1].lower()))


def filtered(figures: Sequence[Result], wanted: Mapping[str, str]) -> list[Result]:
    """The figures that match every filter; one that is missing or “all” matches everything."""

    def fits(row: Result) -> bool:
        values = {
            "system": row.system,
            "dataset": row.measure.dataset,
            "split": row.measure.split,
            "paper": row.paper,
        }
        return all(value in (EVERY, values[name]) for name, value in wanted.items())

    return [row for row in figures if fits(row)]


def figures_table(rows: Sequence[Result]) -> Table:
    """The figures in the columns of the data files, with the title and the URL of the source."""
    return Table((*COLUMNS, "source title", "source address"), tuple(map(_figure, rows)))


def _figure(row: Result) -> tuple[Value, ...]:
    measure, read = row.measure, citation(row.source)
    return (
        row.system,
        row.variant,
        row.size,
        row.parameters or None,
        row.counted,
        measure.dataset,
        measure.split,
        measure.metric,
        measure.unit,
        row.printed,
        "yes" if measure.higher else "no",
        row.paper,
        row.version,
        row.place,
        row.source,
        row.evidence,
        ";".join(row.also),
        "yes" if row.disagrees else "",
        row.note,
        read.title,
        read.url,
    )


_HEADINGS = ("System", "Data set and split", "Figure", "Paper", "Source")
_WIDTHS = (24, 22, 15, 19, 20)
UNSTATED = "version not stated"


def result_table(rows: Sequence[Result], caption: str) -> None:
    """Draw the figures, each with its note below the row."""
    linker = Linker("results.table")
    drawn = [(_row(row, linker), _note(row, linker)) for row in rows]
    lines, below = zip(*drawn, strict=True)
    text_table(TextTable(_HEADINGS, lines, caption=caption, widths=_WIDTHS, below=below))


def sources_page() -> str:
    """The path of the page that compares disagreeing sources."""
    return f"{base_path()}/sources"


def _row(row: Result, linker: Linker) -> Row:
    measure = row.measure
    figure = with_unit(row.printed, measure.unit if measure.unit != "points" else "")
    what = measure.metric if measure.higher else f"{measure.metric}, lower is better"
    return (
        _whose(row, linker),
        (linker.rich(measure.dataset), measure.split if measure.split != "not stated" else "split not stated"),
        (figure, linker.rich(what)),
        (paper(row.paper), ", ".join(part for part in (row.version or UNSTATED, row.place) if part)),
        (_source(row.source), *[f"also {_source(key)}" for key in row.also], row.evidence),
    )


def _whose(row: Result, linker: Linker) -> Cell:
    parts = ", ".join(part for part in (row.size, row.variant) if part)
    size = f"{short(row.parameters)} parameters, {row.counted}" if row.parameters else ""
    return (_system(row.system), linker.rich(parts), size)


def _system(slug: str) -> Part:
    """A link to the system's page, if it has one."""
    try:
        branch = catalogue.get(slug).branch
    except UnknownSystem:
        return name(slug)
    return Link(name(slug), f"{base_path()}/{branch}?system={slug}&tab=facts")


def _source(key: str) -> str:
    if key.startswith("source-"):
        return f"source {key.removeprefix('source-')}"
    return citation(key).title


def _note(row: Result, linker: Linker) -> tuple[Part, ...]:
    if row.disagrees:
        return (linker.rich(row.note), Link(content("results").label("disagree"), sources_page()))
    return (linker.rich(row.note),) if row.note else ()


ALL = Section("all", all_figures, (*FILTERS, PAGE))
