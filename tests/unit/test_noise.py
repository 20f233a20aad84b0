"""Noise and edits, against values worked out by hand."""

from __future__ import annotations

import pytest

from core.errors import OutOfRange
from core.language.damage import damage
from core.language.noise import KINDS, MOST, NOISES, PUBLISHED, RATES, changed, drawn, error_rate, noisy

TEXT = "An owl, I know, sleeps in the old Barn."


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in RATES])
def test_rate_nought_changes_nothing(kind):
    assert noisy(TEXT, kind, 0.0, seed=3) == TEXT


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind):
    assert noisy(TEXT, kind, seed=5) == noisy(TEXT, kind, seed=5)
    assert (len({noisy(TEXT * 5, kind, seed=seed) for seed in range(8)}) > 1) is (kind not in ("upper", "antspeak"))


def test_what_each_kind_does_at_its_limit():
    assert noisy("an owl", "drop", 1.0) == ""
    assert noisy("an owl", "antspeak") == "A N O W L"
    assert noisy("Straße, é", "upper") == "STRASSE, É"
    tripled = noisy("ab", "repeat", 1.0, seed=0)
    assert set(tripled) == {"a", "b"}
    assert all(2 <= tripled.count(letter) <= 4 for letter in "ab")
    assert noisy(TEXT, "random-case", seed=1).lower() == TEXT.lower()
    assert noisy(TEXT, "typos", 0.5, seed=4) == damage(TEXT, "letters", 0.5, 4)
    assert noisy(TEXT, "spaces", 0.5, seed=4) == damage(TEXT, "spaces", 0.5, 4)


def test_repetitions_are_as_frequent_as_stated_and_one_to_three():
    out = noisy("abcdefgh" * 2000, "repeat", seed=0)
    assert len(out) / 16000 == pytest.approx(1 + 0.2 * 2, abs=0.02)


def test_a_mutation_adds_drops_or_replaces_equally_often_by_letters_of_the_text():
    text = "abcdefgh" * 2000
    assert PUBLISHED["mutate"] == PUBLISHED["drop"] == 0.1
    assert set(noisy(text, "mutate", 1.0, seed=1)) == set("abcdefgh")
    alone = [noisy("x", "mutate", 1.0, seed=seed) for seed in range(600)]
    assert set(alone) == {"xx", "", "x"}
    assert all(140 < alone.count(one) < 260 for one in ("xx", "", "x"))
    out = noisy(text, "mutate", 0.1, seed=0)
    assert len(out) == pytest.approx(len(text), rel=0.01)
    assert "mutate" not in NOISES
    assert {drawn("an owl", seed)[1] for seed in range(300)} == set(NOISES)


def test_no_other_noise_and_no_other_rate():
    with pytest.raises(OutOfRange, match="no noise called 'rot13'"):
        noisy(TEXT, "rot13")
    with pytest.raises(OutOfRange, match="from 0 to 1"):
        noisy(TEXT, "drop", 1.5)


def test_kinds_are_drawn_evenly_and_rates_up_to_twice_their_default():
    found = [drawn("abcdefgh" * 40, seed) for seed in range(700)]
    for kind in NOISES:
        assert 60 < sum(drew == kind for _, drew in found) < 140
    left = [len(text) / 320 for text, kind in found if kind == "drop"]
    assert 1 - MOST * RATES["drop"] - 0.07 < min(left) < 0.9 < max(left)
    assert {drawn(TEXT, seed, kinds=("upper",))[0] for seed in range(9)} == {TEXT.upper()}


def test_edits_by_hand():
    assert error_rate(["kitten", "ab"], ["sitting", "ab"]) == pytest.approx(100 * 3 / 9)
    assert error_rate([], []) == 0.0


def test_changes_are_marked_in_what_came_of_a_text():
    assert changed("teh cat", "the cat") == (("t", False), ("h", True), ("e cat", False))
    assert changed("a cat", "a cat") == (("a cat", False),)
    assert changed("", "new") == (("new", True),)
    assert changed("gone", "") == ()
    assert "".join(text for text, _ in changed("thecat sta", "The cat sat.")) == "The cat sat."
