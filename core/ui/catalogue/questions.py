"""Published results: one question with its case, its measure and its chart; a file has all figures with sources."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape

import streamlit as st

from core import catalogue, links
from core.catalogue.questions import Case, choices, first, questions, reference, rows
from core.catalogue.results import COLUMNS, Measure, Result, citation, differences, name, paper, results
from core.content import content
from core.errors import UnknownSystem
from core.figures.labels import short, with_unit
from core.figures.results import Dot, SizedFigure, dots, dots_alt, scaling, scaling_alt
from core.table import Cell as Value
from core.table import Table
from core.ui.export import download_csv
from core.ui.glossary import Linker, plain_terms
from core.ui.page import accent, base_path, theme
from core.ui.panel import Panel
from core.ui.param import Choice
from core.ui.section import Section, View
from core.ui.tables import Cell, Link, Part, TableRow, TextTable, text_table

QUESTION = Choice(name="question", label="Question", options={}, resets=("case", "measure"))
CASE = Choice(name="case", label="Paper", options={}, resets=("measure",))
MEASURE = Choice(name="measure", label="Measured on", options={})


def question_panel(view: View) -> None:
    state = view.state
    by_slug = {question.slug: question for question in questions()}
    left, right = st.columns((3, 8), gap="small")
    with left:
        question = by_slug[QUESTION.with_(options={slug: entry.title for slug, entry in by_slug.items()}).draw(state)]
    with right:
        case_menu = CASE.with_(options={case.slug: case.title for case in question.cases})
        former, latter = st.columns(2, gap="small") if len(question.cases) > 1 else (right, right)
        with former:
            several = len(question.cases) > 1
            case = question.case(case_menu.draw(state, tag=question.slug) if several else case_menu.value(state))
        with latter:
            offered = {measure.slug: measure for measure in choices(case)}
            titles = {slug: measure.title for slug, measure in offered.items()}
            menu = MEASURE.with_(options=titles, default=first(case).slug)
            measure = offered[menu.draw(state, tag=f"{case.slug}.{case.tables[:1]}")]
    figures = rows(case, measure)
    _picture(view, case, measure, figures, f"{question.slug}-{case.slug}")
    differ = [view.words.part(f"Differs: {name}", **values) for name, values in differences(figures)]
    st.caption(plain_terms(" ".join(filter(None, (*differ, case.caveat)))))
    view.try_and_notice(question.slug)
    if case.here:
        _linked(view.words.label("here"), case.here, base_path() + case.link)
    view.say("Table")
    result_table(_ordered(figures, measure), caption=measure.title)
    if any(row.disagrees for row in figures):
        _linked(view.words.label("disagree"), "Sources", sources_page())
    every = results()
    download_csv(partial(figures_table, every), "results", state.key("csv"), of=f"all {len(every):,} figures")


def _linked(before: str, text: str, href: str) -> None:
    """A sentence that ends with a link to a page of the app, in the same tab. ``href`` is the app's."""
    link = f'<a style="color:inherit;text-decoration:underline" href="{escape(href)}">{escape(text)}</a>'
    st.html(f'<p style="margin:0 0 .6rem">{escape(before)} {link}.</p>')


def _ordered(figures: tuple[Result, ...], measure: Measure) -> list[Result]:
    """The rows of a few tables in printed order; those of many papers from best to worst."""
    if len({row.table for row in figures}) <= 2:
        return list(figures)
    return sorted(figures, key=lambda row: row.value, reverse=measure.higher)


def _picture(view: View, case: Case, measure: Measure, figures: Sequence[Result], slug: str) -> None:
    """The chart of ``figures``, all of one ``measure``, by the kind of the case."""
    axis = f"{measure.title}, {'higher' if measure.higher else 'lower'} is better"
    if case.kind == "scale":
        points = scale_points(figures)
        figure = scaling(points, axis, _colors(figures), theme=theme())
        alt = scaling_alt(points, measure.title)
    else:
        marks = {"parts": part_dots, "versions": version_dots, "leaders": leader_dots}[case.kind](
            case, measure, figures
        )
        figure, alt = dots(marks, axis, theme=theme()), dots_alt(marks, measure.title)
    frozen = f" {view.words.part('Frozen')}" if any("frozen" in row.variant for row in figures) else ""
    note = view.words.part(f"Picture: {case.kind}", frozen=frozen)
    Panel(slug, case.title, figure, alt, figures_table(figures), note).draw(view.state)


def scale_points(figures: Sequence[Result]) -> list[SizedFigure]:
    """A scatter plot with a point for each row that states parameters."""
    return [
        SizedFigure(name(row.system), row.size or row.variant, row.parameters, row.value, row.printed)
        for row in figures
        if row.parameters is not None
    ]


def part_dots(case: Case, measure: Measure, figures: Sequence[Result]) -> list[Dot]:
    """A dot for each row in printed order, with the first reference marked."""
    ringed = next((row for row in figures if reference(case, row)), None)
    one_system = len({row.system for row in figures}) == 1
    alike = len({row.size for row in figures}) == 1
    return [
        Dot(
            _label(row, with_system=not one_system, with_size=not alike),
            row.value,
            row.printed,
            _color(row.system),
            reference=row is ringed,
            hollow="frozen" in row.variant,
        )
        for row in figures
    ]


def version_dots(case: Case, measure: Measure, figures: Sequence[Result]) -> list[Dot]:
    """A row for each model that both tables list."""
    former, later = ([row for row in figures if row.table == table] for table in case.tables)
    marks = []
    for row in later:
        match = next((old for old in former if (old.system, old.size) == (row.system, row.size)), None)
        if match is not None:
            marks.append(
                Dot(
                    _label(row, with_system=True),
                    row.value,
                    row.printed,
                    _color(row.system),
                    before=match.value,
                    before_printed=match.printed,
                )
            )
            former = [old for old in former if old is not match]
    return marks


def leader_dots(case: Case, measure: Measure, figures: Sequence[Result]) -> list[Dot]:
    """A row for each system from best to worst, its other figures as rings."""
    by_system: dict[str, list[Result]] = {}
    for row in figures:
        if not row.system.endswith(" best"):  # what was best before a paper is no system, and another in each paper
            by_system.setdefault(row.system, []).append(row)
    best = max if measure.higher else min
    marks = []
    for group in by_system.values():
        top = best(group, key=lambda row: row.value)
        others = tuple(sorted({row.value for row in group} - {top.value}))
        marks.append(Dot(top.label, top.value, top.printed, _color(top.system), others=others))
    return sorted(marks, key=lambda dot: dot.value, reverse=measure.higher)


def _label(row: Result, *, with_system: bool, with_size: bool = True) -> str:
    """The label of a row, without what is the same in every row."""
    parts = (name(row.system) if with_system else "", row.variant, row.size if with_size else "")
    return ", ".join(part for part in parts if part) or row.label


def _color(system: str) -> str:
    """The accent of the system's branch; gray without a page."""
    try:
        return accent(catalogue.get(system).branch)
    except UnknownSystem:
        return theme().muted


def _colors(figures: Sequence[Result]) -> dict[str, str]:
    """Colors of the rows: the paper's own system, the one with most rows, in its accent, the others gray."""
    colored = {row.system for row in figures if row.system == row.paper} or {figures[0].system}
    return {name(row.system): _color(row.system) if row.system in colored else theme().muted for row in figures}


QUESTIONS = Section("questions", question_panel, (QUESTION, CASE, MEASURE))


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
    return base_path() + links.url("glossary", {"tab": "corrections"})


def _row(row: Result, linker: Linker) -> TableRow:
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
    return Link(name(slug), f"{base_path()}/{branch}?system={slug}&facts=open")


def _source(key: str) -> str:
    if key.startswith("source-"):
        return f"source {key.removeprefix('source-')}"
    return citation(key).title


def _note(row: Result, linker: Linker) -> tuple[Part, ...]:
    if row.disagrees:
        return (linker.rich(row.note), Link(content("catalogue").label("disagree"), sources_page()))
    return (linker.rich(row.note),) if row.note else ()
