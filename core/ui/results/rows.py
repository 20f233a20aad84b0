"""Figures as rows of a small table, each with its paper and how it was read."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from core import catalogue
from core.catalogue.results import Result, citation, name, paper
from core.errors import UnknownSystem
from core.figures.numbers import short
from core.ui.glossary import Linker, linking
from core.ui.page import base_path
from core.ui.text_table import Cell, Link, Part, Row, TextTable, text_table

_HEADINGS = ("Whose", "Data set and split", "Figure", "Paper", "Read in")
_WIDTHS = (24, 22, 15, 19, 20)
UNSTATED = "version not stated"


def result_table(rows: Sequence[Result], caption: str) -> None:
    """Draw the figures; a note stands under its row."""
    with linking("results.table") as linker:
        drawn, below = [], []
        for row in rows:
            drawn.append(_row(row, linker))
            below.append(_note(row, linker))
    text_table(TextTable(_HEADINGS, drawn, caption=caption, widths=_WIDTHS, below=below))


def sources_page() -> str:
    """Where disagreeing sources are set side by side."""
    return f"{base_path()}/sources"


def sentence_with_link(before: str, text: str, href: str, after: str = "") -> None:
    """A line with a link to a place of this app, which opens in the same tab. ``href`` comes from our data."""
    st.html(
        f'<p style="margin:0 0 .6rem">{before}<a style="color:inherit;text-decoration:underline" '
        f'href="{escape(href)}">{escape(text)}</a>{escape(after)}</p>'
    )


def _row(row: Result, linker: Linker) -> Row:
    measure = row.measure
    figure = f"{row.printed}{f' {measure.unit}' if measure.unit not in ('', 'points') else ''}"
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
    """A link to the system's page where it has one."""
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
        return (linker.rich(row.note), Link("Texts disagree on this figure: see Sources", sources_page()))
    return (linker.rich(row.note),) if row.note else ()
