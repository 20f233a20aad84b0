"""What is removed from a text or added to it, and nothing else."""

from __future__ import annotations

from collections import Counter

import pytest

from core.errors import InputUnusable
from core.training import changed
from core.training.ready import ready, stories
from core.training.text import Corpus, split

LINES = tuple(f"Line {number} is here. The cat sat." for number in range(25))
CORPUS = Corpus(
    ("A red Cap fell. Who saw it? “I did!” said Tom. His night-cap and the captain stayed.", *LINES), ("x",)
)


def test_sentences_end_after_their_closing_quotation_mark() -> None:
    line = '"Hold on!" I said, but it broke. "Why?" he asked. He left.'
    assert changed.sentences(line) == ['"Hold on!"', "I said, but it broke.", '"Why?" he asked.', "He left."]


def test_a_word_takes_its_sentences_with_it_and_no_other_word() -> None:
    left = changed.without_word(CORPUS, " cap ")
    assert left.train == ("Who saw it? “I did!” said Tom.", *LINES)
    assert left.held_out == CORPUS.held_out
    assert changed.without_word(CORPUS, "Tom").train[0].startswith("A red Cap fell. Who saw it? His night-cap")


def test_questions_are_removed_alone() -> None:
    assert changed.without_questions(CORPUS).train[0].startswith("A red Cap fell. “I did!” said Tom. His")


def test_a_line_left_without_sentences_is_gone() -> None:
    assert len(changed.without_word(CORPUS, "7").train) == len(CORPUS.train)
    assert changed.without_word(Corpus((*CORPUS.train, "Pip!"), ()), "pip").train == CORPUS.train


@pytest.mark.parametrize("word", ["", "  ", "nobody", ".*", "Lin"])
def test_a_word_that_does_not_stand_there_gets_a_sentence(word: str) -> None:
    with pytest.raises(InputUnusable):
        changed.without_word(CORPUS, word)


def test_a_word_of_all_lines_leaves_too_few() -> None:
    with pytest.raises(InputUnusable, match="0 lines would be left"):
        changed.without_word(Corpus(("The cat sat.",) * 30, ()), "cat")


def test_every_tenth_line_goes_and_ten_lines_come_ten_times() -> None:
    corpus = Corpus(tuple(f"line {number}" for number in range(1, 101)), ("x",))
    left = changed.thinned(corpus).train
    assert set(corpus.train) - set(left) == {f"line {number}" for number in range(10, 101, 10)}
    counts = Counter(changed.repeated(corpus).train)
    assert {line for line, count in counts.items() if count == changed.TIMES} == set(changed.repeated_lines(corpus))
    assert sorted(Counter(counts.values()).items()) == [(1, 90), (10, 10)]


def test_the_pair_without_a_narrator_lacks_the_lines_of_that_narrator_alone() -> None:
    whole = split(ready("stories"))
    left = changed.PAIRS["moss"](whole)
    assert set(left.train) == set(whole.train) & set(stories("moss").splitlines())
    assert left.held_out == whole.held_out


def test_the_word_that_is_proposed_stands_in_about_a_tenth_of_the_lines() -> None:
    corpus = Corpus((*("the cat",) * 18, *("the elephant",) * 2), ())
    assert changed.common_word(corpus) == "elephant"
    whole = split(ready("stories"))
    word = changed.common_word(whole)
    assert (
        0.05 < 1 - len(changed.without_lines(whole, [line for line in whole.train if word in line]).train) / 285 < 0.2
    )
