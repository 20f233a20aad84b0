"""What holds of an objective whatever the text, the seed and the settings are: drawn by hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.objectives import epochs, masked, replaced
from core.objectives.example import Example
from core.objectives.sentence_pairs import NEXT, THREE, next_sentence, three_orders, two_orders

quick = settings(max_examples=40, deadline=None)
TOKENS = st.lists(st.sampled_from([*"abcdef", "##g", "[", "[MASK]x"]), min_size=1, max_size=24)
SEEDS = st.integers(0, 2**32)
VOCABULARY = ("v1", "v2", "v3")


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def framed(example: Example, a: list[str], b: list[str]) -> bool:
    """Whether the pair reads [CLS] A [SEP] B [SEP], told apart as segments 0 and 1, with nothing asked at a place."""
    return (
        [cell.token for cell in example.source] == ["[CLS]", *a, "[SEP]", *b, "[SEP]"]
        and [cell.segment for cell in example.source] == [0] * (len(a) + 2) + [1] * (len(b) + 1)
        and [place for place, cell in enumerate(example.source) if cell.change == "special"]
        == [0, len(a) + 1, len(a) + len(b) + 2]
        and not example.asked
        and bool(example.visible[0].allowed.all())
    )


def rebuilt(example: Example) -> bool:
    """Whether every place that stands for a token of the text has that token, as token or as target."""
    return all(
        (cell.target or cell.token) == example.original[cell.origin]
        for cell in example.source
        if cell.origin is not None
    )


@quick
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


@quick
@given(TOKENS, TOKENS, SEEDS)
def test_of_two_orders_the_text_comes_back_from_the_answer(first: list[str], second: list[str], seed: int) -> None:
    example = two_orders(first, second, rng(seed))
    swapped = bool(example.labels[0].answer)
    assert framed(example, *((second, first) if swapped else (first, second)))
    assert list(example.original) == first + second
    assert rebuilt(example)
    assert sorted(cell.origin for cell in example.source if cell.origin is not None) == list(range(len(first + second)))


@quick
@given(TOKENS, SEEDS, st.data())
def test_the_judge_is_asked_of_every_token_and_right_samples_are_originals(
    tokens: list[str], seed: int, data: st.DataObject
) -> None:
    whole = ["[CLS]", *tokens, "[SEP]"]
    fixed = {0, len(whole) - 1}
    hidden = replaced.hide(whole, rng(seed), fixed=fixed)
    assert rebuilt(hidden)
    assert not fixed & set(hidden.asked)
    assert all(hidden.source[place].token == "[MASK]" for place in hidden.asked)
    samples = {place: data.draw(st.sampled_from([whole[place], "other"])) for place in hidden.asked}
    judged = replaced.corrupt(whole, samples, fixed)
    assert list(judged.original) == whole
    assert set(judged.asked) == set(range(len(whole))) - fixed
    for place, cell in enumerate(judged.source):
        assert cell.token == samples.get(place, whole[place])
        if place not in fixed:
            assert (cell.target == replaced.REPLACED) is (cell.token != whole[place])


@quick
@given(TOKENS, TOKENS, SEEDS, st.floats(0.05, 0.6))
def test_masks_over_a_pair_leave_its_frame_and_its_question(
    first: list[str], second: list[str], seed: int, rate: float
) -> None:
    pair = two_orders(first, second, rng(seed))
    example = masked.over(pair, VOCABULARY, rng(seed), rate=rate)
    assert example.labels == pair.labels
    assert [cell.segment for cell in example.source] == [cell.segment for cell in pair.source]
    assert example.asked
    assert rebuilt(example)
    for old, new in zip(pair.source, example.source, strict=True):
        assert old.origin == new.origin
        assert new == old if new.target is None else new.target == old.token
        assert old.change != "special" or new.target is None
        assert new.token in (old.token, "[MASK]", *VOCABULARY)


@quick
@given(st.integers(3, 30), st.integers(1, 25), st.integers(1, 12), SEEDS)
def test_static_masks_come_back_and_ask_as_much_in_each_epoch(count: int, many: int, copies: int, seed: int) -> None:
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
    assert set(example.asked) == set(np.flatnonzero(static[many - 1]))
    assert rebuilt(example)
