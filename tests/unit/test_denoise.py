"""BART's five corruptions: what stays, what goes, how much of it, and what the model reads and writes in training."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.objectives import corruptions
from core.training.documents import Documents
from core.training.objective import count_tokens
from core.training.objectives.denoise import BEGIN, END, PAD, rows
from core.training.objectives.denoise import MASK as HIDDEN
from core.training.tokens import Ragged

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
def test_infilling_replaces_its_share_by_masks(text: list[list[int]], seed: int) -> None:
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


def text() -> Documents:
    chunks = np.array([[0, 2, 2, 5, 0, 0], [2, 3, 3, 2, 0, 1]])
    return Documents(Ragged.of([[7, 8, 9], [10, 11], [12, 13]]), chunks)


def test_a_rotated_text_and_its_target_by_hand() -> None:
    made = rows(text(), np.array([0, 1]), [np.random.default_rng(0), np.random.default_rng(1)], 48, "permute")
    assert made["ids"].tolist() == [[BEGIN, 10, 11, 7, 8, 9, END], [BEGIN, 12, 13, END, PAD, PAD, PAD]]
    assert made["real"].tolist() == [[1] * 7, [1, 1, 1, 1, 0, 0, 0]]
    assert made["labels"].tolist() == [[7, 8, 9, 10, 11, END], [12, 13, END, -100, -100, -100]]
    assert made["decoder_ids"].tolist() == [[END, 7, 8, 9, 10, 11], [END, 12, 13, END, PAD, PAD]]
    assert count_tokens(made) == 11 + 9


def test_every_corruption_is_sampled_but_none_that_changes_nothing() -> None:
    seen = {}
    for seed in range(300):
        made = rows(text(), np.array([0]), [np.random.default_rng(seed)], 48)
        ids = tuple(made["ids"][0].tolist())
        seen[ids] = seen.get(ids, 0) + 1
    whole = (BEGIN, 7, 8, 9, 10, 11, END)
    assert whole not in seen
    permuted, turned = (BEGIN, 10, 11, 7, 8, 9, END), (BEGIN, 8, 9, 10, 11, 7, END)
    assert seen[permuted] > 40  # one text in five, and one rotation in four is the same
    assert turned in seen
    assert any(HIDDEN in ids and len(ids) == 7 for ids in seen)
    assert any(HIDDEN not in ids and len(ids) < 7 for ids in seen)
    assert any(HIDDEN in ids and len(ids) < 7 for ids in seen)


def test_a_corrupted_text_is_truncated_to_the_positions() -> None:
    made = rows(text(), np.array([0]), [np.random.default_rng(0)], 5, "permute")
    assert made["ids"].tolist() == [[BEGIN, 10, 11, 7, END]]
