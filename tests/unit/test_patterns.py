"""Patterns of attention, against counts and matrices worked out by hand and at their limits."""

from collections.abc import Callable

import numpy as np
import pytest

from core.errors import OutOfRange
from core.patterns import (
    Pattern,
    anticausal,
    blocks,
    causal,
    column,
    content_stream,
    convolution,
    count,
    dilated,
    fixed,
    full,
    global_at,
    mask,
    padding,
    prefix,
    query_stream,
    random,
    random_order,
    row,
    segments,
    strided,
    union,
    window,
)


def test_full_and_causal_counts():
    assert count(full, 8) == 64
    assert count(causal, 8) == 36  # 8 * 9 / 2
    assert count(full, 0) == 0


def test_window_matrix():
    assert mask(window(1), 4).astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    assert mask(window(1, 0), 3).astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]


def test_global_count():
    # rows 0 and 7 whole: 16; columns 0 and 7 of the other six rows: 12
    assert count(global_at([0, 7]), 8) == 28


def test_block_window_of_eight_tokens():
    # blocks of two: four blocks, block rows see 2, 3, 3, 2 blocks of two keys, two queries each
    assert count(blocks(window(1), 2), 8) == 2 * 2 * (2 + 3 + 3 + 2)
    # seven tokens: the last block holds one token
    assert mask(blocks(window(0), 2), 7)[6].tolist() == [False] * 6 + [True]


def test_random_samples_exactly_its_number():
    first = mask(random(8, 2, seed=5, without=window(1)), 8)
    assert first.sum(axis=1).tolist() == [2] * 8
    assert not (first & mask(window(1), 8)).any()
    assert (first == mask(random(8, 2, seed=5, without=window(1)), 8)).all()
    assert (first != mask(random(8, 2, seed=6, without=window(1)), 8)).any()
    assert (first != mask(random(8, 2, seed=(5, 1), without=window(1)), 8)).any()


def test_random_takes_all_that_is_left_and_only_adds():
    assert (mask(random(4, 9, seed=0, without=window(1)), 4) == ~mask(window(1), 4)).all()
    fewer, more = mask(random(9, 2, seed=1), 9), mask(random(9, 3, seed=1), 9)
    assert (fewer <= more).all()
    assert more.sum() == 27


def test_union():
    assert count(union(), 5) == 0
    assert count(union(window(0), global_at([0])), 4) == 10  # 7 in the cross, 3 more on the diagonal


def test_count_in_slabs_equals_the_matrix():
    n = 4100  # more than one slab
    assert count(window(2), n) == 5 * n - 6


def test_prefix_padding_segments_and_dilation_by_hand():
    assert mask(prefix(2), 4).astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert mask(padding(2), 3).astype(int).tolist() == [[1, 1, 0]] * 3
    assert mask(segments(2, 1), 5).astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 1, 1, 0, 0],
        [0, 1, 1, 1, 0],
        [0, 0, 0, 1, 1],
    ]
    assert mask(dilated(1, 2), 5).astype(int).tolist() == [
        [1, 0, 1, 0, 0],
        [0, 1, 0, 1, 0],
        [1, 0, 1, 0, 1],
        [0, 1, 0, 1, 0],
        [0, 0, 1, 0, 1],
    ]
    assert (mask(anticausal, 6) == mask(causal, 6).T).all()
    assert mask(full, 2, 3).shape == (2, 3)


def test_counts_are_those_of_the_formulas():
    n, p, left, right, each, gap, g = 50, 7, 5, 3, 4, 3, 2
    assert count(prefix(p), n) == n * (n + 1) // 2 + p * (p - 1) // 2
    assert count(padding(n - p), n) == n * (n - p)
    assert count(window(left, right), n) == n * (left + right + 1) - left * (left + 1) // 2 - right * (right + 1) // 2
    assert count(dilated(each, gap), n) == (2 * each + 1) * n - gap * each * (each + 1)
    assert count(global_at([0, 30]), n) == g * (2 * n - g)
    assert count(segments(8, 5), n) == sum(i - max(0, i // 8 * 8 - 5) + 1 for i in range(n))


def test_the_streams_of_an_order_by_hand():
    # place 2 is found first, then 0, then 1; place 3 is known
    order = (2, 0, 1)
    content = [[1, 0, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    assert mask(content_stream(order, 4), 4).astype(int).tolist() == content
    query = [[0, 0, 1, 1], [1, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1]]
    assert mask(query_stream(order, 4), 4).astype(int).tolist() == query


def test_an_order_from_left_to_right_is_causal():
    assert random_order(6, 0) == (0, 1, 2, 3, 4, 5)
    assert sorted(random_order(6, 3)) == [0, 1, 2, 3, 4, 5]
    assert random_order(6, 3) != random_order(6, 4)
    assert (mask(content_stream(random_order(6, 0), 6), 6) == mask(causal, 6)).all()
    assert count(content_stream(random_order(9, 5), 9), 9) == 45
    assert count(query_stream(random_order(9, 5), 9), 9) == 36


def seen(pattern: Pattern, query: int, n: int) -> list[int]:
    return np.flatnonzero(mask(pattern, n)[query]).tolist()


def test_strided_by_hand() -> None:
    # the three before, itself, and every third one before
    assert seen(strided(3), 8, 9) == [2, 5, 6, 7, 8]
    assert seen(strided(3), 1, 9) == [0, 1]


def test_fixed_by_hand() -> None:
    # blocks 0-3, 4-7, 8-11, of which 3 and 7 sum up
    assert seen(fixed(4, 1), 9, 12) == [3, 7, 8, 9]
    assert seen(fixed(4, 2), 9, 12) == [2, 3, 6, 7, 8, 9]
    assert seen(fixed(4, 1), 2, 12) == [0, 1, 2]


def test_the_image_masks_of_the_papers_drawing() -> None:
    """6 text tokens and a 4 x 4 image; the query is the third token of the third row: image position 10."""
    n, text, here = 22, list(range(6)), 16
    # five in raster order, the last of which is its own column one row up
    assert seen(row(6, 4), here, n) == [*text, 12, 13, 14, 15, 16]
    assert seen(column(6, 4), here, n) == [*text, 8, 12, 16]
    # 3 x 3: three above, one to the left, itself
    assert seen(convolution(6, 4, 3), here, n) == [*text, 11, 12, 13, 15, 16]
    # wraparound: the first of a row sees, one step back, the last of the row above
    assert seen(convolution(6, 4, 3), 14, n) == [*text, 9, 10, 11, 13, 14]


@pytest.mark.parametrize("pattern", [row(6, 4), column(6, 4), convolution(6, 4, 3)])
def test_text_is_causal_and_never_attends_to_the_image(pattern: Pattern) -> None:
    matrix = mask(pattern, 22)
    assert (matrix[:6, :6] == mask(causal, 6)).all()
    assert not matrix[:6, 6:].any()
    assert matrix[6:, :6].all()
    assert not (matrix & ~mask(causal, 22)).any()


def test_counts_of_the_image_masks() -> None:
    text, side = 6, 4
    shared = text * (text + 1) // 2 + side**2 * text
    assert count(row(text, side), 22) == shared + side**2 * (side + 1) - side * (side + 1) // 2
    assert count(column(text, side), 22) == shared + side**2 * (side + 1) // 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: fixed(4, 0),
        lambda: fixed(4, 5),
        lambda: convolution(2, 4, 2),
    ],
)
def test_refusals(call: Callable[[], Pattern]) -> None:
    with pytest.raises(OutOfRange):
        call()
