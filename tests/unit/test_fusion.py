"""Sentences cut at their connective, by hand."""

from __future__ import annotations

import pytest

from core.training import measures
from core.training.evaluate_pairs import SENTENCES, connective
from core.training.parallel import CONNECTIVES, Fusion, cut, fusions


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


def test_nothing_else_changes() -> None:
    for word in CONNECTIVES:
        whole = f"The old man smiled at us, {word} the children ran away."
        made = cut(whole)
        first, second = made.parts.split(". ")
        assert whole == f"{first}, {word} {second[0].lower()}{second[1:]}"
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
    assert connective(output, row) == expected


def test_a_connective_that_stood_there_is_not_counted() -> None:
    row = Fusion("Tom and Mary left. It rained.", "Tom and Mary left when it rained.", "when")
    assert connective("Tom and Mary left when it rained.", row) == "when"
    assert connective("Tom and Mary left. It rained.", row) == ""


def test_the_sentences_of_this_project_are_cut_as_training_cuts() -> None:
    rows = [Fusion(*row) for row in measures.read_table(SENTENCES)]
    assert len({row.whole for row in rows}) == 30
    for row in rows:
        assert cut(row.whole) == row
