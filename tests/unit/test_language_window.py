"""A part of a long text: counted by hand with words of one token, or of one token for each letter."""

from __future__ import annotations

import pytest

from core.language.text import LONGEST, last_window, window

TEN = " ".join(f"w{n}" for n in range(1, 11))


def words(text: str) -> int:
    return len(text.split())


def framed(text: str) -> int:
    return words(text) + 2


def letters(text: str) -> int:
    return len(text.encode())


def test_what_fits_is_read_whole() -> None:
    found = window(TEN, framed, words, 12, 4, 6)
    assert (found.text, found.first, found.last, found.total) == (TEN, 1, 10, 10)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, (1, 4, "w1 w2 w3 w4")),
        (3, None, (3, 6, "w3 w4 w5 w6")),
        (3, 5, (3, 5, "w3 w4 w5")),
        (3, 9, (3, 6, "w3 w4 w5 w6")),
        (8, None, (8, 10, "w8 w9 w10")),
        (99, 2, (10, 10, "w10")),
        (0, 0, (1, 4, "w1 w2 w3 w4")),
    ],
)
def test_tokens_are_chosen_by_number(first: int | None, last: int | None, expected: tuple[int, int, str]) -> None:
    found = window(TEN, framed, words, 6, first, last)
    assert (found.first, found.last, found.text) == expected


def test_a_part_begins_with_a_word() -> None:
    found = window("aaa bbb ccc", letters, letters, 8, 6)  # " bbb" has the bytes 4 to 7
    assert (found.text, found.first, found.last, found.total) == ("bbb ccc", 4, 11, 11)


def test_a_text_without_blanks_is_cut_inside() -> None:
    found = window("x" * 100, letters, letters, 40)
    assert found.text == "x" * (40 // LONGEST * LONGEST)


def test_the_end_of_a_text() -> None:
    assert last_window(TEN, framed, words, 6).text == "w7 w8 w9 w10"
    assert last_window(TEN, framed, words, 12).text == TEN


def test_what_grows_when_it_is_cut_is_counted_again() -> None:
    found = window(TEN, lambda text: 2 * words(text), words, 6)
    assert found.text == "w1 w2 w3"
