"""The form of a bundled lesson, and the questions of ``tests/lessons`` that a reader of the lesson alone answers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.lessons.checks import Calculation
from core.lessons.lesson import Lesson, Step
from tests.unit.test_lessons import bundled

OUTSIDE = Path(__file__).parents[1] / "lessons"

MORE_MODELS: dict[str, str] = {
    "6-encoder-decoder": "M2M-100 and the English-centric model beside it, which its demo shows together",
    "7-objectives": "three objectives are compared, each in a model that was trained with it",
    "17-results": "two are the rows that are compared, by their cards; one runs",
}
"""Lessons with more than two live models, and why."""


def faults(lesson: Lesson) -> Iterator[str]:
    """What a lesson lacks of the form."""
    if not 2 <= len(lesson.can) <= 3:
        yield f"{len(lesson.can)} phrases of what one can do after it, not 2 or 3"
    if len(lesson.recap) != 3:
        yield f"{len(lesson.recap)} sentences of recap, not 3"
    if not 6 <= len(lesson.steps) <= 8:
        yield f"{len(lesson.steps)} steps, not 6 to 8"
    if not lesson.sources:
        yield "no sources"
    questions = [step for step in lesson.steps if step.check]
    if len(questions) < 3 or {step.asks for step in questions} != {"arithmetic", "live", "transfer"}:
        yield "not three questions of the three sorts, or one without a sort"
    if not any(step.again for step in questions):
        yield "no question that is asked again"
    places = [[bool(option.because) for option in step.options].index(False) for step in questions if step.options]
    if len(places) > 2 and len(set(places)) == 1:
        yield "the right option stands at the same place in each question"
    models = {model for step in lesson.steps for variant in step.variants for model in live(variant)}
    if len(models) > 2 and lesson.slug not in MORE_MODELS:
        yield f"{len(models)} live models: {', '.join(sorted(models))}"
    for number, step in enumerate(lesson.steps, 1):
        if not step.note:
            yield f"step {number}: no instructor's note"
        for variant in step.variants if step.check else ():
            yield from (f"step {number}: {fault}" for fault in question_faults(variant))


def question_faults(step: Step) -> Iterator[str]:
    """What a question lacks: a reason for each answer."""
    if not step.because:
        yield "no reason why the right answer is right"
    if step.options and sum(not option.because for option in step.options) > 1:
        yield "a wrong option without a reason"
    if not step.options and not step.mistakes:
        yield "a number without a mistake that one makes"
    if isinstance(step.check, Calculation) and step.quiz:
        number = step.check.answer()
        if not isinstance(number, int) and not step.tolerance:
            yield "a number that has to be rounded needs a tolerance"
        if any(step.quiz.right(mistake.answer, number) for mistake in step.mistakes):
            yield "a mistake that is the right answer"
    for wrong in (*step.options, *step.mistakes):
        if bool(wrong.because) != bool(wrong.misconception):
            yield "a misconception without a reason, or a reason without one"


def live(step: Step) -> set[str]:
    """The live models of a step's view and check."""
    models = set(step.check.models()) if step.check else set()
    return models | ({step.query["model"]} if "model" in step.query else set())


@pytest.mark.parametrize("lesson", bundled(), ids=lambda lesson: lesson.slug)
def test_a_lesson_has_the_form(lesson: Lesson) -> None:
    assert not list(faults(lesson))


def test_all_lessons_that_are_named_exist() -> None:
    slugs = {lesson.slug for lesson in bundled()}
    assert slugs >= MORE_MODELS.keys()
    assert {path.stem for path in OUTSIDE.glob("*.toml")} == slugs


@pytest.mark.parametrize("path", sorted(OUTSIDE.glob("*.toml")), ids=lambda path: path.stem)
def test_three_questions_about_a_lesson_are_not_in_it(path: Path) -> None:
    (lesson,) = (lesson for lesson in bundled() if lesson.slug == path.stem)
    asked = {variant.question for step in lesson.steps for variant in step.variants}
    titles = {step.title for step in lesson.steps}
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    assert data.keys() == {"question"}
    assert len(data["question"]) == 3
    for row in data["question"]:
        assert row.keys() == {"text", "step", "answer", "counts"}
        assert all(isinstance(text, str) and len(text) > 1 for text in row.values())
        assert row["text"] not in asked
        assert row["step"] in titles
