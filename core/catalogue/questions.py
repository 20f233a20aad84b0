"""Questions that the results answer: which tables stand together in one picture, how it is drawn, what to notice.

A question has cases; a case takes its rows from named tables, and :func:`rows` gives those of one measure. Questions
are data (``data/results/questions.toml``); one that names a table, a measure or a reference that is not there does not
load.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from core.catalogue.load import BadData
from core.catalogue.results import FOLDER, Measure, Result, measures, names, results, tables

Kind = Literal["scale", "parts", "versions", "leaders"]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]
LEADERS_LEAST = 4
"""Systems that a measure must have before the question who leads makes sense."""
UNSTATED = "not stated"


@dataclass(frozen=True, slots=True)
class Case:
    """One picture of a question."""

    slug: str
    title: str
    kind: Kind
    tables: tuple[str, ...]
    measure: str
    """Slug of the measure that is shown first."""
    reference: str
    """For ``parts``: the variant that the others are compared with, or ``@`` and a system."""
    size: str
    """For ``parts``: the size of the reference row, where its variant alone does not name it."""
    systems: tuple[str, ...]
    """Systems to draw; all of the tables where empty."""
    single: bool
    """Leave ensembles out."""
    caveat: str
    here: str
    """What this atlas measured of the same kind on its own small models, and ``link``, where that stands."""
    link: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its pictures, the first of which is shown first."""

    slug: str
    title: str
    attempt: str
    """What to try."""
    notice: str
    cases: tuple[Case, ...]

    def case(self, slug: str) -> Case:
        """The case of that slug, or the first."""
        return next((case for case in self.cases if case.slug == slug), self.cases[0])


@lru_cache(maxsize=1)
def questions() -> tuple[Question, ...]:
    """All questions. Raises :class:`BadData` when one does not fit the figures."""
    table = tomllib.loads((FOLDER / "questions.toml").read_text(encoding="utf-8"))
    return tuple(_question(row) for row in table["questions"])


def _question(row: Mapping[str, Any]) -> Question:
    try:
        cases = tuple(_case(case) for case in row["cases"])
        question = Question(row["slug"], row["title"], row["try"], row["notice"], cases)
    except (KeyError, TypeError) as error:
        raise BadData(f"question {row.get('slug', '?')}: {error!r}") from error
    if len({case.slug for case in question.cases}) != len(question.cases):
        raise BadData(f"question {question.slug}: two cases have one slug")
    for case in question.cases:
        _check(f"question {question.slug}, case {case.slug}", case)
    return question


def _case(row: Mapping[str, Any]) -> Case:
    return Case(
        slug=row["slug"],
        title=row["title"],
        kind=row["kind"],
        tables=tuple(row["tables"]),
        measure=row["measure"],
        reference=row.get("reference", ""),
        size=row.get("size", ""),
        systems=tuple(row.get("systems", ())),
        single=row.get("single", False),
        caveat=row.get("caveat", ""),
        here=row.get("here", ""),
        link=row.get("link", ""),
    )


def _check(where: str, case: Case) -> None:
    if case.kind not in KINDS:
        raise BadData(f"{where}: kind {case.kind!r} is none of {', '.join(KINDS)}")
    if strange := [table for table in case.tables if table not in tables()]:
        raise BadData(f"{where}: there is no table {strange[0]!r}")
    if case.kind == "versions" and len(case.tables) != 2:
        raise BadData(f"{where}: two tables make a comparison of versions")
    offered = choices(case)
    if case.measure not in {measure.slug for measure in offered}:
        raise BadData(f"{where}: its tables have no measure {case.measure!r}")
    if case.kind == "parts" and not any(reference(case, row) for row in rows(case, first(case))):
        raise BadData(f"{where}: no row is its reference {case.reference!r}")
    if bool(case.here) != bool(case.link):
        raise BadData(f"{where}: here and link go together")


def choices(case: Case) -> tuple[Measure, ...]:
    """The measures that the case can be drawn for, in the order of its tables; for leaders the busiest first."""
    if case.kind == "leaders":
        return _led()
    if case.kind == "versions":
        other = {(row.measure.dataset, row.measure.metric) for row in tables()[case.tables[1]]}
        return tuple(m for m in measures(tables()[case.tables[0]]) if (m.dataset, m.metric) in other)
    offered = measures(row for table in case.tables for row in tables()[table])
    least = 2 if case.kind == "scale" else 1
    return tuple(m for m in offered if len(_plain(case, m)) > least or len(case.tables) > 1)


def first(case: Case) -> Measure:
    """The measure that is shown first."""
    return next(measure for measure in choices(case) if measure.slug == case.measure)


def rows(case: Case, measure: Measure) -> tuple[Result, ...]:
    """The figures of one picture: all of one measure; only two versions of a paper may name its split differently."""
    if case.kind == "leaders":
        return tuple(result for result in results() if result.measure == measure)
    if case.kind == "versions":
        kept = [row for table in case.tables for row in tables()[table]]
        return tuple(r for r in kept if (r.measure.dataset, r.measure.metric) == (measure.dataset, measure.metric))
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
    """True for the row that the others of a ``parts`` picture are compared with."""
    if case.reference.startswith("@"):
        return row.system == case.reference[1:]
    return case.reference in (row.variant, row.system) and case.size in ("", row.size)


@lru_cache(maxsize=1)
def _led() -> tuple[Measure, ...]:
    """Measures of several systems, those of most systems first. A split that nobody named compares nothing."""
    found: dict[Measure, set[str]] = {}
    for row in results():
        if row.system in names().systems and row.measure.split != UNSTATED:
            found.setdefault(row.measure, set()).add(row.system)
    several = [measure for measure, systems in found.items() if len(systems) >= LEADERS_LEAST]
    return tuple(sorted(several, key=lambda measure: (-len(found[measure]), measure.title)))
