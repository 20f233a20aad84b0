"""Sparse Transformer's two patterns and DALL-E's three, against matrices by hand and their limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from core.errors import OutOfRange
from core.patterns import (
    Pattern,
    both,
    causal,
    column,
    convolution,
    count,
    fixed,
    mask,
    row,
    strided,
    union,
    window,
)


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


def test_strided_and_fixed_at_their_limits_are_causal() -> None:
    for pattern in (strided(1), strided(20), fixed(20, 1), fixed(4, 4)):
        assert (mask(pattern, 16) == mask(causal, 16)).all()


def test_the_image_masks_of_the_papers_drawing() -> None:
    """6 text tokens and a 4 x 4 image; the token looked from is the third of the third row: image place 10."""
    n, text, here = 22, list(range(6)), 16
    # five in raster order, the last of which is its own column one row up
    assert seen(row(6, 4), here, n) == [*text, 12, 13, 14, 15, 16]
    assert seen(column(6, 4), here, n) == [*text, 8, 12, 16]
    # 3 x 3: three above, one to the left, itself
    assert seen(convolution(6, 4, 3), here, n) == [*text, 11, 12, 13, 15, 16]
    # wraparound: the first of a row sees, one step back, the last of the row above
    assert seen(convolution(6, 4, 3), 14, n) == [*text, 9, 10, 11, 13, 14]


@pytest.mark.parametrize("pattern", [row(6, 4), column(6, 4), convolution(6, 4, 3)])
def test_text_is_causal_and_never_sees_the_image(pattern: Pattern) -> None:
    found = mask(pattern, 22)
    assert (found[:6, :6] == mask(causal, 6)).all()
    assert not found[:6, 6:].any()
    assert found[6:, :6].all()
    assert not (found & ~mask(causal, 22)).any()


def test_counts_of_the_image_masks() -> None:
    text, side = 6, 4
    shared = text * (text + 1) // 2 + side**2 * text
    assert count(row(text, side), 22) == shared + side**2 * (side + 1) - side * (side + 1) // 2
    assert count(column(text, side), 22) == shared + side**2 * (side + 1) // 2


def test_limits_of_the_image_masks() -> None:
    # an image one token wide: rows reach one back, columns are the whole image
    assert (mask(row(0, 1), 6) == mask(both(causal, window(1)), 6)).all()
    assert (mask(column(0, 1), 6) == mask(causal, 6)).all()
    assert (mask(convolution(0, 8, 1), 8) == mask(window(0), 8)).all()
    # no text at all and one row: a row mask is causal
    assert (mask(row(0, 4), 4) == mask(causal, 4)).all()
    # rows and columns joined reach, in two steps, everything before
    joined = mask(union(row(0, 4), column(0, 4)), 16).astype(int)
    assert ((joined @ joined > 0) == mask(causal, 16)).all()


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
