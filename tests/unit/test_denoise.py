"""Corrupted texts: BART's five ways, misspellings, and sentences that are split or joined."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import OutOfRange
from core.language.noise import PUBLISHED, RATES, Noise, changed, noisy
from core.objectives import corruptions
from lab import measures
from lab.documents import Documents
from lab.evaluate_pairs import SENTENCES, connective
from lab.objective import count_tokens
from lab.objectives.denoise import BEGIN, END, PAD, rows
from lab.objectives.denoise import MASK as HIDDEN
from lab.parallel import CONNECTIVES, Fusion, cut, fusions, split_anywhere
from lab.tokens import Ragged

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
