"""A covered example tells none of its answers, and a guess is judged for what was asked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.objectives import causal, denoising, gaps, permutation, prefix, sentinels
from core.objectives.example import Example
from core.objectives.sentence_pairs import TWO, two_orders
from core.ui.objectives.entry import Stage
from core.ui.objectives.hide import BLANK, LABEL, covered, guess_label, judge_replaced, main_stage, open_targets

WORDS = [f"w{number}" for number in range(14)]


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


SHIFTED: dict[str, Callable[[list[str]], Example]] = {
    "causal": lambda words: causal.corrupt(words, "<s>"),
    "prefix": lambda words: prefix.corrupt(words, rng(), 5),
    "sentinels": lambda words: sentinels.corrupt(words, rng()),
    "gaps": lambda words: gaps.corrupt([words[:5], words[5:9], words[9:]], (1,)),
    "permutation": lambda words: permutation.corrupt(words, rng().permutation(len(words)).tolist(), 3.0),
}


def read(example: Example) -> set[str]:
    """All that a page can show of an example: its rows, and the names of its masks."""
    names = {name for seen in example.visible for name in (*seen.queries, *seen.keys)}
    return {cell.token for cell in (*example.source, *example.decoder)} | names | set(example.original)


@pytest.mark.parametrize("name", SHIFTED)
def test_no_open_target_can_be_read(name: str) -> None:
    example = SHIFTED[name](WORDS)
    hidden = covered(example)
    asked = open_targets(example)
    assert asked
    assert set(asked) <= read(example)
    assert not set(asked) & read(hidden)
    said = {cell.target for cell in (*hidden.source, *hidden.decoder)}
    assert "?" in said
    assert not set(asked) & said
    assert [seen.allowed.shape for seen in hidden.visible] == [seen.allowed.shape for seen in example.visible]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.booleans())
def test_of_a_row_that_is_asked_throughout_the_first_half_stays(count: int, begun: bool) -> None:
    words = [f"w{number}" for number in range(count + (not begun))]
    example = causal.corrupt(words, "<s>" if begun else None)
    hidden = covered(example)
    half = len(example.source) // 2
    assert hidden.source[:half] == example.source[:half]
    assert hidden.source[half].token == example.source[half].token
    assert not set(open_targets(example)) & read(hidden)


def test_a_decoder_that_copies_shows_its_damaged_text_alone() -> None:
    example = denoising.corrupt([WORDS], rng(), ["infill"])
    hidden = covered(example)
    assert [cell.token for cell in hidden.decoder][1:] == ["…"]
    assert hidden.decoder[0].target == "?"
    assert [cell.token for cell in hidden.source] == [cell.token for cell in example.source]
    assert open_targets(example) == tuple(WORDS)
    assert set(hidden.visible[1].keys[1:]) == {BLANK}


def test_sentinels_need_not_be_guessed() -> None:
    example = sentinels.corrupt(WORDS, rng(), rate=0.5)
    assert {cell.target for cell in example.decoder} - set(open_targets(example)) == {
        *(cell.token for cell in example.source if cell.change == "masked"),
        f"<extra_id_{sum(cell.change == 'masked' for cell in example.source)}>",
        "</s>",
    }


def test_one_question_about_the_whole_is_chosen_from_its_answers() -> None:
    pair = Stage(two_orders(["a"], ["b"], rng()))
    assert guess_label((pair,)) == ("Sentence order?", TWO)
    assert guess_label((Stage(SHIFTED["causal"](WORDS)),)) == (LABEL, ())


def test_the_stage_that_asks_most_is_guessed_at() -> None:
    few, many = (Stage(permutation.corrupt(WORDS, range(14), k)) for k in (7.0, 2.0))
    assert main_stage((few, many)) is main_stage((many, few)) is many
    last = Stage(few.example)
    assert main_stage((few, last)) is last


@pytest.mark.parametrize(
    ("words", "replaced", "told"),
    [
        (["Fox", "dog"], ["fox", "cat"], "1 of 2 replaced tokens found: fox, cat. 1 that you named was not."),
        (["a", "b"], ["a", "b"], "2 of 2 replaced tokens found: a, b."),
        (["x"], [], "Wrong: no token"),
        (["fox"], ["fox", "fox"], "1 of 2 replaced tokens found: fox ×2."),
    ],
)
def test_replaced_tokens_are_named_in_any_order(words: list[str], replaced: list[str], told: str) -> None:
    assert judge_replaced(words, replaced).startswith(told)
