"""Every question of every bundled lesson has the computed answer among its options."""

from __future__ import annotations

import pytest

from core.lessons.lesson import Lesson, lessons
from tests.app.test_lessons import is_answerable

STEPS = [
    pytest.param(step, id=f"{lesson.slug}-{number}")
    for lesson in lessons()
    if isinstance(lesson, Lesson)
    for number, step in enumerate(lesson.steps, 1)
    if step.check
]


@pytest.mark.parametrize("step", STEPS)
def test_the_options_hold_the_answer(step):
    assert is_answerable(step)
