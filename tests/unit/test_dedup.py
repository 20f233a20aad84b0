"""Repeats against brute force and numbers by hand; MinHash against the true similarity; half a megabyte in seconds."""

from __future__ import annotations

import random
import time
import tracemalloc
from itertools import pairwise

import pytest

from core.errors import InputEmpty, InputTooLong, OutOfRange
from core.settings import settings
from core.tokenizers import dedup
from core.tokenizers.dedup import decoded, exact, found_with, near

pytestmark = pytest.mark.usefixtures("fresh_settings")


def brute(words: list[str], length: int) -> int:
    """Tokens in later occurrences, by comparing every pair of positions."""
    last = len(words) - length
    later = {i for i in range(last + 1) for j in range(i) if words[i : i + length] == words[j : j + length]}
    return len({i + k for i in later for k in range(length)})


@pytest.mark.parametrize("length", [1, 2, 3, 5, 6, 11])
def test_exact_repeats_are_those_of_brute_force(length: int) -> None:
    rng = random.Random(length)
    for _ in range(30):
        words = rng.choices("abc", k=60)
        assert exact(" ".join(words), length).removed == brute(words, length)


def test_the_longest_repeat_is_named_with_its_place() -> None:
    text = "one two three four. And then one two three four again, two three."
    repeats = exact(text, 3)
    (repeat,) = repeats.repeats
    assert repeat.text == "one two three four"
    assert text[repeat.start : repeat.end] == repeat.text
    assert (repeats.removed, repeat.tokens) == (4, 4)
    assert exact("too short", 50).repeats == ()
    with pytest.raises(InputEmpty):
        exact(" \n ")


def test_near_duplicates_by_hand() -> None:
    same = "a b c d e f g h i j k l m n o p q r s t u v w x y z"
    changed = same.replace("z", "!")  # one of 22 5-grams differs: 21 of 23 are shared
    other = " ".join(str(number) for number in range(26))
    near_duplicates = near("\n\n".join((same, other, changed, "b c")))
    (pair,) = near_duplicates.pairs
    assert (pair.first, pair.second, pair.jaccard) == (0, 2, 21 / 23)
    assert pair.edit == pytest.approx(25 / 26)
    assert pair.estimate == pytest.approx(pair.jaccard, abs=0.15)
    assert (near_duplicates.clusters, near_duplicates.removed, near_duplicates.unseen) == (((0, 2),), (2,), 1)
    assert near("\n\n".join((same, changed)), jaccard=0.95).clusters == ()
    with pytest.raises(InputEmpty, match="only one document"):
        near(same)
    assert near(f"{same}\n{changed}", "line").removed == (1,)


def test_clusters_connect_through_a_middle_document() -> None:
    words = [f"w{number}" for number in range(200)]
    texts = [" ".join([*words[at:], *(f"x{n}" for n in range(at))]) for at in (0, 8, 16)]
    near_duplicates = near("\n\n".join(texts))
    assert near_duplicates.clusters == ((0, 1, 2),)


def test_bands_find_what_they_promise_and_estimates_are_unbiased() -> None:
    assert found_with(0.5) == pytest.approx(0.960, abs=0.001)
    rng = random.Random(0)
    texts = []
    for number in range(60):
        words = [f"{number}-{i}" for i in range(300)]
        texts += [" ".join(words), " ".join(w if rng.random() > 0.02 else "new" for w in words)]
    near_duplicates = near("\n\n".join(texts))
    likely = [pair for pair in near_duplicates.pairs if pair.jaccard > 0.8]
    assert len(likely) > 20
    assert abs(sum(pair.estimate - pair.jaccard for pair in likely) / len(likely)) < 0.03


def test_half_a_megabyte_takes_seconds() -> None:
    rng = random.Random(1)
    words = [f"word{number}" for number in range(5_000)]
    texts = [" ".join(rng.choices(words, k=100)) for _ in range(550)]
    corpus = "\n\n".join([*texts, *texts[:100]])
    assert len(corpus) > 5e5
    began = time.process_time()
    assert len(near(corpus).removed) == 100
    assert exact(corpus).removed == 100 * 100 * 1
    assert time.process_time() - began < 8


def test_a_file_too_large_or_no_text_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutOfRange, match="UTF-8"):
        decoded(b"\xff\xfe\x00")
    monkeypatch.setenv("ATLAS_MAX_CORPUS_KB", "100")
    settings.cache_clear()
    with pytest.raises(InputTooLong, match="ATLAS_MAX_CORPUS_KB"):
        decoded(b" " * 100_001)
    assert decoded("ä".encode()) == "ä"


def test_too_many_candidates_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dedup, "MAX_PAIRS", 100)
    texts = [" ".join(f"w{number}" for number in range(60)) + f" {copy}" for copy in range(60)]
    with pytest.raises(OutOfRange, match="pairs would have to be compared"):
        near("\n".join(texts), "line")


def letters(count: int, unit: str) -> str:
    """Tokens of one letter: the most of them that a file can hold."""
    return unit.join(" ".join(random.Random(count).choices("abcdefgh", k=count)) for _ in range(2))


@pytest.mark.parametrize(
    ("text", "unit", "sentence"),
    [
        (letters(20_001, "\n\n"), "paragraph", "A paragraph has 20,001 words and punctuation marks; .* at most 20,000"),
        ("a b c d e\n" * 50_001, "line", "There are 50,001 lines; at most 50,000"),
        ("!" * 25_001 + "\n\nx", "paragraph", "more than 25,000 words and .*ATLAS_MAX_CORPUS_KB"),
    ],
)
def test_a_hostile_corpus_is_refused_in_seconds_and_little_memory(
    text: str, unit: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "ATLAS_MAX_CORPUS_KB" in sentence:
        monkeypatch.setenv("ATLAS_MAX_CORPUS_KB", "100")
        settings.cache_clear()
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises((OutOfRange, InputTooLong), match=sentence):
            near(text, unit)
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 10


def test_long_documents_are_compared_in_little_memory_with_steps_between(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[float] = []
    monkeypatch.setattr(dedup.turns, "step", lambda **_: steps.append(time.thread_time()))
    single = letters(9_000, " ")
    near("a b c d e\n\nf g h i j")  # the libraries are imported
    tracemalloc.start()
    began = time.thread_time()
    try:
        (pair,) = near(f"{single}\n\n{single} end").pairs
        assert tracemalloc.get_traced_memory()[1] < 25e6, "200 hashes of each n-gram at once take 28 MB"
    finally:
        tracemalloc.stop()
    assert pair.edit > 0.999
    assert max(after - before for before, after in pairwise([began, *steps])) < 0.5


def test_one_long_word_costs_the_others_no_memory() -> None:
    text = "x" * 20_000 + " " + " ".join(random.Random(0).choices("ab", k=20_000))
    tracemalloc.start()
    try:
        assert exact(text, 10).removed > 0
        assert tracemalloc.get_traced_memory()[1] < 40e6
    finally:
        tracemalloc.stop()


def test_pairs_that_are_too_long_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dedup, "MAX_CELLS", 99)
    with pytest.raises(OutOfRange, match="too long to be compared pair by pair"):
        near("a b c d e f g h i j\n\na b c d e f g h i j")
