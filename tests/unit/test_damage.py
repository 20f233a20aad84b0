"""Damage, against values worked out by hand."""

import pytest

from core.errors import OutOfRange
from core.language.damage import DEFAULT_RATE, KINDS, damage

TEXT = "The cat, which I know, sleeps in the Garden."


@pytest.mark.parametrize("kind", KINDS)
def test_rate_zero_changes_nothing(kind):
    assert damage(TEXT, kind, 0.0, seed=3) == TEXT


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides(kind):
    many = {damage(TEXT * 5, kind, seed=seed) for seed in range(8)}
    assert damage(TEXT, kind, seed=5) == damage(TEXT, kind, seed=5)
    assert len(many) > 1


def test_order_at_rate_one_swaps_every_pair():
    assert damage("a b c d e", "order", 1.0) == "b a d c e"


def test_case_at_rate_one_loses_capitals_and_marks():
    assert damage("The cat, Tom, sat.", "case", 1.0) == "the cat tom sat"
    assert damage("McKay and the USA", "case", 1.0) == "mcKay and the uSA"


def test_spaces_at_rate_one_keep_every_letter():
    out = damage("the cat sat", "spaces", 1.0, seed=1)
    assert out.replace(" ", "") == "thecatsat"


def test_letters_leave_everything_but_letters():
    out = damage("12, 34! 56?", "letters", 1.0)
    assert out == "12, 34! 56?"


def test_letters_at_rate_one_use_all_four_kinds():
    outs = {damage("s", "letters", 1.0, seed=seed) for seed in range(60)}
    assert outs == {"", "ss", "a", "d"}
    assert "ba" in {damage("ab", "letters", 1.0, seed=seed) for seed in range(60)}


def test_a_letter_without_a_known_key_is_doubled():
    assert {damage("ß", "letters", 1.0, seed=seed) for seed in range(40)} == {"", "ßß"}


def test_letters_hit_at_about_the_rate():
    text = "m" * 20_000
    changed = sum(damage("m", "letters", 0.1, seed=seed) != "m" for seed in range(4000))
    assert 320 < changed < 480
    assert damage(text, "letters", 0.1) != text


@pytest.mark.parametrize(
    ("kind", "rate"), [("typos", 0.1), ("letters", 1.5), ("letters", -0.1), ("case", float("nan"))]
)
def test_refusals(kind, rate):
    with pytest.raises(OutOfRange):
        damage(TEXT, kind, rate)


def test_empty_text_stays_empty():
    assert all(damage("", kind) == "" for kind in KINDS)
    assert set(DEFAULT_RATE) == set(KINDS)
