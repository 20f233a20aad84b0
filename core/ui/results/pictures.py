"""From the rows of one measure to one picture, by the kind of the case."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core import catalogue
from core.catalogue.questions import Case, reference
from core.catalogue.results import Measure, Result, name
from core.errors import UnknownSystem
from core.figures.results import Dot, Point, dots, dots_alt, scaling, scaling_alt
from core.ui.chart import chart
from core.ui.page import accent, theme

_BETTER = {True: "higher is better", False: "lower is better"}


def draw(case: Case, measure: Measure, found: Sequence[Result], key: str) -> None:
    """Draw the case's picture of ``found``, which are all of ``measure``."""
    axis = f"{measure.title}, {_BETTER[measure.higher]}"
    if case.kind == "scale":
        points = scale_points(found)
        figure = scaling(points, axis, _colours(found), theme=theme())
        alt = scaling_alt(points, measure.title)
    else:
        made = {"parts": part_dots, "versions": version_dots, "leaders": leader_dots}[case.kind](case, measure, found)
        figure, alt = dots(made, axis, theme=theme()), dots_alt(made, measure.title)
    chart(figure, key=f"{key}.chart", alt=alt)
    frozen = "Hollow marks are frozen models. " if any("frozen" in row.variant for row in found) else ""
    st.caption(f"{_KEY[case.kind]} {frozen}The axis does not begin at zero.")


_KEY = {
    "scale": "Each dot is one size. A paper's own system has its branch's colour, others are grey.",
    "parts": "The ringed mark is the reference; in brackets the difference from it.",
    "versions": "Square: the first of the two; full mark: the second; between them the difference.",
    "leaders": "Full mark: a system's best figure; rings: its others of the same measure. Grey: no page here.",
}


def scale_points(found: Sequence[Result]) -> list[Point]:
    """One point a row; rows without parameters have no place in the picture."""
    return [
        Point(name(row.system), row.size or row.variant, row.parameters, row.value, row.printed)
        for row in found
        if row.parameters is not None
    ]


def part_dots(case: Case, measure: Measure, found: Sequence[Result]) -> list[Dot]:
    """The rows as they stand in the table, with the first that is the reference marked as such."""
    ringed = next((row for row in found if reference(case, row)), None)
    one = len({row.system for row in found}) == 1
    alike = len({row.size for row in found}) == 1
    return [
        Dot(
            _label(row, with_system=not one, with_size=not alike),
            row.value,
            row.printed,
            _colour(row.system),
            reference=row is ringed,
            hollow="frozen" in row.variant,
        )
        for row in found
    ]


def version_dots(case: Case, measure: Measure, found: Sequence[Result]) -> list[Dot]:
    """One row for each model that both tables list."""
    former, later = ([row for row in found if row.table == table] for table in case.tables)
    made = []
    for row in later:
        match = next((old for old in former if (old.system, old.size) == (row.system, row.size)), None)
        if match is not None:
            made.append(
                Dot(
                    _label(row, with_system=True),
                    row.value,
                    row.printed,
                    _colour(row.system),
                    before=match.value,
                    before_printed=match.printed,
                )
            )
            former = [old for old in former if old is not match]
    return made


def leader_dots(case: Case, measure: Measure, found: Sequence[Result]) -> list[Dot]:
    """One row a system from the best to the worst, its other figures as rings."""
    by_system: dict[str, list[Result]] = {}
    for row in found:
        if not row.system.endswith(" best"):  # what was best before a paper is no system, and another in each paper
            by_system.setdefault(row.system, []).append(row)
    best = max if measure.higher else min
    made = []
    for rows in by_system.values():
        top = best(rows, key=lambda row: row.value)
        others = tuple(sorted({row.value for row in rows} - {top.value}))
        made.append(Dot(top.label, top.value, top.printed, _colour(top.system), others=others))
    return sorted(made, key=lambda dot: dot.value, reverse=measure.higher)


def _label(row: Result, *, with_system: bool, with_size: bool = True) -> str:
    """Whose figure a row is; what is the same in every row is left out."""
    parts = (name(row.system) if with_system else "", row.variant, row.size if with_size else "")
    return ", ".join(part for part in parts if part) or row.label


def _colour(system: str) -> str:
    """The accent of the system's branch; grey for what has no page."""
    try:
        return accent(catalogue.get(system).branch)
    except UnknownSystem:
        return theme().muted


def _colours(found: Sequence[Result]) -> dict[str, str]:
    """The paper's own system, which is the one with most rows beside its name, in its accent; the others grey."""
    own = {row.system for row in found if row.system == row.paper} or {found[0].system}
    return {name(row.system): _colour(row.system) if row.system in own else theme().muted for row in found}
