"""Noise and edits, against values worked out by hand."""

from __future__ import annotations

from typing import get_args

import pytest

from core.errors import OutOfRange
from core.language.noise import MOST, NOISES, PUBLISHED, RATES, Noise, changed, drawn, error_rate, noisy

TEXT = "An owl, which I know, sleeps in the old Barn."
KINDS: tuple[Noise, ...] = get_args(Noise)


@pytest.mark.parametrize("kind", KINDS)
def test_rate_and_seed_decide(kind: Noise) -> None:
    if kind in RATES:
        assert noisy(TEXT, kind, 0.0, seed=3) == TEXT
    assert noisy("", kind) == ""
    assert noisy(TEXT, kind, seed=5) == noisy(TEXT, kind, seed=5)
    assert (len({noisy(TEXT * 5, kind, seed=seed) for seed in range(8)}) > 1) is (kind not in ("upper", "antspeak"))


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("order", "a b c d e", "b a d c e"),
        ("case", "The cat, Tom, sat.", "the cat tom sat"),
        ("case", "McKay and the USA", "mcKay and the uSA"),
        ("letters", "12, 34! 56?", "12, 34! 56?"),
        ("drop", "an owl", ""),
        ("antspeak", "an owl", "A N O W L"),
        ("upper", "Straße, é", "STRASSE, É"),
    ],
)
def test_the_limit_of_each_kind_by_hand(kind: Noise, text: str, expected: str) -> None:
    assert noisy(text, kind, 1.0) == expected


def test_the_limit_of_each_random_kind() -> None:
    assert noisy("the cat sat", "spaces", 1.0, seed=1).replace(" ", "") == "thecatsat"
    tripled = noisy("ab", "repeat", 1.0, seed=0)
    assert set(tripled) == {"a", "b"}
    assert all(2 <= tripled.count(letter) <= 4 for letter in "ab")
    assert noisy(TEXT, "random-case", seed=1).lower() == TEXT.lower()


def test_letters_at_rate_one_use_all_four_kinds() -> None:
    assert {noisy("s", "letters", 1.0, seed=seed) for seed in range(60)} == {"", "ss", "a", "d"}
    assert "ba" in {noisy("ab", "letters", 1.0, seed=seed) for seed in range(60)}
    # a letter without a known key is doubled
    assert {noisy("ß", "letters", 1.0, seed=seed) for seed in range(40)} == {"", "ßß"}


def test_a_mutation_adds_drops_or_replaces_equally_often_by_letters_of_the_text() -> None:
    text = "abcdefgh" * 2000
    assert PUBLISHED["mutate"] == PUBLISHED["drop"] == 0.1
    assert set(noisy(text, "mutate", 1.0, seed=1)) == set("abcdefgh")
    alone = [noisy("x", "mutate", 1.0, seed=seed) for seed in range(600)]
    assert set(alone) == {"xx", "", "x"}
    assert all(140 < alone.count(way) < 260 for way in ("xx", "", "x"))
    assert len(noisy(text, "mutate", 0.1, seed=0)) == pytest.approx(len(text), rel=0.01)


@pytest.mark.parametrize(
    ("kind", "rate", "match"),
    [
        ("rot13", None, "no noise called 'rot13'"),
        ("drop", 1.5, "from 0 to 1"),
        ("letters", -0.1, "from 0 to 1"),
        ("case", float("nan"), "from 0 to 1"),
    ],
)
def test_no_other_noise_and_no_other_rate(kind: Noise, rate: float | None, match: str) -> None:
    with pytest.raises(OutOfRange, match=match):
        noisy(TEXT, kind, rate)


def test_kinds_are_drawn_evenly_and_rates_up_to_twice_their_default() -> None:
    samples = [drawn("abcdefgh" * 40, seed) for seed in range(700)]
    for kind in NOISES:
        assert 60 < sum(drew == kind for _, drew in samples) < 140
    left = [len(text) / 320 for text, kind in samples if kind == "drop"]
    assert 1 - MOST * RATES["drop"] - 0.07 < min(left) < 0.9 < max(left)
    assert {drawn(TEXT, seed, kinds=("upper",))[0] for seed in range(9)} == {TEXT.upper()}


def test_edits_by_hand() -> None:
    assert error_rate(["kitten", "ab"], ["sitting", "ab"]) == pytest.approx(100 * 3 / 9)
    assert error_rate([], []) == 0.0


def test_changes_are_marked_in_the_corrected_text() -> None:
    assert changed("teh cat", "the cat") == (("t", False), ("h", True), ("e cat", False))
    assert changed("a cat", "a cat") == (("a cat", False),)
    assert changed("", "new") == (("new", True),)
    assert changed("gone", "") == ()
    assert "".join(text for text, _ in changed("thecat sta", "The cat sat.")) == "The cat sat."
