"""Questions that the published results answer: which tables a figure combines, how it is drawn, what to notice.

A question has cases; a case takes its rows from named tables, and :func:`rows` returns those of one measure. Questions
are data (``data/results/questions.toml``); one that names an unknown table, measure or reference is refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import model_validator

from core.catalogue.load import checked, read_text
from core.catalogue.results import FOLDER, Measure, Result, measures, names, results, tables
from core.catalogue.schema import Listed, Names, Record, Text, once

QuestionKind = Literal["scale", "parts", "versions", "leaders"]
LEADERS_LEAST = 4
"""The fewest systems that make a leaderboard of a measure."""
UNSTATED = "not stated"


class Case(Record):
    """One figure of a question."""

    slug: Text
    title: Text
    kind: QuestionKind
    tables: Names
    measure: Text
    """Slug of the default measure."""
    reference: str = ""
    """For ``parts``: the variant that the others are compared with, or ``@`` and a system."""
    size: str = ""
    """For ``parts``: the size of the reference row, where its variant is not unique."""
    systems: Names = ()
    """Systems to draw; empty: all of the tables."""
    single: bool = False
    """Without ensembles."""
    caveat: str = ""
    here: str = ""
    """The same measurement on the small models of this app, and ``link`` to it."""
    link: str = ""

    @model_validator(mode="after")
    def _drawable(self) -> Case:
        if strange := [table for table in self.tables if table not in tables()]:
            raise ValueError(f"there is no table {strange[0]!r}")
        if self.kind == "versions" and len(self.tables) != 2:
            raise ValueError("two tables make a comparison of versions")
        if self.measure not in {measure.slug for measure in choices(self)}:
            raise ValueError(f"its tables have no measure {self.measure!r}")
        if self.kind == "parts" and not any(reference(self, row) for row in rows(self, first(self))):
            raise ValueError(f"no row is its reference {self.reference!r}")
        if bool(self.here) != bool(self.link):
            raise ValueError("here and link go together")
        return self


class Question(Record):
    """A question with its figures; the first is the default. The page's content file has its Try and Notice."""

    slug: Text
    title: Text
    cases: Annotated[tuple[Case, ...], Listed]

    @model_validator(mode="after")
    def _cases_differ(self) -> Question:
        once("cases", [case.slug for case in self.cases])
        return self

    def case(self, slug: str) -> Case:
        """The case of that slug, or the first."""
        return next((case for case in self.cases if case.slug == slug), self.cases[0])


class Questions(Record):
    """``questions.toml``."""

    questions: Annotated[tuple[Question, ...], Listed]


@lru_cache(maxsize=1)
def questions() -> tuple[Question, ...]:
    """All questions. Raises :class:`core.catalogue.load.BadData` where one does not match the results."""
    return checked(Questions, read_text(FOLDER / "questions.toml"), "questions.toml").questions


def choices(case: Case) -> tuple[Measure, ...]:
    """The measures of a case, in the order of its tables; for leaders those of most systems first."""
    if case.kind == "leaders":
        return _led()
    if case.kind == "versions":
        other = {(row.measure.dataset, row.measure.metric) for row in tables()[case.tables[1]]}
        return tuple(m for m in measures(tables()[case.tables[0]]) if (m.dataset, m.metric) in other)
    offered = measures(row for table in case.tables for row in tables()[table])
    least = 2 if case.kind == "scale" else 1
    return tuple(m for m in offered if len(_plain(case, m)) > least or len(case.tables) > 1)


def first(case: Case) -> Measure:
    """The default measure."""
    return next(measure for measure in choices(case) if measure.slug == case.measure)


def rows(case: Case, measure: Measure) -> tuple[Result, ...]:
    """The results of one measure; only two versions of a paper may name its split differently."""
    if case.kind == "leaders":
        return tuple(result for result in results() if result.measure == measure)
    if case.kind == "versions":
        figures = [row for table in case.tables for row in tables()[table]]
        return tuple(r for r in figures if (r.measure.dataset, r.measure.metric) == (measure.dataset, measure.metric))
    return _plain(case, measure)


def _plain(case: Case, measure: Measure) -> tuple[Result, ...]:
    return tuple(
        row
        for table in case.tables
        for row in tables()[table]
        if row.measure == measure
        and (not case.systems or row.system in case.systems)
        and not (case.single and "ensemble" in row.variant)
        and (case.kind != "scale" or row.parameters is not None)
    )


def reference(case: Case, row: Result) -> bool:
    """Whether the others of a ``parts`` figure are compared with this row."""
    if case.reference.startswith("@"):
        return row.system == case.reference[1:]
    return case.reference in (row.variant, row.system) and case.size in ("", row.size)


@lru_cache(maxsize=1)
def _led() -> tuple[Measure, ...]:
    """Measures of several systems with a stated split, those of most systems first."""
    systems_of: dict[Measure, set[str]] = {}
    for row in results():
        if row.system in names().systems and row.measure.split != UNSTATED:
            systems_of.setdefault(row.measure, set()).add(row.system)
    several = [measure for measure, systems in systems_of.items() if len(systems) >= LEADERS_LEAST]
    return tuple(sorted(several, key=lambda measure: (-len(systems_of[measure]), measure.title)))
