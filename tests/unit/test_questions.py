"""Questions: every case has its rows, of one measure, and those that name what is not there do not load."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from core.catalogue.questions import Case, Kind, Question, choices, first, questions, reference, rows
from core.catalogue.results import names

CASES = [(question, case) for question in questions() for case in question.cases]
each = pytest.mark.parametrize(("question", "case"), CASES, ids=[f"{q.slug}-{c.slug}" for q, c in CASES])
PLAIN: dict[str, Any] = {
    "slug": "q",
    "title": "Q?",
    "try": "this",
    "notice": "that",
    "cases": [
        {
            "slug": "a",
            "title": "A",
            "kind": "parts",
            "tables": ["bert-objectives"],
            "measure": "mnli-matched.dev.accuracy",
            "reference": "without next sentence",
        }
    ],
}


@each
def test_every_measure_of_every_case_has_rows_of_that_measure_alone(question: Question, case: Case) -> None:
    assert first(case) in choices(case)
    for measure in choices(case):
        found = rows(case, measure)
        assert len(found) >= 2, measure.slug
        assert len({(row.measure.dataset, row.measure.metric, row.measure.unit) for row in found}) == 1
        splits = {row.measure.split for row in found}
        assert len(splits) == 1 or (case.kind == "versions" and "not stated" in splits)
        assert len({row.paper for row in found}) == 1 or case.kind == "leaders"
        if case.kind == "scale":
            assert all(row.parameters for row in found)


def test_what_the_sources_ask_is_asked() -> None:
    kinds = {case.kind for _, case in CASES}
    assert kinds == set(get_args(Kind))
    assert {question.slug for question in questions()} >= {"scale", "objective", "leaders", "frozen", "versions"}
    masks = next(case for _, case in CASES if case.slug == "masks")
    static, dynamic = (
        next(row for row in rows(masks, first(masks)) if row.variant == word)
        for word in ("static masking", "dynamic masking")
    )
    assert reference(masks, static)
    assert not reference(masks, dynamic)
    assert round(dynamic.value - static.value, 1) == 0.4


def test_leaders_are_measures_of_four_systems_at_least_with_a_split_that_is_named() -> None:
    (case,) = next(question for question in questions() if question.slug == "leaders").cases
    found = choices(case)
    assert len(found) > 20
    for measure in found:
        assert measure.split != "not stated"
        assert len({row.system for row in rows(case, measure)} & names().systems.keys()) >= 4


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"kind": "pie"}, "'leaders'"),
        ({"tables": ["bert-objektives"]}, "no table 'bert-objektives'"),
        ({"measure": "mnli.dev.bleu"}, "no measure 'mnli.dev.bleu'"),
        ({"reference": "with pictures"}, "no row is its reference"),
        ({"kind": "versions"}, "two tables"),
        ({"here": "Something"}, "here and link"),
        ({"title": None}, "title"),
    ],
)
def test_a_case_that_does_not_fit_does_not_load(case: dict[str, Any], reason: str) -> None:
    Question.model_validate(PLAIN)
    with pytest.raises(ValidationError, match=reason):
        Question.model_validate({**PLAIN, "cases": [PLAIN["cases"][0] | case]})


def test_a_question_needs_all_its_parts() -> None:
    with pytest.raises(ValidationError, match="notice\n  Field required"):
        Question.model_validate({key: value for key, value in PLAIN.items() if key != "notice"})
    with pytest.raises(ValidationError, match="cases: a stands there twice"):
        Question.model_validate({**PLAIN, "cases": PLAIN["cases"] * 2})
