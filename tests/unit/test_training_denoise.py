"""Denoising: what the model reads and writes, its loss against the library's; what is shipped is what was learnt."""

from __future__ import annotations

import numpy as np

from core.training.documents import Documents
from core.training.objective import shown
from core.training.objectives.denoise import BEGIN, END, MASK, PAD, rows
from core.training.tokens import Ragged


def text() -> Documents:
    chunks = np.array([[0, 2, 2, 5, 0, 0], [2, 3, 3, 2, 0, 1]])
    return Documents(Ragged.of([[7, 8, 9], [10, 11], [12, 13]]), chunks)


def test_a_turned_text_and_its_target_by_hand() -> None:
    made = rows(text(), np.array([0, 1]), [np.random.default_rng(0), np.random.default_rng(1)], 48, "permute")
    assert made["ids"].tolist() == [[BEGIN, 10, 11, 7, 8, 9, END], [BEGIN, 12, 13, END, PAD, PAD, PAD]]
    assert made["real"].tolist() == [[1] * 7, [1, 1, 1, 1, 0, 0, 0]]
    assert made["labels"].tolist() == [[7, 8, 9, 10, 11, END], [12, 13, END, -100, -100, -100]]
    assert made["given"].tolist() == [[END, 7, 8, 9, 10, 11], [END, 12, 13, END, PAD, PAD]]
    assert shown(made) == 11 + 9


def test_every_corruption_is_drawn_but_none_that_changes_nothing() -> None:
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
    assert any(MASK in ids and len(ids) == 7 for ids in seen)
    assert any(MASK not in ids and len(ids) < 7 for ids in seen)
    assert any(MASK in ids and len(ids) < 7 for ids in seen)


def test_a_damaged_text_is_cut_to_the_positions() -> None:
    made = rows(text(), np.array([0]), [np.random.default_rng(0)], 5, "permute")
    assert made["ids"].tolist() == [[BEGIN, 10, 11, 7, END]]
