"""Each decoding rule by hand; rules as words of a link, the numbers of a text, pictures of a step and a tree."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import e, log2
from typing import cast

import numpy as np
import pytest
import torch

from core.errors import OutOfRange
from core.figures.decoding import surprisal_bars, truncation_alt, truncation_bars
from core.figures.tree import beam_tree, tree_alt
from core.language.decoding import rules
from core.language.decoding.cards import (
    NAMES,
    Card,
    decoding_of,
    default_cards,
    format_card,
    new_card,
    parse_card,
    parse_cards,
)
from core.language.decoding.reader import RuleEffect, RuleSummary, TokenRow, ban_tokens
from core.language.decoding.rules import pick, sample, spread_of
from core.language.decoding.search import Node, Tree
from core.language.generate import summary
from core.language.tokens import Wording
from core.language.types import Alternative, Decoding, GenerationStep, Spread
from core.settings import settings
from core.theme import DARK, LIGHT, VERMILION

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


def test_samples_follow_the_probabilities_and_the_seed() -> None:
    chances = torch.tensor([0.5, 0.0, 0.2, 0.3])
    drawn = Counter(sample(chances, seed, 0) for seed in range(2000))
    assert drawn[1] == 0
    assert [drawn[token] / 2000 for token in (0, 2)] == pytest.approx([0.5, 0.2], abs=0.04)
    assert sample(chances, 7, 3) == sample(chances, 7, 3)
    assert len({sample(chances, 7, step) for step in range(30)}) > 1


def test_the_penalty_divides_what_is_positive_and_multiplies_what_is_negative() -> None:
    scores = torch.tensor([2.0, -2.0, 2.0, -2.0])
    assert rules.apply(scores, "penalty", 2.0, (0, 1, 1)).tolist() == [1.0, -4.0, 2.0, -2.0]


def test_a_whole_number_is_the_same_number() -> None:
    scores = torch.tensor([2.0, -1.0, 0.5])
    cases: list[tuple[rules.Rule, int]] = [("temperature", 2), ("penalty", 2), ("top_p", 1), ("min_p", 1)]
    for rule, value in cases:
        torch.testing.assert_close(rules.apply(scores, rule, value, [0]), rules.apply(scores, rule, float(value), [0]))


def test_no_n_gram_comes_twice() -> None:
    before = (0, 1, 2, 0, 1)  # after 0 1 came 2
    expected = {3: [False, False, True, False], 2: [False, False, True, False], 1: [True, True, True, False]}
    for n, banned in expected.items():
        assert rules.apply(TENTHS, "no_repeat", n, before).isinf().tolist() == banned
    assert not rules.apply(TENTHS, "no_repeat", 3, (0, 1)).isinf().any()


def test_greedy_knows_no_temperature_and_no_cut_but_the_penalty() -> None:
    decoding = Decoding("greedy", temperature=0.1, top_k=1, top_p=0.1, min_p=0.9, typical=0.1, penalty=2.0, no_repeat=3)
    assert [rule for rule, _ in rules.active_rules(decoding)] == ["penalty", "no_repeat"]
    assert rules.active_rules(Decoding("sample")) == ()


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


@pytest.mark.parametrize("kind", NAMES)
def test_every_card_comes_back_from_its_word(kind: str) -> None:
    card = new_card(kind)  # type: ignore[arg-type]
    assert parse_card(format_card(card)) == card
    if kind in ("top_k", "top_p", "min_p", "typical"):
        assert parse_card(format_card(replace(card, temperature=1.5))) == replace(card, temperature=1.5)
    assert all(parse_card(format_card(entry)) == entry for entry in default_cards())


def test_no_card_has_more_beams_than_the_host_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MAX_BEAMS", "2")
    settings.cache_clear()
    try:
        assert [card.value for card in default_cards() if card.kind == "beam"] == [2]
        assert "from 1 to 2" in parse_cards(("beam-3",))[1][0]
    finally:
        settings.cache_clear()


def test_words_by_hand() -> None:
    assert parse_card("top_p-0.9-0.7") == Card("top_p", 0.9, 0.7)
    assert parse_card("sample") == Card("sample", 0.7)
    assert format_card(Card("beam", 4)) == "beam-4"
    assert Card("top_p", 0.9, 0.7).name == "Top-p, p = 0.9, T = 0.7"


@pytest.mark.parametrize(
    "word",
    [
        "",
        "best",
        "greedy-1",
        "top_k-0",
        "top_k-2.5",
        "top_p-nan",
        "top_p-inf",
        "top_p-x",
        "beam-9",
        "sample-0.7-1",
        "top_p-0.9-0.7-1",
        "top_p--1",
        "a" * 500,
    ],
)
def test_nonsense_gets_a_sentence_and_the_others_stay(word: str) -> None:
    cards, refused = parse_cards(("greedy", word))
    assert cards == (Card("greedy"),)
    (sentence,) = refused
    assert sentence.endswith(".")
    assert len(sentence) < 250
    assert parse_cards((word,))[0] == default_cards()


def test_a_card_sets_only_its_own_rule() -> None:
    common = Decoding(max_new_tokens=9, seed=3, penalty=1.2, stop=("x",), length_penalty=2.0)
    assert decoding_of(Card("greedy"), common) == Decoding(max_new_tokens=9, penalty=1.2, stop=("x",))
    decoding = decoding_of(Card("min_p", 0.2, 1.5), common)
    assert decoding == replace(common, strategy="sample", min_p=0.2, temperature=1.5, length_penalty=None)
    assert decoding_of(Card("beam", 3), common).length_penalty == 2.0


def step(index: int, token: int, p: float, entropy: float = 1.0) -> GenerationStep:
    chosen = Alternative(token, f" t{token}", p, 1.0)
    return GenerationStep(index, chosen, (chosen,), "", spread=Spread(-log2(p), entropy, 0.0, 4))


def test_the_numbers_of_a_text() -> None:
    path = [step(i, token, p) for i, (token, p) in enumerate([(1, 1 / e), (2, 1 / e), (1, 1 / e), (2, 1 / e)])]
    numbers = summary(path)
    assert numbers.mean_log == pytest.approx(-1)
    assert numbers.perplexity == pytest.approx(e)
    assert numbers.repeated == pytest.approx((0.5, 1 / 3, 0, 0))  # 1 2 1 2: of 12, 21, 12 one stood before
    assert (numbers.entropy, numbers.remaining, numbers.tokens) == (1.0, 4.0, 4)
    assert summary(()).perplexity is None


def look(rule: str, value: float) -> RuleEffect:
    rows = (
        TokenRow(1, " the", 0.5, 0.625, 1.0, 0.5, True),
        TokenRow(2, "</script><b>", 0.3, 0.375, 1.7, 0.8, False),
        TokenRow(3, " a", 0.2, 0.0, 2.3, 1.0, False),
    )
    return RuleEffect(RuleSummary(rule, value, 2, 3, 0.8, 1.5, 0.95), rows, (0, 0.0, 0.0))  # type: ignore[arg-type]


@pytest.mark.parametrize(("rule", "value"), [("top_p", 0.75), ("top_k", 2), ("min_p", 0.5), ("temperature", 0.5)])
def test_bars_hatch_what_is_cut_and_say_so(rule: str, value: float) -> None:
    result = look(rule, value)
    names = [row.text for row in result.rows]
    figure = truncation_bars(result, names, "#D55E00", taken=1, theme=DARK)
    assert list(figure.data[0].marker.pattern.shape) == ["", "", "/"]
    assert list(figure.data[1].x) == [0.625, 0.375, 0.0]
    assert "<script>" not in figure.to_json()
    text = list(figure.data[2].text)
    assert text == ["50.0% → 62.5%", "30.0% → 37.5%", "20.0% → cut"]
    lines = [tuple(trace.x) for trace in figure.data if trace.name == "sum"]
    assert lines == ([(0.5, 0.8, 1.0)] if rule == "top_p" else [])
    dashed = [shape for shape in figure.layout.shapes if shape.line.dash == "dash"]
    assert len(dashed) == (0 if rule == "temperature" else 1)
    assert {
        "top_p": dashed and dashed[0].x0 == 0.75,
        "min_p": dashed and dashed[0].x0 == 0.25,
        "top_k": dashed and dashed[0].y0 == 1.5,
        "temperature": True,
    }[rule]
    assert "a 20.0%, cut off" in truncation_alt(result, names, "It")
    assert "2 of 3 tokens with 80.0%" in truncation_alt(result, names, "It")


def test_surprisals_are_drawn_from_the_entropy() -> None:
    result = look("typical", 0.5)
    bars = surprisal_bars(result, [row.text for row in result.rows], "#D55E00", theme=DARK).data[0]
    assert [bars.base + x for x in bars.x] == pytest.approx([1.0, 1.7, 2.3])
    assert bars.base == result.summary.entropy


def test_the_tree_has_an_edge_for_every_node() -> None:
    nodes = (
        (Node((1,), " a", -1.0, -1.0, -1.0, "kept", True), Node((2,), " b", -2.0, -2.0, -2.0, "pruned", False)),
        (Node((1, 5), " <i>", -0.5, -1.5, -0.75, "finished", True), Node((1, 6), " d", -3, -4, -2, "pruned", False)),
    )
    grown = Tree(nodes, (("a", 2, -1.5, -0.75),), (1, 5), "length", 1.0)
    figure = beam_tree(grown, VERMILION, theme=LIGHT)
    edges = sum(sum(x is None for x in trace.x) for trace in figure.data if trace.mode == "lines")
    assert edges == 4
    assert sum(1 for note in figure.layout.annotations if "<s>" in note.text) == 2
    assert "&lt;i&gt;" in figure.to_json()
    assert "2 pruned" in tree_alt(grown)
    assert "1 finished" in tree_alt(grown)


def test_a_banned_token_that_does_not_exist_bans_nothing() -> None:
    scores = torch.zeros(2, 5)
    assert ban_tokens(scores, [-1, 5, 10**9]) is scores
    assert ban_tokens(scores, [3, 7]).isinf().tolist() == [[False, False, False, True, False]] * 2
