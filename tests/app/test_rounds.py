"""Predict first: rounds of ten, and the switch that covers the answers of demos."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.language.rounds import KINDS, LENGTH, MODELS, Kind, Question, draw
from core.language.rounds import answer as answers
from core.ui.chips import Clicked
from tests import pages
from tests.app.history import back
from tests.app.test_objectives import opened
from tests.pages import html_of
from tests.words import unlinked


def button(at: AppTest, label: str) -> AppTest:
    return next(b for b in at.button if b.label == label).click().run()


def said(at: AppTest) -> str:
    return " ".join(unlinked(str(element.value)) for element in (*at.markdown, *at.caption, *at.warning))


def charts(at: AppTest) -> list[str]:
    """Pictures of answers; the learning curve on a model's card is none."""
    return [chart.key for chart in at.get("plotly_chart") if "learning-curve" not in chart.key]


def everything(at: AppTest) -> str:
    return " ".join((html_of(at), said(at), *(str(f.proto) for f in at.get("plotly_chart"))))


def answer(at: AppTest, question: Question, kind: Kind, number: int, right: bool) -> AppTest:
    if kind == "order":
        at_place = question.correct if right else 1 - (question.correct or 0)
        return button(at, f"{'AB'[at_place or 0]} came first")
    if kind == "replaced":
        key = next(b.key for b in at.button if b.label == "Show").removesuffix(".show")
        picked = question.correct if right else (question.correct or 0) - 1
        at.session_state[f"{key}--sent"] = Clicked(selected=[picked])
        return at.run()
    return at.text_input[0].set_value(question.answers[0].upper() if right else "xyzzy").run()


def test_a_round_by_typing() -> None:
    at = opened(tab="rounds")
    round_ = draw("masked", 0)
    for number, question in enumerate(round_):
        assert f"{number + 1}. Which word is masked?" in said(at)
        at = answer(at, question, "masked", number, right=number != 4)
        assert f"**Original:** {question.answers[0]}" in said(at)
        assert ("✗ **You:** xyzzy" if number == 4 else "✓ **You:**") in said(at)
        if number + 1 < LENGTH:
            at = button(at, "Next question")
            assert at.query_params["question"] == str(number + 2)
    assert f"You 9 of {LENGTH}, Atlas BERT" in said(at)
    assert html_of(at).count('aria-label="right"') >= 9
    at = back(at, tab="rounds", question="3")  # Back, and links, find the answers again
    assert "✓ **You:**" in said(at)
    at = button(at, "Another round")
    assert at.query_params["round"] == "1"
    assert "Round 2" in html_of(at)
    assert "1. Which word is masked?" in said(at)
    assert "0 of 0" in html_of(at)


def test_a_round_begun_late_ends_with_its_last_answer() -> None:
    at = opened(tab="rounds", question="9")
    for number in (8, 9, *range(8)):
        assert not any(b.label == "Another round" for b in at.button)
        at = button(answer(at, draw("masked", 0)[number], "masked", number, right=True), "Next question")
    assert at.query_params["question"] == "9"
    at = button(at, "Previous question")
    assert f"You {LENGTH} of {LENGTH}" in said(at)
    at = button(at, "Another round")
    assert at.query_params["round"] == "1"


@pytest.fixture(scope="module")
def page() -> AppTest:
    return opened(tab="rounds")


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_is_in_the_page_before_it_is_given(page: AppTest, kind: Kind) -> None:
    question = draw(kind, 5)[1]
    at = back(page, tab="rounds", kind=kind, round="5", question="2")
    before = everything(at)
    assert "Original" not in before
    assert not charts(at)
    if not question.choices:
        assert f">{question.answers[0]}<" not in before
    at = answer(at, question, kind, 1, right=True)
    assert "✓ **You:**" in said(at)
    assert charts(at)
    assert "1 of 1" in html_of(at)
    at = button(at, "Previous question")
    assert not charts(at)


@pytest.mark.parametrize("guess", ["😀😀", "   "])
def test_a_guess_without_a_word_is_not_counted(page: AppTest, guess: str) -> None:
    at = back(page, tab="rounds", round=str(100 + len(guess)), question="1")
    at = at.text_input[0].set_value(guess).run()
    assert "Original" not in said(at)
    assert "0 of 0" in html_of(at)


def test_a_strange_guess_is_wrong_and_harmless(page: AppTest) -> None:
    at = back(page, tab="rounds", round="200")
    at = at.text_input[0].set_value("<script>alert(1)</script> **x** $y$").run()
    assert "✗ **You:**" in said(at)
    assert "<script>" not in everything(at)


def test_giving_up_is_no_point(page: AppTest) -> None:
    at = button(back(page, tab="rounds", kind="next", round="9"), "Show")
    assert "✗ **You:** no answer" in said(at)


def _rounds_alone() -> None:
    import pytest

    from core.ui.objectives.rounds import ROUNDS
    from core.ui.section import Page

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.ui.section.page_link", lambda *given, **named: None)  # no other page is there
        Page("objectives", (ROUNDS,)).run()


def test_reset_starts_the_round_anew() -> None:
    at = AppTest.from_function(_rounds_alone, default_timeout=120).run()
    assert not any(b.label == "New round" for b in at.button)
    at = button(answer(at, draw("masked", 0)[0], "masked", 0, right=True), "Next question")
    at = answer(at, draw("masked", 0)[1], "masked", 1, right=False)
    assert "1 of 2" in html_of(at)
    assert any(b.label == "New round" for b in at.button)
    at = button(at, "Reset")
    assert "0 of 0" in html_of(at)
    assert "1. Which word is masked?" in said(at)
    at = answer(at, draw("masked", 0)[0], "masked", 0, right=True)
    assert "1 of 1" in html_of(at)


def guess(at: AppTest, typed: str) -> AppTest:
    return (
        next(box for box in at.text_input if "guess" in box.label.lower() or "replaced" in box.label)
        .set_value(typed)
        .run()
    )


def test_hidden_words_wait_for_a_guess() -> None:
    at = pages.opened("encoder", model="minilm", cover="yes")
    assert not charts(at)
    assert "paris" not in everything(at).lower()
    at = guess(at, "   ")
    assert not charts(at)
    at = guess(at, "Paris")
    assert charts(at)
    assert "Right: it is the model's top prediction" in said(at).replace("\\", "")
    at = button(at, "Cover again")
    assert not charts(at)
    at = button(at, "Show")
    assert charts(at)
    at = next(t for t in at.toggle if t.label == "Guess first").set_value(False).run()
    assert "cover" not in at.query_params


def test_each_next_token_waits_for_a_guess() -> None:
    at = pages.opened("decoder", cover="yes", length="6", text="Once upon a")
    assert " time" not in html_of(at)
    assert not charts(at)
    at = guess(at, "time")
    assert "Right: that is the original." in said(at).replace("\\", "")
    assert " time" in html_of(at)
    at = button(at, "Next token")
    assert at.query_params["step"] == "2"
    assert not charts(at)


def test_pairs_and_replaced_tokens_wait_too() -> None:
    at = pages.opened("encoder", model="atlas-bert", demo="pairs", cover="yes")
    assert not charts(at)
    (pills,) = [group for group in at.button_group if group.label == "Which line gets the highest probability?"]
    at = pills.set_value(pills.options[0]).run()
    assert charts(at)
    at = pages.opened("encoder", system="electra", model="atlas-electra", cover="yes")
    assert not charts(at)
    assert "<s " not in html_of(at)
    at = guess(at, "king")
    assert charts(at)


def test_objectives_share_the_switch(page: AppTest) -> None:
    at = back(page, objective="masked", cover="yes", text="The king gave his daughter a golden ring.")
    assert '<span class="a">?</span>' in html_of(at)
    at = guess(at, "xyzzy")
    assert "0 of" in said(at)
    assert '<span class="a">?</span>' not in html_of(at)


def test_another_sentence_is_covered_anew_and_the_first_stays_shown() -> None:
    at = guess(pages.opened("encoder", model="minilm", cover="yes"), "rome")
    assert charts(at)
    box = at.text_area[0]
    first = box.value
    at = box.set_value("The sky is [MASK].").run()
    assert not charts(at)
    at = at.text_area[0].set_value(first).run()
    assert charts(at)
    assert "rome" in said(at)


@pytest.mark.parametrize("kind", KINDS)
def test_the_models_do_fairly_on_the_bank(kind: Kind) -> None:
    """Better than nothing and not perfect, or there would be nothing to play against."""
    model = checkpoints.load(MODELS[kind][0])
    asked = {question.text: question for seed in range(4) for question in draw(kind, seed)}
    right = sum(answers(model, question).right for question in asked.values())
    assert 0.3 <= right / len(asked) <= 0.95


def test_the_reversed_order_gets_the_rest_of_the_probability() -> None:
    model = checkpoints.load("atlas-gpt-2")
    question = draw("order", 0)[0]
    turned = replace(question, choices=question.choices[::-1], correct=1 - (question.correct or 0))
    one, other = answers(model, question), answers(model, turned)
    assert sum(one.probabilities) == pytest.approx(1.0)
    assert one.probabilities == pytest.approx(other.probabilities[::-1])
    assert one.right == other.right
