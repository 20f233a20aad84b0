"""A system's results on its own page: five of its figures and the way to all of them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.catalogue.questions import UNSTATED
from core.catalogue.results import Result, of_system, paper, results
from core.ui.glossary import linking
from core.ui.page import base_path
from core.ui.text_table import Link, Row, TextTable, text_table

MOST = 5


def results_brief(slug: str, title: str) -> None:
    """Draw the list; nothing where no figure of the system is known. ``title`` is the system's name."""
    found = of_system(slug)
    if not found:
        return
    st.subheader("Results", anchor=False)
    with linking("results.brief") as linker:
        rows: list[Row] = [(linker.rich(row.measure.title), row.printed, _whose(row)) for row in chosen(slug, found)]
    every = f"All {len(found)} figures of {title}, each with its source" if len(found) > 1 else "The figure's source"
    rows.append((Link(every, f"{base_path()}/results?system={slug}"), "", ""))
    text_table(TextTable(("", "", "Of"), rows, caption=f"Results of {title}", widths=(48, 14, 38), numeric=(1,)))


def _whose(row: Result) -> str:
    return ", ".join(part for part in (row.size, row.variant, paper(row.paper)) if part)


def chosen(slug: str, found: Sequence[Result]) -> list[Result]:
    """At most five figures of measures that many systems share, of the system's own paper where it has them.

    One a measure, the best of a single model: what a reader would compare first.
    """
    shared: dict[str, set[str]] = {}
    for row in results():
        shared.setdefault(row.measure.slug, set()).add(row.system)

    def worth(row: Result) -> tuple[bool, bool, bool, int]:
        single = "ensemble" not in row.variant
        return row.paper == slug, row.measure.split != UNSTATED, single, len(shared[row.measure.slug])

    best: dict[str, Result] = {}
    for row in found:
        held = best.get(row.measure.slug)
        if held is None or (worth(row), _good(row)) > (worth(held), _good(held)):
            best[row.measure.slug] = row
    return sorted(best.values(), key=worth, reverse=True)[:MOST]


def _good(row: Result) -> float:
    return row.value if row.measure.higher else -row.value
