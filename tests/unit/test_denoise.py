"""BART's five corruptions: what stays, what goes, and how much of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.objectives import corruptions

MASK = 0
texts = st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=12), min_size=1, max_size=6)
seeds = st.integers(0, 2**32 - 1)


def flat(sentences: list[list[int]]) -> list[int]:
    return [token for sentence in sentences for token in sentence]


def fits(pattern: list[int], text: list[int]) -> bool:
    """Whether the text comes of the pattern by putting any run of tokens in place of each mask."""
    states = {0}
    for token in pattern:
        if token == MASK:
            states = {j for i in states for j in range(i, len(text) + 1)}
        else:
            states = {i + 1 for i in states if i < len(text) and text[i] == token}
    return len(text) in states


@given(texts, seeds)
def test_masking_keeps_every_place(text: list[list[int]], seed: int) -> None:
    made = corruptions.mask_tokens(text, MASK, np.random.default_rng(seed))
    whole = flat(text)
    assert len(made) == len(whole)
    assert MASK in made
    assert all(a in (MASK, b) for a, b in zip(made, whole, strict=True))


@given(texts, seeds)
def test_deletion_keeps_the_order_of_what_is_left(text: list[list[int]], seed: int) -> None:
    made = corruptions.delete_tokens(text, MASK, np.random.default_rng(seed))
    whole = flat(text)
    assert len(made) < len(whole) or len(whole) == 1
    rest = iter(whole)
    assert all(token in rest for token in made)  # a subsequence


@given(texts, seeds)
def test_infilling_hides_its_share_behind_masks(text: list[list[int]], seed: int) -> None:
    made = corruptions.infill(text, MASK, np.random.default_rng(seed))
    whole = flat(text)
    hidden = len(whole) - (len(made) - made.count(MASK))
    assert hidden == max(1, round(0.3 * len(whole)))
    assert fits(made, whole)


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
def test_rotation_can_be_turned_back(text: list[list[int]], seed: int) -> None:
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
