"""Questions: what is right, which option was chosen, and how a box is named."""

from __future__ import annotations

import pytest

from core.quiz import Answer, Mistake, Option, Quiz
from core.ui.quiz import spoken


@pytest.mark.parametrize(
    ("given", "answer", "right"),
    [(10, 10, True), (9.0, 10, True), (8.9, 10, False), ("a", "a", True), ("a", "b", False), ("10", 10, False)],
)
def test_an_answer_is_right_within_its_tolerance(given: Answer, answer: Answer, right: bool) -> None:
    assert Quiz(text="?", tolerance=0.1).right(given, answer) == right


def test_the_chosen_option_is_found_by_its_text() -> None:
    quiz = Quiz(text="?", options=(Option(text="a"), Option(text="b", misconception="c")))
    assert quiz.behind("b") == quiz.options[1]
    assert quiz.behind("c") is None
    assert quiz.texts == ("a", "b")


def test_a_wrong_number_is_found_among_the_mistakes() -> None:
    mistake = Mistake(answer=5, misconception="The score is not divided by √d.", because="5 / √2 = 3.54.")
    quiz = Quiz(text="?", tolerance=0.02, mistakes=(mistake,))
    assert quiz.behind(5.1) is mistake
    assert quiz.behind(5.2) is None
    assert quiz.behind("5") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Which key does “her” read, without [CLS]?", "Which key does “her” read, without CLS ?"),
        ("![x](http://b.example/y.png) **bold** :red[a] <b>", "! x (http b.example y.png) bold red a b"),
    ],
)
def test_the_name_of_a_box_has_no_markdown_and_no_backslash(text: str, name: str) -> None:
    assert spoken(text) == name
