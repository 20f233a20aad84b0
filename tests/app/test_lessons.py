"""The page of lessons: the list, a step with its view and question, a lesson from a link, and what is refused."""

from __future__ import annotations

from core.content import content
from core.lessons.lesson import Lesson, lessons
from tests.pages import opened, protos, shown, widget

FIRST = "1-what-attention-computes"
WORDS = content("lessons", "lessons")


def test_the_list_and_a_lesson() -> None:
    at = opened("lessons")
    titles = [lesson.title for lesson in lessons() if isinstance(lesson, Lesson)]
    labels = [proto.label.strip("*") for proto in protos(at, "page_link")]
    assert [label for label in labels if label in titles] == titles
    assert not at.exception


def test_a_question_is_answered_by_what_is_computed() -> None:
    at = opened("lessons", lesson=FIRST, step="4")
    number = at.number_input[0]
    number.set_value(99).run()
    widget(at.button, "Check").click().run()
    assert WORDS.part("Not this") in shown(at)
    at.number_input[0].set_value(100).run()
    widget(at.button, "Check").click().run()
    assert [success.value for success in at.success] == [WORDS.part("Right", answer="100")]
    widget(at.button, "Next").click().run()
    assert at.query_params["step"] == "5"
    assert not at.exception


def test_a_lesson_of_a_link_is_data() -> None:
    text = '+++\ntitle = "**Bold** [a](http://b.example)"\nline = "A line."\n+++\n'
    text += '## <b>First</b>\n# Heading ![x](http://b.example/y.png)\n+++\nview = "/glossary"\n+++\n'
    at = opened("lessons", file=text)
    drawn = " ".join(str(one.value) for one in (*at.markdown, *at.caption, *at.subheader))
    assert "](http" not in drawn
    assert "\\*\\*Bold" in drawn
    assert not at.exception


def test_what_does_not_fit_is_said() -> None:
    assert "step 1 “First”: there is no page “nowhere”" in shown(
        opened("lessons", file='+++\ntitle = "A"\nline = "B"\n+++\n## First\n+++\nview = "/nowhere"\n+++\n')
    )
    assert WORDS.part("No such lesson", lesson="nothing") in shown(opened("lessons", lesson="nothing"))


def test_each_question_has_the_answer_that_is_computed_among_its_options() -> None:
    """Some 50 computations on small models."""
    wrong = []
    for lesson in lessons():
        assert isinstance(lesson, Lesson)
        for number, step in enumerate(lesson.steps, 1):
            if step.check is not None:
                answer = step.check.answer()
                if not (answer in step.options if step.options else isinstance(answer, int | float)):
                    wrong.append((lesson.slug, number, answer))
    assert not wrong
