"""Patterns, against counts and matrices worked out by hand."""

import subprocess
import sys

import pytest

from core.attention.patterns import blocks, both, causal, count, full, global_at, mask, random, union, window
from core.errors import OutOfRange


def test_full_and_causal_counts():
    assert count(full, 8) == 64
    assert count(causal, 8) == 36  # 8 * 9 / 2
    assert count(full, 0) == 0


def test_window_matrix():
    assert mask(window(1), 4).astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    assert mask(window(1, 0), 3).astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]


def test_window_count():
    # 3 a row, one less in the first and the last
    assert count(window(1), 8) == 22


def test_limits_are_full_and_causal():
    assert (mask(window(7), 8) == mask(full, 8)).all()
    assert (mask(window(7, 0), 8) == mask(causal, 8)).all()
    assert (mask(blocks(full, 3), 8) == mask(full, 8)).all()
    assert (mask(blocks(window(2), 1), 8) == mask(window(2), 8)).all()


def test_global_count():
    # rows 0 and 7 whole: 16; columns 0 and 7 of the other six rows: 12
    assert count(global_at([0, 7]), 8) == 28


def test_block_window_of_eight_tokens():
    # blocks of two: four blocks, block rows see 2, 3, 3, 2 blocks of two keys, two queries each
    assert count(blocks(window(1), 2), 8) == 2 * 2 * (2 + 3 + 3 + 2)
    # seven tokens: the last block holds one token
    assert mask(blocks(window(0), 2), 7)[6].tolist() == [False] * 6 + [True]


def test_random_draws_exactly_what_it_says():
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


def test_union_and_both():
    assert count(union(), 5) == 0
    assert count(both(causal, window(1)), 5) == 9  # the diagonal and the four left of it
    assert count(union(window(0), global_at([0])), 4) == 10  # 7 in the cross, 3 more on the diagonal


def test_count_in_slabs_equals_the_matrix():
    n = 4100  # more than one slab
    assert count(window(2), n) == 5 * n - 6


@pytest.mark.parametrize("call", [lambda: window(-1), lambda: blocks(full, 0), lambda: random(4, -1, 0)])
def test_refusals(call):
    with pytest.raises(OutOfRange):
        call()


def test_no_torch():
    code = "import sys, core.attention.patterns; print('torch' in sys.modules, 'streamlit' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]
