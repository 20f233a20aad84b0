"""Every figure in one table: filters, pages of forty rows, and the whole of what is filtered as a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core.catalogue.results import COLUMNS, Result, citation, name, paper, results
from core.table import Cell, Table
from core.ui.export import download_csv
from core.ui.links import PageState
from core.ui.notices import informed, warned
from core.ui.results.frame import ResultsView, datasets, papers, splits, systems
from core.ui.results.rows import result_table

EVERY = "all"
PAGE = 40
"""Rows on a page."""


def all_figures(view: ResultsView) -> None:
    """Draw the filters, one page of the table and the download; reads and writes the filters and the page."""
    state = view.state
    found = results()
    system, dataset, split, of_paper, page = st.columns((3, 4, 3, 4, 2), gap="small")
    with system:
        wanted = {"system": _filter("System", "system", systems(found), name, state)}
    with dataset:
        wanted["dataset"] = _filter("Data set", "dataset", datasets(found), str, state)
    with split:
        wanted["split"] = _filter("Split", "split", splits(found), str, state)
    with of_paper:
        wanted["paper"] = _filter("Paper", "paper", papers(found), paper, state)
    kept = filtered(found, wanted)
    with page:
        number = _page(-(-len(kept) // PAGE), wanted, state)
    st.caption(f"{len(kept):,} of {len(found):,} figures. Each line of the file has one figure with its source.")
    if not kept:
        informed("No figure fits all four choices. Set one of them back to “all”.")
        return
    result_table(kept[(number - 1) * PAGE : number * PAGE], caption="Figures as papers print them")
    download_csv(figures_table(kept), "results", state.key("csv"))


def filtered(found: Sequence[Result], wanted: dict[str, str | None]) -> list[Result]:
    """The figures that fit every choice; None leaves a choice open."""
    return [
        row
        for row in found
        if wanted["system"] in (None, row.system)
        and wanted["dataset"] in (None, row.measure.dataset)
        and wanted["split"] in (None, row.measure.split)
        and wanted["paper"] in (None, row.paper)
    ]


def figures_table(rows: Sequence[Result]) -> Table:
    """The figures in the columns of the data files, with the title and the address of what was read."""
    return Table((*COLUMNS, "source title", "source address"), tuple(map(_figure, rows)))


def _figure(row: Result) -> tuple[Cell, ...]:
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


def _filter(
    title: str, parameter: str, options: Sequence[str], shown: Callable[[str], str], state: PageState
) -> str | None:
    """One choice among ``options`` or none."""
    current = state.text(parameter, EVERY)
    every = [EVERY, *options]
    chosen = st.selectbox(
        title,
        every,
        index=every.index(current),
        format_func=lambda key: key if key == EVERY else shown(key),
        key=state.key(parameter),
    )
    if chosen != current:
        state.set(page=1)
    state.set(**{parameter: None if chosen == EVERY else chosen})
    return None if chosen == EVERY else chosen


def _page(pages: int, wanted: dict[str, str | None], state: PageState) -> int:
    """The page to show, from 1; other choices begin at the first again."""
    number = state.number("page", 1)
    if number > max(pages, 1):
        said = f"There are {pages} pages here, so page {number} is not there. The last is shown."
        warned(said, icon=":material/link_off:")
        number = max(pages, 1)
    if pages > 1:
        number = int(
            st.number_input(
                f"Page, of {pages}",
                min_value=1,
                max_value=pages,
                value=number,
                step=1,
                key=state.key(f"page.{'.'.join(map(str, wanted.values()))}"),
            )
        )
    state.set(page=number)
    return number
