"""Corrupted texts: BART's five ways and misspellings."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import OutOfRange
from core.language.noise import PUBLISHED, RATES, Noise, changed, noisy
from core.objectives import corruptions

MASK = 0
texts = st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=12), min_size=1, max_size=6)
seeds = st.integers(0, 2**32 - 1)


def flat(sentences: list[list[int]]) -> list[int]:
    return [token for sentence in sentences for token in sentence]


def fits(pattern: list[int], text: list[int]) -> bool:
    """Whether the text follows from the pattern by replacing each mask with any span of tokens."""
    states = {0}
    for token in pattern:
        if token == MASK:
            states = {j for i in states for j in range(i, len(text) + 1)}
        else:
            states = {i + 1 for i in states if i < len(text) and text[i] == token}
    return len(text) in states


@given(texts, seeds)
def test_masking_keeps_every_position(text: list[list[int]], seed: int) -> None:
    made = corruptions.mask_tokens(text, MASK, np.random.default_rng(seed))
    full = flat(text)
    assert len(made) == len(full)
    assert MASK in made
    assert all(a in (MASK, b) for a, b in zip(made, full, strict=True))


@given(texts, seeds)
def test_deletion_keeps_the_order_of_what_is_left(text: list[list[int]], seed: int) -> None:
    made = corruptions.delete_tokens(text, MASK, np.random.default_rng(seed))
    full = flat(text)
    assert len(made) < len(full) or len(full) == 1
    remaining = iter(full)
    assert all(token in remaining for token in made)  # a subsequence


@given(texts, seeds)
def test_infilling_replaces_its_share_by_masks(text: list[list[int]], seed: int) -> None:
    made = corruptions.infill(text, MASK, np.random.default_rng(seed))
    full = flat(text)
    hidden = len(full) - (len(made) - made.count(MASK))
    assert hidden == max(1, round(0.3 * len(full)))
    assert fits(made, full)


@given(texts, seeds)
def test_permutation_moves_whole_sentences(text: list[list[int]], seed: int) -> None:
    numbered = [[100 * i + j for j in range(len(sentence))] for i, sentence in enumerate(text, 1)]
    made = corruptions.permute_sentences(numbered, MASK, np.random.default_rng(seed))
    assert sorted(made) == sorted(flat(numbered))
    assert (made != flat(numbered)) == (len(text) > 1)
    starts = [i for i, token in enumerate(made) if token % 100 == 0]
    blocks = [made[a:b] for a, b in zip(starts, [*starts[1:], len(made)], strict=True)]
    assert sorted(blocks) == sorted(numbered)


@given(texts, seeds)
def test_rotation_can_be_inverted(text: list[list[int]], seed: int) -> None:
    numbered = list(range(1, len(flat(text)) + 1))
    made = corruptions.rotate([numbered], MASK, np.random.default_rng(seed))
    first = made.index(1)
    assert made[first:] + made[:first] == numbered
    assert first > 0 or len(numbered) == 1


def test_spans_are_about_three_tokens_long() -> None:
    text = [list(range(1, 3001))]
    made = corruptions.infill(text, MASK, np.random.default_rng(0))
    assert 900 / made.count(MASK) == pytest.approx(3.0, rel=0.12)


def test_rates_of_masking_and_deletion() -> None:
    text = [[1] * 20_000]
    assert corruptions.mask_tokens(text, MASK, np.random.default_rng(0)).count(MASK) == pytest.approx(3000, rel=0.05)
    assert 20_000 - len(corruptions.delete_tokens(text, MASK, np.random.default_rng(1))) == pytest.approx(
        3000, rel=0.05
    )


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


def test_changes_are_marked_in_the_corrected_text() -> None:
    assert changed("teh cat", "the cat") == (("t", False), ("h", True), ("e cat", False))
    assert changed("a cat", "a cat") == (("a cat", False),)
    assert changed("", "new") == (("new", True),)
    assert changed("gone", "") == ()
    assert "".join(text for text, _ in changed("thecat sta", "The cat sat.")) == "The cat sat."
