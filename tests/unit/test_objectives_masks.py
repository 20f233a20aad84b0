"""Objectives that hide tokens: what they leave alone, what they ask, and in which proportions."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.objectives import epochs, knowledge, masked, replaced, spans, whole_words, word_order
from core.objectives.example import Example

WORDS = [f"x{i}" for i in range(50)]


def text_of(lengths: list[int]) -> tuple[list[str], list[int], set[int]]:
    """[CLS], words of that many pieces each, [SEP]; the number of the word at each place; the places of the format."""
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
    "hidden": lambda tokens, _, fixed, rng, rate: replaced.hide(tokens, rng, rate=rate, fixed=fixed),
}


def made(name: str, lengths: list[int], rng: np.random.Generator, rate: float) -> Example:
    """An example of a text of words with so many pieces each."""
    tokens, words, fixed = text_of(lengths)
    return MAKERS[name](tokens, words, fixed, rng, rate)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=60)
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
    assert example.asked
    assert example.visible[0].allowed.shape == (len(tokens), len(tokens))
    assert example.visible[0].allowed.all()


@pytest.mark.parametrize(("name", "rate"), [("masked", 0.15), ("masked", 0.5), ("hidden", 0.15)])
def test_each_token_is_asked_by_itself_and_one_at_least(name: str, rate: float) -> None:
    rng = np.random.default_rng(1)
    counts = [len(made(name, [1] * 23, rng, rate).asked) for _ in range(1000)]
    assert min(counts) >= 1
    # 23 p, and one more where none was drawn; four standard errors of 1000 binomial counts
    expected, error = 23 * rate + (1 - rate) ** 23, (23 * rate * (1 - rate) / 1000) ** 0.5
    assert np.mean(counts) == pytest.approx(expected, abs=4 * error)


def test_the_share_of_spans_is_exact_on_average() -> None:
    # 23 tokens: 3.45 of them at 15 %, so that every text has one of two counts.
    rng = np.random.default_rng(1)
    counts = [len(made("spans", [1] * 23, rng, 0.15).asked) for _ in range(1000)]
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


def test_the_page_hides_what_training_hides() -> None:
    """Token k of the text is id k: the example has the places and masks of `damage` with the same generator."""
    ids = np.arange(40)
    special = np.isin(ids, (0, 39))
    for seed in range(30):
        damaged, chosen = masked.damage(ids, special, 40, np.random.default_rng(seed))
        example = masked.corrupt([str(i) for i in ids], WORDS, np.random.default_rng(seed), fixed=(0, 39))
        assert example.asked == tuple(np.flatnonzero(chosen).tolist())
        hidden = [place for place, cell in enumerate(example.source) if cell.change == "masked"]
        assert hidden == np.flatnonzero(damaged == 40).tolist()


def test_a_text_of_one_token_is_asked_and_one_without_any_is_not() -> None:
    assert made("masked", [1], np.random.default_rng(0), 0.05).asked == (1,)
    assert masked.corrupt(["[CLS]", "[SEP]"], WORDS, np.random.default_rng(0), fixed=(0, 1)).asked == ()
    assert spans.corrupt(["[CLS]", "[SEP]"], [-1, -2], WORDS, np.random.default_rng(0), fixed=(0, 1)).asked == ()
    assert whole_words.corrupt(["[CLS]"], [-1], WORDS, np.random.default_rng(0), fixed=(0,)).asked == ()


@settings(max_examples=60)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=40), st.integers(0, 2**32))
def test_of_a_whole_word_all_pieces_are_asked(lengths: list[int], seed: int) -> None:
    example = made("whole", lengths, np.random.default_rng(seed), 0.15)
    _, words, _ = text_of(lengths)
    asked = set(example.asked)
    for number in {words[place] for place in asked}:
        assert {place for place, word in enumerate(words) if word == number} <= asked
    room = int(0.15 * sum(lengths)) + 1
    assert len(asked) <= max(room, max(lengths))


def test_a_word_too_long_for_the_share_is_passed_over() -> None:
    # Ten tokens at 10 % leave room for one: the word of nine pieces never fits.
    for seed in range(50):
        tokens, words, fixed = text_of([9, 1])
        assert whole_words.corrupt(tokens, words, WORDS, np.random.default_rng(seed), rate=0.1, fixed=fixed).asked == (
            10,
        )


def test_the_lengths_of_spans_are_geometric_and_sum_to_one() -> None:
    law = spans.chances()
    assert law.sum() == pytest.approx(1)
    assert law[0] == pytest.approx(0.2 / (1 - 0.8**10))  # 0.224
    assert law[1] / law[0] == pytest.approx(0.8)
    assert (np.arange(1, 11) * law).sum() == pytest.approx(3.797, abs=0.001)  # the paper prints 3.8
    drawn = spans.lengths(20_000, np.random.default_rng(3))
    assert (drawn.min(), drawn.max()) == (1, 10)
    assert drawn.mean() == pytest.approx(3.797, abs=0.08)


@settings(max_examples=60)
@given(st.lists(st.integers(1, 3), min_size=5, max_size=60), st.integers(0, 2**32))
def test_a_span_begins_with_a_word_and_shares_its_fate(lengths: list[int], seed: int) -> None:
    example = made("spans", lengths, np.random.default_rng(seed), 0.15)
    _, words, _ = text_of(lengths)
    groups: dict[int, list[int]] = {}
    for place in example.asked:
        groups.setdefault(example.source[place].group or 0, []).append(place)
    for places in groups.values():
        assert places == list(range(places[0], places[-1] + 1))
        assert words[places[0]] != words[places[0] - 1]
        assert len({example.source[place].change for place in places}) == 1
    total = sum(lengths)
    assert len(example.asked) <= max(1, int(0.15 * total) + 1)


def test_each_token_of_a_span_is_asked_from_its_borders() -> None:
    # The paper's own picture: "an American football game" hidden at places 5 to 8, borders 4 and 9.
    tokens = ["Super", "Bowl", "50", "was", "an", "American", "football", "game", "to", "determine"]
    fates = dict.fromkeys(range(4, 8), "masked")
    example = masked.hide(tokens, fates, WORDS, np.random.default_rng(0))  # type: ignore[arg-type]
    assert [(b.place, b.left, b.right, b.distance) for b in spans.boundaries(example)] == [
        (4, 3, 8, 1),
        (5, 3, 8, 2),
        (6, 3, 8, 3),
        (7, 3, 8, 4),
    ]
    ends = masked.hide(["a", "b", "c"], {0: "masked", 2: "masked"}, WORDS, np.random.default_rng(0))
    assert spans.boundaries(ends) == ()


def test_a_token_of_the_format_ends_a_span() -> None:
    tokens, words = ["[CLS]", "a", "[MASK]", "b", "[SEP]"], [-1, 0, 1, 2, -2]
    for seed in range(30):
        found = spans.corrupt(tokens, words, WORDS, np.random.default_rng(seed), rate=1.0, fixed=(0, 2, 4))
        assert found.asked == (1, 3)
        assert {found.source[1].group, found.source[3].group} == {0, 1}


def test_ten_static_masks_are_used_four_times_each_and_dynamic_ones_once() -> None:
    counts = {
        copies: Counter(row.tobytes() for row in epochs.masks(60, 40, np.random.default_rng(4), copies=copies))
        for copies in (epochs.COPIES, None)
    }
    assert sorted(counts[10].values()) == [4] * 10
    assert sorted(counts[None].values()) == [1] * 40
