"""Noise, edits and sentences cut at their connective, against values worked out by hand."""

from __future__ import annotations

from typing import get_args

import pytest

from core.errors import OutOfRange
from core.language.noise import MOST, NOISES, PUBLISHED, RATES, Noise, changed, error_rate, noisy, sample_noise
from core.training import measures
from core.training.evaluate_pairs import SENTENCES, connective
from core.training.parallel import CONNECTIVES, Fusion, cut, fusions, split_anywhere

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


def test_kinds_are_sampled_evenly_and_rates_up_to_twice_their_default() -> None:
    samples = [sample_noise("abcdefgh" * 40, seed) for seed in range(700)]
    for kind in NOISES:
        assert 60 < sum(drew == kind for _, drew in samples) < 140
    left = [len(text) / 320 for text, kind in samples if kind == "drop"]
    assert 1 - MOST * RATES["drop"] - 0.07 < min(left) < 0.9 < max(left)
    assert {sample_noise(TEXT, seed, kinds=("upper",))[0] for seed in range(9)} == {TEXT.upper()}


def test_edits_by_hand() -> None:
    assert error_rate(["kitten", "ab"], ["sitting", "ab"]) == pytest.approx(100 * 3 / 9)
    assert error_rate([], []) == 0.0


def test_changes_are_marked_in_the_corrected_text() -> None:
    assert changed("teh cat", "the cat") == (("t", False), ("h", True), ("e cat", False))
    assert changed("a cat", "a cat") == (("a cat", False),)
    assert changed("", "new") == (("new", True),)
    assert changed("gone", "") == ()
    assert "".join(text for text, _ in changed("thecat sta", "The cat sat.")) == "The cat sat."


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
