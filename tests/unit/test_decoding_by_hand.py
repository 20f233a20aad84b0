"""Each rule on four tokens, by hand."""

from __future__ import annotations

from collections import Counter
from typing import cast

import numpy as np
import pytest
import torch

from core.errors import OutOfRange
from core.language.decoding import rules
from core.language.decoding.rules import draw, pick, spread_of
from core.language.tokens import Wording
from core.language.types import Decoding

TENTHS = torch.tensor([0.1, 0.2, 0.3, 0.4]).log()


# The tenths have H = 1.846 bits; the surprisals are 3.32, 2.32, 1.74 and 1.32, so 0.3 is nearest, then 0.2, then 0.4.
@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("temperature", 0.5, [1 / 30, 4 / 30, 9 / 30, 16 / 30]),
        ("top_k", 2, [0, 0, 3 / 7, 4 / 7]),
        ("top_k", 9, [0.1, 0.2, 0.3, 0.4]),
        ("top_p", 0.69, [0, 0, 3 / 7, 4 / 7]),
        ("top_p", 0.71, [0, 2 / 9, 3 / 9, 4 / 9]),
        ("top_p", 0.01, [0, 0, 0, 1]),
        ("min_p", 0.6, [0, 0, 3 / 7, 4 / 7]),  # 0.6 of 0.4 is 0.24
        ("min_p", 0.4, [0, 2 / 9, 3 / 9, 4 / 9]),
        ("min_p", 1.0, [0, 0, 0, 1]),
        ("typical", 0.2, [0, 0, 1, 0]),
        ("typical", 0.45, [0, 0.4, 0.6, 0]),
        ("typical", 0.8, [0, 2 / 9, 3 / 9, 4 / 9]),
    ],
)
def test_each_rule_on_the_tenths(rule: rules.Rule, value: float, expected: list[float]) -> None:
    assert rules.apply(TENTHS, rule, value, ()).softmax(-1).tolist() == pytest.approx(expected)


def test_dice_follow_the_probabilities_and_the_seed() -> None:
    chances = torch.tensor([0.5, 0.0, 0.2, 0.3])
    drawn = Counter(draw(chances, seed, 0) for seed in range(2000))
    assert drawn[1] == 0
    assert [drawn[token] / 2000 for token in (0, 2)] == pytest.approx([0.5, 0.2], abs=0.04)
    assert draw(chances, 7, 3) == draw(chances, 7, 3)
    assert len({draw(chances, 7, step) for step in range(30)}) > 1


def test_the_penalty_divides_what_is_positive_and_multiplies_what_is_negative() -> None:
    scores = torch.tensor([2.0, -2.0, 2.0, -2.0])
    assert rules.penalized(scores, (0, 1, 1), 2.0).tolist() == [1.0, -4.0, 2.0, -2.0]


def test_no_run_of_n_tokens_comes_twice() -> None:
    before = (0, 1, 2, 0, 1)  # after 0 1 came 2
    assert rules.unrepeated(TENTHS, before, 3).isinf().tolist() == [False, False, True, False]
    assert rules.unrepeated(TENTHS, before, 2).isinf().tolist() == [False, False, True, False]  # after 1 came 2
    assert rules.unrepeated(TENTHS, before, 1).isinf().tolist() == [True, True, True, False]
    assert rules.unrepeated(TENTHS, (0, 1), 3).isinf().any().item() is False


def test_greedy_knows_no_temperature_and_no_cut_but_the_penalty() -> None:
    decoding = Decoding("greedy", temperature=0.1, top_k=1, top_p=0.1, min_p=0.9, typical=0.1, penalty=2.0, no_repeat=3)
    assert [rule for rule, _ in rules.in_force(decoding)] == ["penalty", "no_repeat"]
    assert rules.in_force(Decoding("sample")) == ()


def test_entropy_of_four_alike_is_two_bits() -> None:
    never = float("-inf")
    assert spread_of(torch.full((4,), 0.25), torch.full((4,), 7.0)) == (pytest.approx(2), 4)
    entropy, possible = spread_of(torch.tensor([1.0, 0, 0, 0]), torch.tensor([3.0, never, never, never]))
    assert (str(entropy), possible) == ("0.0", 1)
    scores = torch.tensor([0.0, 0.0, never, -1e4])
    assert spread_of(scores.softmax(-1), scores) == (pytest.approx(1), 3)


def test_greedy_takes_the_first_of_the_highest_scores() -> None:
    class Words:
        def token(self, token_id: int) -> str:
            return str(token_id)

    def taken(scores: list[float]) -> int:
        return pick(torch.tensor(scores), Decoding(), 0, None, cast(Wording, Words()), ())[0].id

    assert taken([0.0] * 5 + [3.0] * 2 + [0.0] * 30 + [3.0]) == 5
    # one rounding step apart: alike as probabilities, but not as scores
    assert taken([0.0, 1.0, float(np.nextafter(np.float32(1), np.float32(2))), 1.0]) == 2
    assert taken([7.0]) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"top_k": -1},
        {"top_p": 0},
        {"top_p": 1.5},
        {"beams": 0},
        {"max_new_tokens": 0},
        {"seed": -1},
        {"temperature": 0},
        {"min_p": -0.1},
        {"min_p": 1.1},
        {"typical": 0},
        {"typical": 2},
        {"penalty": 0},
        {"no_repeat": -1},
        {"length_penalty": 99.0},
        {"stop": ("",)},
        {"stop": ("a",) * 9},
        {"stop": ("a" * 61,)},
    ],
)
def test_settings_out_of_range_get_a_sentence(wrong: dict[str, object]) -> None:
    with pytest.raises(OutOfRange, match=r"\.$"):
        rules.check(Decoding(**wrong))  # type: ignore[arg-type]
