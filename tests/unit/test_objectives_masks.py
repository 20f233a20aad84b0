"""Objectives that mask tokens: their targets, proportions, and invariants over texts, seeds and settings."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.objectives import epochs, knowledge, masked, ngrams, replaced, spans, whole_words, word_order
from core.objectives.example import Example
from core.objectives.sentence_pairs import NEXT, THREE, next_sentence, three_orders, two_orders

WORDS = [f"x{i}" for i in range(50)]


def text_of(lengths: list[int]) -> tuple[list[str], list[int], set[int]]:
    """[CLS], words of that many tokens each, [SEP]; the word's number at each position; positions of special tokens."""
    tokens, words = ["[CLS]"], [-1]
    for number, length in enumerate(lengths):
        tokens += [f"t{number}", *(f"##t{number}.{k}" for k in range(1, length))]
        words += [number] * length
    return [*tokens, "[SEP]"], [*words, -2], {0, len(tokens)}


Maker = Callable[[list[str], list[int], set[int], np.random.Generator, float], Example]
MAKERS: dict[str, Maker] = {
    "masked": lambda tokens, _, fixed, rng, rate: masked.corrupt(tokens, WORDS, rng, rate=rate, fixed=fixed),
    "whole": lambda tokens, words, fixed, rng, rate: whole_words.corrupt(
        tokens, words, WORDS, rng, rate=rate, fixed=fixed
    ),
    "spans": lambda tokens, words, fixed, rng, rate: spans.corrupt(tokens, words, WORDS, rng, rate=rate, fixed=fixed),
    "units": lambda tokens, words, fixed, rng, rate: knowledge.corrupt(
        tokens, whole_words.members(words, fixed), WORDS, rng, rate=rate, fixed=fixed
    ),
    "order": lambda tokens, _, fixed, rng, rate: word_order.corrupt(tokens, WORDS, rng, rate=rate, fixed=fixed),
    "hidden": lambda tokens, _, fixed, rng, rate: replaced.mask_tokens(tokens, rng, rate=rate, fixed=fixed),
}


def made(name: str, lengths: list[int], rng: np.random.Generator, rate: float) -> Example:
    """An example of a text of words with so many tokens each."""
    tokens, words, fixed = text_of(lengths)
    return MAKERS[name](tokens, words, fixed, rng, rate)


@pytest.mark.parametrize("name", MAKERS)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.integers(0, 2**32), st.sampled_from([0.05, 0.15, 0.5]))
def test_nothing_is_lost_and_the_format_stays(name: str, lengths: list[int], seed: int, rate: float) -> None:
    example = made(name, lengths, np.random.default_rng(seed), rate)
    tokens, _, fixed = text_of(lengths)
    assert example.original == tuple(tokens)
    assert len(example.source) == len(tokens)
    # Where an answer is asked it is the original token; everywhere else that token still stands there.
    assert [cell.token if cell.target is None else cell.target for cell in example.source] == tokens
    for place in fixed:
        assert (example.source[place].change, example.source[place].target) == ("special", None)
    assert example.targets
    assert example.visible[0].allowed.shape == (len(tokens), len(tokens))
    assert example.visible[0].allowed.all()


@pytest.mark.parametrize(("name", "rate"), [("masked", 0.15), ("masked", 0.5), ("hidden", 0.15)])
def test_each_token_is_chosen_independently_and_at_least_one(name: str, rate: float) -> None:
    rng = np.random.default_rng(1)
    counts = [len(made(name, [1] * 23, rng, rate).targets) for _ in range(1000)]
    assert min(counts) >= 1
    # 23 p, and one more where none was drawn; four standard errors of 1000 binomial counts
    expected, error = 23 * rate + (1 - rate) ** 23, (23 * rate * (1 - rate) / 1000) ** 0.5
    assert np.mean(counts) == pytest.approx(expected, abs=4 * error)


def test_the_share_of_spans_is_exact_on_average() -> None:
    # 23 tokens: 3.45 of them at 15%, so that every text has one of two counts.
    rng = np.random.default_rng(1)
    counts = [len(made("spans", [1] * 23, rng, 0.15).targets) for _ in range(1000)]
    assert set(counts) == {3, 4}
    assert np.mean(counts) == pytest.approx(23 * 0.15, abs=0.05)


def test_fates_are_eighty_ten_ten() -> None:
    rng = np.random.default_rng(2)
    met = Counter(cell.change for _ in range(1500) for cell in made("masked", [1] * 20, rng, 0.5).source if cell.target)
    total = sum(met.values())
    assert total == pytest.approx(15_000, abs=350)  # four standard deviations: 4 * sqrt(30000 / 4) = 346
    # four standard errors: sqrt(.8 * .2 / 15000) = .0033, sqrt(.1 * .9 / 15000) = .0024
    assert met["masked"] / total == pytest.approx(0.8, abs=0.014)
    assert met["random"] / total == pytest.approx(0.1, abs=0.01)
    assert met["unchanged"] / total == pytest.approx(0.1, abs=0.01)


def test_a_text_of_one_token_has_a_target_and_one_without_tokens_has_none() -> None:
    assert made("masked", [1], np.random.default_rng(0), 0.05).targets == (1,)
    assert masked.corrupt(["[CLS]", "[SEP]"], WORDS, np.random.default_rng(0), fixed=(0, 1)).targets == ()
    assert spans.corrupt(["[CLS]", "[SEP]"], [-1, -2], WORDS, np.random.default_rng(0), fixed=(0, 1)).targets == ()
    assert whole_words.corrupt(["[CLS]"], [-1], WORDS, np.random.default_rng(0), fixed=(0,)).targets == ()


@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.integers(0, 2**32))
def test_all_tokens_of_a_whole_word_are_targets(lengths: list[int], seed: int) -> None:
    example = made("whole", lengths, np.random.default_rng(seed), 0.15)
    _, words, _ = text_of(lengths)
    asked = set(example.targets)
    for number in {words[place] for place in asked}:
        assert {place for place, word in enumerate(words) if word == number} <= asked
    room = int(0.15 * sum(lengths)) + 1
    assert len(asked) <= max(room, max(lengths))


def test_a_word_too_long_for_the_share_is_passed_over() -> None:
    # Ten tokens at 10% leave room for one: the word of nine pieces never fits.
    for seed in range(50):
        tokens, words, fixed = text_of([9, 1])
        assert whole_words.corrupt(
            tokens, words, WORDS, np.random.default_rng(seed), rate=0.1, fixed=fixed
        ).targets == (10,)


def test_n_grams_are_the_rarer_the_longer_they_are() -> None:
    assert ngrams.chances() == pytest.approx([6 / 11, 3 / 11, 2 / 11])
    rng, tokens = np.random.default_rng(1), [f"w{n}" for n in range(400)]
    examples = [ngrams.corrupt(tokens, range(400), WORDS, rng, rate=0.02) for _ in range(300)]
    sizes = [max(Counter(c.group for c in example.source if c.group is not None).values()) for example in examples]
    assert max(sizes) > 3, "two that touch count as one"
    chosen = sum(len(example.targets) for example in examples) / 300
    assert chosen == pytest.approx(8, abs=0.1)


def test_the_lengths_of_spans_are_geometric_and_sum_to_one() -> None:
    law = spans.chances()
    assert law.sum() == pytest.approx(1)
    assert law[0] == pytest.approx(0.2 / (1 - 0.8**10))  # 0.224
    assert law[1] / law[0] == pytest.approx(0.8)
    assert (np.arange(1, 11) * law).sum() == pytest.approx(3.797, abs=0.001)  # the paper prints 3.8
    drawn = spans.lengths(20_000, np.random.default_rng(3))
    assert (drawn.min(), drawn.max()) == (1, 10)
    assert drawn.mean() == pytest.approx(3.797, abs=0.08)


@given(st.lists(st.integers(1, 3), min_size=5, max_size=60), st.integers(0, 2**32))
def test_a_span_begins_with_a_word_and_shares_its_fate(lengths: list[int], seed: int) -> None:
    example = made("spans", lengths, np.random.default_rng(seed), 0.15)
    _, words, _ = text_of(lengths)
    groups: dict[int, list[int]] = {}
    for place in example.targets:
        groups.setdefault(example.source[place].group or 0, []).append(place)
    for places in groups.values():
        assert places == list(range(places[0], places[-1] + 1))
        assert words[places[0]] != words[places[0] - 1]
        assert len({example.source[place].change for place in places}) == 1
    total = sum(lengths)
    assert len(example.targets) <= max(1, int(0.15 * total) + 1)


def test_each_token_of_a_span_is_predicted_from_its_boundaries() -> None:
    # The paper's own picture: "an American football game" hidden at places 5 to 8, borders 4 and 9.
    tokens = ["Super", "Bowl", "50", "was", "an", "American", "football", "game", "to", "determine"]
    fates = dict.fromkeys(range(4, 8), "masked")
    example = masked.mask_tokens(tokens, fates, WORDS, np.random.default_rng(0))  # type: ignore[arg-type]
    assert [(b.position, b.left, b.right, b.distance) for b in spans.boundaries(example)] == [
        (4, 3, 8, 1),
        (5, 3, 8, 2),
        (6, 3, 8, 3),
        (7, 3, 8, 4),
    ]
    ends = masked.mask_tokens(["a", "b", "c"], {0: "masked", 2: "masked"}, WORDS, np.random.default_rng(0))
    assert spans.boundaries(ends) == ()


def test_a_token_of_the_format_ends_a_span() -> None:
    tokens, words = ["[CLS]", "a", "[MASK]", "b", "[SEP]"], [-1, 0, 1, 2, -2]
    for seed in range(30):
        example = spans.corrupt(tokens, words, WORDS, np.random.default_rng(seed), rate=1.0, fixed=(0, 2, 4))
        assert example.targets == (1, 3)
        assert {example.source[1].group, example.source[3].group} == {0, 1}


def test_ten_static_masks_are_used_four_times_each_and_dynamic_ones_once() -> None:
    counts = {
        copies: Counter(row.tobytes() for row in epochs.masks(60, 40, np.random.default_rng(4), copies=copies))
        for copies in (epochs.COPIES, None)
    }
    assert sorted(counts[10].values()) == [4] * 10
    assert sorted(counts[None].values()) == [1] * 40


TOKENS = st.lists(st.sampled_from([*"abcdef", "##g", "[", "[MASK]x"]), min_size=1, max_size=24)
SEEDS = st.integers(0, 2**32)
VOCABULARY = ("v1", "v2", "v3")


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def framed(example: Example, a: list[str], b: list[str]) -> bool:
    """Whether the pair reads [CLS] A [SEP] B [SEP], as segments 0 and 1, without a target at any position."""
    return (
        [cell.token for cell in example.source] == ["[CLS]", *a, "[SEP]", *b, "[SEP]"]
        and [cell.segment for cell in example.source] == [0] * (len(a) + 2) + [1] * (len(b) + 1)
        and [place for place, cell in enumerate(example.source) if cell.change == "special"]
        == [0, len(a) + 1, len(a) + len(b) + 2]
        and not example.targets
        and bool(example.visible[0].allowed.all())
    )


def rebuilt(example: Example) -> bool:
    """Whether every position of a token of the text has that token, as token or as target."""
    return all(
        (cell.target or cell.token) == example.original[cell.origin]
        for cell in example.source
        if cell.origin is not None
    )


@given(TOKENS, TOKENS, TOKENS, SEEDS)
def test_the_segments_are_what_the_answer_says(
    first: list[str], second: list[str], other: list[str], seed: int
) -> None:
    example = next_sentence(first, second, other, rng(seed))
    (label,) = example.labels
    assert framed(example, first, second if label.answer == 0 else other)
    assert rebuilt(example)
    assert label.choices == NEXT
    example = three_orders(first, second, other, rng(seed))
    (label,) = example.labels
    assert framed(example, *((first, second), (second, first), (first, other))[label.answer])
    assert rebuilt(example)
    assert label.choices == THREE


@given(TOKENS, TOKENS, SEEDS)
def test_of_two_orders_the_text_comes_back_from_the_answer(first: list[str], second: list[str], seed: int) -> None:
    example = two_orders(first, second, [], rng(seed))
    swapped = bool(example.labels[0].answer)
    assert framed(example, *((second, first) if swapped else (first, second)))
    assert list(example.original) == first + second
    assert rebuilt(example)
    assert sorted(cell.origin for cell in example.source if cell.origin is not None) == list(range(len(first + second)))


@given(TOKENS, SEEDS, st.data())
def test_the_discriminator_classifies_every_token_and_correct_samples_are_originals(
    tokens: list[str], seed: int, data: st.DataObject
) -> None:
    framed = ["[CLS]", *tokens, "[SEP]"]
    fixed = {0, len(framed) - 1}
    hidden = replaced.mask_tokens(framed, rng(seed), fixed=fixed)
    assert rebuilt(hidden)
    assert not fixed & set(hidden.targets)
    assert all(hidden.source[place].token == "[MASK]" for place in hidden.targets)
    samples = {place: data.draw(st.sampled_from([framed[place], "other"])) for place in hidden.targets}
    judged = replaced.corrupt(framed, samples, fixed)
    assert list(judged.original) == framed
    assert set(judged.targets) == set(range(len(framed))) - fixed
    for place, cell in enumerate(judged.source):
        assert cell.token == samples.get(place, framed[place])
        if place not in fixed:
            assert (cell.target == replaced.REPLACED) is (cell.token != framed[place])


@given(TOKENS, TOKENS, SEEDS, st.floats(0.05, 0.6))
def test_masking_a_pair_keeps_its_special_tokens_and_its_label(
    first: list[str], second: list[str], seed: int, rate: float
) -> None:
    pair = two_orders(first, second, [], rng(seed))
    example = masked.mask_pair(pair, VOCABULARY, rng(seed), rate=rate)
    assert example.labels == pair.labels
    assert [cell.segment for cell in example.source] == [cell.segment for cell in pair.source]
    assert example.targets
    assert rebuilt(example)
    for old, new in zip(pair.source, example.source, strict=True):
        assert old.origin == new.origin
        assert new == old if new.target is None else new.target == old.token
        assert old.change != "special" or new.target is None
        assert new.token in (old.token, "[MASK]", *VOCABULARY)


@given(st.integers(3, 30), st.integers(1, 25), st.integers(1, 12), SEEDS)
def test_static_masks_repeat_with_equally_many_targets_in_each_epoch(
    count: int, many: int, copies: int, seed: int
) -> None:
    fixed = (0, count - 1)
    static = epochs.masks(count, many, rng(seed), copies=copies, fixed=fixed)
    assert static.shape == (many, count)
    assert not static[:, fixed].any()
    assert static.any(axis=1).all()
    for epoch in range(copies, many):
        assert np.array_equal(static[epoch], static[epoch - copies])
    dynamic = epochs.masks(count, many, rng(seed), copies=None, fixed=fixed)
    assert np.array_equal(dynamic[:copies], static[:copies])  # the first copies are drawn alike
    text = [f"t{place}" for place in range(count)]
    example = epochs.corrupt(text, VOCABULARY, rng(seed), many, copies=copies, fixed=fixed)
    assert set(example.targets) == set(np.flatnonzero(static[many - 1]))
    assert rebuilt(example)
