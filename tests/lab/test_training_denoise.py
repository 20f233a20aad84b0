"""Rows of corrupted texts, and sentences that are split at their connectives."""

from __future__ import annotations

import numpy as np
import pytest

from lab import measures
from lab.documents import Documents
from lab.evaluate_pairs import SENTENCES, connective
from lab.objective import count_tokens
from lab.objectives.denoise import BEGIN, END, PAD, rows
from lab.objectives.denoise import MASK as HIDDEN
from lab.parallel import CONNECTIVES, Fusion, cut, fusions, split_anywhere
from lab.tokens import Ragged


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
    original = (BEGIN, 7, 8, 9, 10, 11, END)
    assert original not in seen
    permuted, turned = (BEGIN, 10, 11, 7, 8, 9, END), (BEGIN, 8, 9, 10, 11, 7, END)
    assert seen[permuted] > 40  # one text in five, and one rotation in four is the same
    assert turned in seen
    assert any(HIDDEN in ids and len(ids) == 7 for ids in seen)
    assert any(HIDDEN not in ids and len(ids) < 7 for ids in seen)
    assert any(HIDDEN in ids and len(ids) < 7 for ids in seen)


def test_a_corrupted_text_is_truncated_to_the_positions() -> None:
    made = rows(text(), np.array([0]), [np.random.default_rng(0)], 5, "permute")
    assert made["ids"].tolist() == [[BEGIN, 10, 11, 7, END]]


@pytest.mark.parametrize(
    ("sentence", "parts", "connective"),
    [
        ("It rained all day, but we went out.", "It rained all day. We went out.", "but"),
        ("Tom stayed at home because he was ill.", "Tom stayed at home. He was ill.", "because"),
        ("The sun was hot, so the men sat in the shade!", "The sun was hot. The men sat in the shade!", "so"),
        ("We waited there until Mary came back.", "We waited there. Mary came back.", "until"),
    ],
)
def test_a_sentence_is_cut_at_its_connective(sentence: str, parts: str, connective: str) -> None:
    assert cut(sentence) == (parts, sentence, connective)


@pytest.mark.parametrize(
    "sentence",
    [
        "It rained.",
        "He ran and jumped over the wall.",  # no clause of its own
        "After a long while he spoke and the men listened.",  # begins with a preposition
        "He was even and the others were odd.",
        "We sang songs while they slept.",  # two words on one side
        '"I know," he said, but she did not.',
        "It rained, but we.",
        "When it rained, we stayed at home, for the roof was good.",
        "it rained all day, but we went out.",
    ],
)
def test_what_does_not_fit_is_left(sentence: str) -> None:
    assert cut(sentence) is None


def test_what_the_rule_leaves_may_be_split_for_training() -> None:
    assert split_anywhere("He took his hat and went to the door.").parts == "He took his hat. Went to the door."
    assert split_anywhere("Tom stayed at home because he was ill.") is None  # the rule's own
    assert split_anywhere("He ran and jumped.") is None


def test_nothing_else_changes() -> None:
    for word in CONNECTIVES:
        sentence = f"The old man smiled at us, {word} the children ran away."
        made = cut(sentence)
        first, second = made.parts.split(". ")
        assert sentence == f"{first}, {word} {second[0].lower()}{second[1:]}"
    assert [f.connective for f in fusions(["No.", "We sang songs while they were asleep.", "Yes."])] == ["while"]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("it was late, but we stayed.", "but"),
        ("It was late and we stayed and sang.", "and"),
        ("it was late . we stayed .", ""),
        ("while it was late we stayed", "while"),
    ],
)
def test_the_connective_is_what_was_added(output: str, expected: str) -> None:
    row = Fusion("It was late. We stayed.", "It was late, but we stayed.", "but")
    assert connective(output, row.parts) == expected


def test_a_connective_that_stood_there_is_not_counted() -> None:
    row = Fusion("Tom and Mary left. It rained.", "Tom and Mary left when it rained.", "when")
    assert connective("Tom and Mary left when it rained.", row.parts) == "when"
    assert connective("Tom and Mary left. It rained.", row.parts) == ""


def test_the_sentences_of_this_project_are_split_as_in_training() -> None:
    rows = [Fusion(*row) for row in measures.read_table(SENTENCES)]
    assert len({row.whole for row in rows}) == 30
    for row in rows:
        assert cut(row.whole) == row
