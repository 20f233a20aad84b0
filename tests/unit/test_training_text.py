"""The text of a training: what is refused and held out, and the counted baseline."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest

from core.errors import InputTooLong, InputUnusable
from core.settings import settings
from core.training.counts import DISCOUNT, bits_per_byte
from core.training.ready import READY, ready, stories
from core.training.text import FEWEST, Corpus, hold_out, read_upload, split


@pytest.mark.parametrize("name", READY)
def test_every_ready_text_can_be_split(name: str) -> None:
    corpus = split(ready(name))
    assert len(corpus.held_out) * 5 < len(corpus.train) < len(corpus.held_out) * 30
    assert not set(corpus.held_out) & set(corpus.train)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("too short.", "10 characters"),
        ("", "0 characters"),
        ("a" * 5_000, "over and over"),
        ("ab\n" * 3_000, "over and over"),
        ("\x00\x01\x02\x7fELF" * 1_000, "control characters"),
        (bytes(range(256)).decode("latin-1") * 20, "control characters"),
    ],
)
def test_a_text_with_nothing_to_learn_is_refused_in_a_sentence(text: str, says: str) -> None:
    with pytest.raises(InputUnusable, match=says):
        split(text)


def test_a_text_is_bounded_in_bytes() -> None:
    most = settings().max_training_kb * 1_000
    line = "ä sentence number {} of a long text.\n"
    text = "".join(line.format(number) for number in range(most // 30))
    with pytest.raises(InputTooLong, match="1,000 are the most"):
        split(text)


def test_a_file_that_is_no_utf8_is_refused() -> None:
    with pytest.raises(InputUnusable, match="UTF-8"):
        read_upload("Gr\u00fc\u00dfe".encode("utf-16"))
    assert read_upload("\ufeffGr\u00fc\u00dfe".encode()) == "Gr\u00fc\u00dfe"


def test_a_page_of_prose_is_split_into_sentences() -> None:
    text = " ".join(f"This is the sentence with the number {number}." for number in range(100))
    assert len(text) > FEWEST
    corpus = split(text)
    assert len(corpus.train) == 90
    assert corpus.held_out[0] == "This is the sentence with the number 9."


def test_a_held_out_line_that_is_also_read_is_no_test() -> None:
    lines = [str(number % 11) for number in range(1, 100)]
    with pytest.raises(InputUnusable, match="each of them stands in the rest"):
        hold_out(lines)
    assert hold_out([*lines[:9], "other", *lines[10:]]).held_out == ("other",)


def test_counted_characters_are_those_of_the_formula() -> None:
    corpus = Corpus(("abab", "abc"), ("abd",))
    read, test = "\nabab\nabc\n", "\nabd\n"
    single = Counter(read)
    letters = set(read + test)
    lower = {c: (single[c] + 1) / (len(read) + len(letters)) for c in letters}
    pairs, before = Counter(itertools.pairwise(read)), Counter(read[:-1])

    def chance(a: str, b: str) -> float:
        if not before[a]:
            return lower[b]
        kinds = sum(first == a for first, _ in pairs)
        return max(pairs[a, b] - DISCOUNT, 0) / before[a] + DISCOUNT * kinds / before[a] * lower[b]

    bits = -sum(math.log2(chance(a, b)) for a, b in itertools.pairwise(test)) / 4
    unigram, bigram = bits_per_byte(corpus, 2)
    assert bigram == pytest.approx(bits, abs=1e-9)
    assert unigram == pytest.approx(-sum(math.log2(lower[c]) for c in test[1:]) / 4, abs=1e-9)


def test_longer_histories_help_on_stories_and_a_narrator_can_be_left_out() -> None:
    bits = bits_per_byte(split(stories()))
    assert list(bits) == sorted(bits, reverse=True)
    assert 1.5 < bits[-1] < 2.0
    assert "Bramble" in stories()
    assert "Bramble" not in stories("moss")
