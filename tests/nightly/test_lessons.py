"""Every question of every bundled lesson has the computed answer among its options, and no other option is close."""

from __future__ import annotations

import pytest

from core import checkpoints
from core.attention.roles.everyhead import rows
from core.lessons.checks import Attended, BestHead, Prediction
from core.lessons.lesson import Lesson, lessons
from tests.app.test_lessons import is_answerable

STEPS = [
    pytest.param(variant, id=f"{lesson.slug}-{number}-{at}")
    for lesson in lessons()
    if isinstance(lesson, Lesson)
    for number, step in enumerate(lesson.steps, 1)
    for at, variant in enumerate(step.variants)
    if variant.check
]


@pytest.mark.parametrize("step", STEPS)
def test_the_options_hold_the_answer(step):
    assert is_answerable(step)
    assert step.quiz.options or not any(step.quiz.right(wrong.answer, step.check.answer()) for wrong in step.mistakes)


def values(step) -> dict[str, float]:
    """What the answer is the largest of, by option: a probability, a weight, a score."""
    check = step.check
    if isinstance(check, Prediction):
        best = check.best(1_000)
        result = zip((token.strip() for token in best.tokens), best.probabilities, strict=True)
    elif isinstance(check, Attended):
        attention_map, row = check.row()
        result = zip(attention_map.key_tokens, row, strict=True)
    else:
        every = [row for row in rows((checkpoints.get(check.model),)) if check.relation in (None, row.relation)]
        result = ((f"{r.layer}-{r.head}", r.right if check.relation else r.score(check.score)) for r in every)
    return {
        name: value for name, value in result if name in {option.text for option in step.options} and value is not None
    }


@pytest.mark.parametrize(
    "step", [param for param in STEPS if isinstance(param.values[0].check, Prediction | Attended | BestHead)]
)
def test_no_other_option_is_close(step):
    by_option = values(step)
    answer = by_option.pop(step.check.answer())
    assert answer > 1.2 * max(by_option.values(), default=0.0), by_option
