"""A word in its sentences: how lines are read, where a word stands, and what is said of what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.language.types import Token
from core.vectors.contextual import sense_separation
from core.vectors.occurrences import (
    EXAMPLES,
    MAX_LINE,
    MAX_LINES,
    Line,
    clean_word,
    find_occurrences,
    find_word,
    missing_note,
    parse,
    tokens_within,
    words,
)
from core.vectors.reading import Reading


def letters(text: str) -> Reading:
    """A reading in which every letter is a token and layer l has the vector (position, l)."""
    tokens = tuple(Token(ord(letter), letter, letter, i, i + 1) for i, letter in enumerate(text) if letter != " ")
    states = np.array([[[token.start, layer] for token in tokens] for layer in range(3)], dtype=np.float32)
    return Reading(text, tokens, states)


def test_a_line_may_have_a_sense() -> None:
    found = parse("game | They play.\n\n  The play ends. \n | no sense\nnothing |  ")
    assert found == (Line(1, "game", "They play."), Line(2, "", "The play ends."), Line(3, "", "no sense"))


def test_only_the_first_bar_parts() -> None:
    assert parse("a | b | c")[0] == Line(1, "a", "b | c")


@pytest.mark.parametrize("text", ["", " \n ", "sense |", "|\n|"])
def test_no_sentence_is_said(text: str) -> None:
    with pytest.raises(InputEmpty):
        parse(text)


def test_what_is_too_long_is_said_with_its_number() -> None:
    with pytest.raises(InputTooLong, match="Line 2 has 161 characters"):
        parse("short\n" + "a" * (MAX_LINE + 1))
    with pytest.raises(InputTooLong, match="17 lines"):
        parse("a word\n" * (MAX_LINES + 1))
    with pytest.raises(InputTooLong, match="before the bar"):
        parse("s" * 21 + " | a word")


@pytest.mark.parametrize(
    ("word", "text", "found"),
    [
        ("play", "Play a play, replay, plays; play.", ((0, 4), (7, 11), (28, 32))),
        ("play", "display playing", ()),
        ("an", "an_an an", ((6, 8),)),
        ("naïve", "So naïve!", ((3, 8),)),
        ("银行", "我去银行取钱", ((2, 4),)),
        ("בית", "בבית בית", ((5, 8),)),
        ("don't", "I don't.", ((2, 7),)),
        ("a.b", "axb a.b", ((4, 7),)),
        ("😀", "a 😀 b", ((2, 3),)),
    ],
)
def test_where_a_word_stands(word: str, text: str, found: tuple[tuple[int, int], ...]) -> None:
    assert find_word(word, text) == found


@given(st.text(min_size=1, max_size=6), st.text(max_size=40))
def test_what_is_found_is_the_word(word: str, text: str) -> None:
    for start, end in find_word(word, text):
        assert text[start:end].lower() == word.lower() or len(text[start:end]) == len(word)


def test_a_word_is_checked() -> None:
    assert clean_word("  play ") == "play"
    for word, error in (("", InputEmpty), ("  ", InputEmpty), ("w" * 31, InputTooLong), ("...", InputUnusable)):
        with pytest.raises(error):
            clean_word(word)


def test_a_word_of_several_pieces_has_their_mean() -> None:
    found = find_occurrences("ab", parse("ab c\nx\nc ab ab"), letters)
    assert [one.name for one in found.occurrences] == ["1", "3a", "3b"]
    assert found.vectors[0, :, 0].tolist() == [0.5, 2.5, 5.5]  # the mean of the positions of its two letters
    assert found.vectors[2, :, 1].tolist() == [2, 2, 2]
    assert found.missing_lines == (2,)
    assert "line 2" in missing_note(found)
    with pytest.raises(InputUnusable, match="occurs in none of the 2 sentences"):
        find_occurrences("z", parse("a\nb"), letters)
    with pytest.raises(InputUnusable, match="occurs in no sentence here"):
        find_occurrences("z", parse("a"), letters)
    with pytest.raises(InputUnusable, match="occurs 32 times"):
        find_occurrences("a", parse("a a\n" * 16), letters)


def test_all_words_without_marks() -> None:
    found = words(parse("ab, c!\nd"), letters)
    assert found.texts == ("ab", "c", "d")
    assert found.lines == (1, 1, 2)
    with pytest.raises(InputUnusable):
        words(parse("!!"), letters)


def test_tokens_that_touch_a_span() -> None:
    tokens = [Token(0, "x", "x", s, e) for s, e in ((0, 2), (2, 4), (4, 6), (-1, -1))]
    assert tokens_within(tokens, 1, 4) == (0, 1)
    assert tokens_within(tokens, 2, 3) == (1,)


def test_every_ready_word_stands_in_all_its_sentences() -> None:
    assert next(iter(EXAMPLES)) == "play"
    for word, text in EXAMPLES.items():
        lines = parse(text)
        assert all(len(find_word(word, line.text)) == 1 for line in lines), word
        senses = [line.sense for line in lines]
        assert all(senses.count(sense) >= 2 for sense in senses), word
        assert len(set(senses)) >= (5 if word == "play" else 4)


def test_senses_by_hand() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float32)
    found = sense_separation(vectors, ["a", "a", "b", ""], 0.25)
    root = 0.5**0.5
    assert found.same == pytest.approx(1)
    assert found.other == pytest.approx((0 + 0 + 3 * root) / 5)
    assert found.nearest == 1  # of the two with company; b is alone
    assert found.baseline == 0.25
    same = np.ones((3, 2), dtype=np.float32)
    assert sense_separation(same, ["a", "a", "b"], None).nearest is None  # equal vectors have no nearest
