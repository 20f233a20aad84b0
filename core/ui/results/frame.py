"""The frame of the results: the title, and the choice between questions and the table of every figure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from core.catalogue.questions import choices, questions
from core.catalogue.results import Result, names, paper, results
from core.ui.links import PageState, open_page, sections
from core.ui.page import header

SECTIONS = {"questions": "Questions", "all": "All figures"}


@dataclass(frozen=True, slots=True)
class ResultsView:
    """What the visitor chose in the frame."""

    state: PageState
    section: str


def results_frame() -> ResultsView:
    """Draw the title and the choice of a section."""
    header(
        "Results",
        "What papers measured: what scale and objective bought, who leads where, and where each figure was read.",
    )
    found = results()
    offered: dict[str, Collection[str]] = {
        "question": [question.slug for question in questions()],
        "case": [case.slug for question in questions() for case in question.cases],
        "measure": sorted({m.slug for q in questions() for case in q.cases for m in choices(case)}),
        "system": systems(found),
        "dataset": datasets(found),
        "split": splits(found),
        "paper": papers(found),
    }
    state = open_page("results", offered)
    # A link that names a system, a data set or a paper and no section means the table.
    named = any(state.values.get(name) for name in ("system", "dataset", "split", "paper"))
    section = sections(state, SECTIONS, "all" if named else "questions")
    state.set(tab=section if named or section != "questions" else None)
    return ResultsView(state, section)


def systems(found: Collection[Result]) -> list[str]:
    """Slugs of the systems that have figures, by name; baselines are not among them."""
    known = names().systems
    return sorted({row.system for row in found if row.system in known}, key=lambda slug: known[slug].lower())


def datasets(found: Collection[Result]) -> list[str]:
    """Data sets in alphabetical order."""
    return sorted({row.measure.dataset for row in found}, key=str.lower)


def splits(found: Collection[Result]) -> list[str]:
    """Splits in alphabetical order."""
    return sorted({row.measure.split for row in found})


def papers(found: Collection[Result]) -> list[str]:
    """Keys of the papers, by their names."""
    return sorted({row.paper for row in found}, key=lambda key: paper(key).lower())
