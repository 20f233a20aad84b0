"""Rounds: what counts as the same word, and what a round draws from the bank."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.language.guesses import among, plain_word, same_word
from core.language.rounds import GAP, KINDS, LENGTH, Answer, Kind, Turn, bank, draw, scores, spans


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("  Milk! ", "milk"),
        ("the door", "door"),
        ("A DOG", "dog"),
        ("cafe", "café"),
        ("freind", "friend"),
        ("daugther", "daughter"),
        ("aple s"[:4] + "s", "aples"),
        ("tomorow", "tomorrow"),
        ("ＭＩＬＫ", "milk"),
        ("the", "the"),
        ("a", "a"),
        (",", ","),
    ],
)
def test_a_slip_is_forgiven(typed: str, word: str) -> None:
    assert same_word(typed, word)
    assert same_word(word, typed)


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("house", "horse"),
        ("dogs", "dog"),
        ("form", "from"),
        ("too", "to"),
        ("", "milk"),
        ("😀", "milk"),
        ("!!!", "milk"),
        ("😀", ""),
        ("", ""),
        ("abcde", "baced"),
        ("milk and honey", "milk"),
        ("water", "wate"),
        (",", "."),
    ],
)
def test_another_word_is_not(typed: str, word: str) -> None:
    assert not same_word(typed, word)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_compare(one: str, other: str) -> None:
    assert same_word(one, other) == same_word(other, one)
    assert len(plain_word(one)) <= 60


def test_the_first_that_fits_is_found() -> None:
    assert among("Couch", ("bed", "couch", "couch")) == 1
    assert among("floor", ("bed", "couch")) is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_bank_is_whole(kind: Kind) -> None:
    rows = bank(kind)
    assert len(rows) >= 14
    texts = [row["first"] if kind == "order" else row["text"] for row in rows]
    assert len(set(texts)) == len(texts)
    for row, text in zip(rows, texts, strict=True):
        if kind == "masked":
            assert text.count(GAP) == 1
        elif kind == "next":
            assert text[-1].isalpha()
        elif kind == "replaced":
            words = [text[start:end] for start, end in spans(text)]
            assert words.count(row["written"]) == 1
            assert row["word"] != row["written"]
        if kind != "order":
            assert all(re.fullmatch(r"[a-z]+", word) for word in (row["word"], *row.get("also", ())))
            assert row["word"] not in row.get("also", ())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 2**31 - 1])
def test_a_round_is_ten_different_questions(kind: Kind, seed: int) -> None:
    round_ = draw(kind, seed)
    assert len({question.answers[0] + question.text for question in round_}) == LENGTH
    assert round_ == draw(kind, seed)
    assert round_ != draw(kind, seed - 1 if seed else 2)
    for question in round_:
        right = question.correct if question.choices else question.answers[0].upper()
        assert question.right(right)
        assert not question.right(None)
        assert not question.right("xyzzy")


def test_the_replaced_word_is_the_one_that_was_written() -> None:
    for question in draw("replaced", 3):
        row = next(row for row in bank("replaced") if row["text"] == question.text)
        assert question.correct is not None
        assert question.choices[question.correct] == row["written"]
        assert question.answers == (row["word"],)


def test_about_half_of_the_pairs_are_swapped() -> None:
    turned = [question.correct for seed in range(60) for question in draw("order", seed)]
    # 600 fair throws: four standard deviations are 4 * sqrt(600) / 2 = 49.
    assert abs(int(np.sum(turned)) - 300) < 49
    for question in draw("order", 0):
        assert question.choices[question.correct or 0] == question.answers[0]


def test_a_guess_is_held_against_what_stood_there_and_against_the_model() -> None:
    from core.ui.demos.cover import choice, verdict

    words, chances = ("milk", "water", "tea"), (0.5, 0.25, 0.1)
    assert verdict("Milk", words, chances) == "Right: it is the model's top prediction, at 50%."
    assert verdict("tea", words, chances) == "Wrong, but close: it is the model's prediction 3, at 10%."
    assert verdict("wine", words, chances) == "Wrong: it is not among the model's top 3 predictions."
    assert (
        verdict("water", words, chances, "water")
        == "Right: that is the original. Your word is the model's prediction 2, at 25%."
    )
    assert verdict("milk", words, chances, "wine").startswith(
        "Wrong: the original is “wine”. Your word is the model's prediction 1"
    )
    assert choice("b", ("a", "b"), (0.2, 0.8)) == "Right: it has the highest probability, 80%."
    assert choice("a", ("a", "b"), (0.2, 0.8)) == "Wrong: “b” has the highest probability, 80%."


def test_a_model_that_knows_nothing_is_judged_by_its_choice() -> None:
    first, second, third = draw("masked", 0)[:3]
    rows = [
        Turn(first, first.answers[0], Answer(("x",), (0.9,), 0, False)),
        Turn(second, None, Answer((second.answers[0],), (0.9,), 0, True)),
        Turn(third),
    ]
    assert scores(rows) == (2, 1, 1)
