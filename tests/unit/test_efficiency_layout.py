"""BigBird's layout and its cost by hand; the memory watch."""

import numpy as np
import pytest
import torch

from core.errors import OutOfRange
from core.patterns import count, full, mask
from core.patterns.layout import GLOBAL, NONE, RANDOM, WINDOW, Sparsity, cost, curve, total_scores
from core.sparse.encoder import measure_peak


def test_eight_blocks_without_random_by_hand():
    kinds = Sparsity(block_size=4, random_blocks=0).kinds(32)
    G, W, o = GLOBAL, WINDOW, NONE
    assert kinds.tolist() == [
        [G, G, G, G, G, G, G, G],
        [G, W, W, o, o, o, o, G],
        [G, W, W, W, o, o, o, G],
        [G, o, W, W, W, o, o, G],
        [G, o, o, W, W, W, o, G],
        [G, o, o, o, W, W, W, G],
        [G, o, o, o, o, W, W, G],
        [G, G, G, G, G, G, G, G],
    ]


def test_cost_of_eight_blocks_by_hand():
    # global: rows 0 and 7 whole (16 pairs), columns 0 and 7 of six rows (12); window: 2 + 3 + 3 + 3 + 3 + 2 = 16
    made = cost(32, Sparsity(block_size=4, random_blocks=0))
    assert dict(made.by_kind) == {"window": 16 * 16, "global": 28 * 16, "random": 0}
    assert (made.full, made.sparse) == (1024, 704)
    # one random block for each of the six middle rows
    assert dict(cost(32, Sparsity(block_size=4, random_blocks=1)).by_kind)["random"] == 6 * 16


def test_random_blocks_are_distinct_and_elsewhere():
    kinds = Sparsity(block_size=4, random_blocks=2, seed=3).kinds(80)
    assert (kinds == RANDOM).sum(axis=1).tolist() == [0] + [2] * 18 + [0]
    base = Sparsity(block_size=4, random_blocks=0).kinds(80)
    assert (base[kinds == RANDOM] == NONE).all()
    assert (kinds[kinds != RANDOM] == base[kinds != RANDOM]).all()


def test_random_blocks_follow_seed_layer_and_head():
    sparsity = Sparsity(block_size=4, seed=1)
    same = sparsity.kinds(160, layer=2, head=1)
    assert (same == Sparsity(block_size=4, seed=1).kinds(160, layer=2, head=1)).all()
    for other in (
        sparsity.kinds(160, 2, 0),
        sparsity.kinds(160, 1, 1),
        Sparsity(block_size=4, seed=2).kinds(160, 2, 1),
    ):
        assert (same != other).any()


def test_cost_equals_the_predicate_counted_pair_by_pair():
    for n in (1, 3, 16, 31, 77):
        for sparsity in (Sparsity(block_size=4), Sparsity(block_size=8, window=1, global_blocks=1, random_blocks=1)):
            assert cost(n, sparsity, 1, 2).sparse == count(sparsity.pattern(n, 1, 2), n)


def test_limits_are_full_attention():
    n = 40
    assert (mask(Sparsity(block_size=4, window=15, global_blocks=8).pattern(n), n) == mask(full, n)).sum() == n * n
    short = Sparsity(block_size=4)  # seven blocks: window 3, global 2, random 3 leave nothing out
    assert cost(20, short).sparse == 400
    assert cost(0, short).share == 1.0


def test_cost_grows_by_a_line_and_full_by_a_square():
    sparsity = Sparsity(block_size=16)
    at = {made.tokens: made for made in curve((1024, 2048, 3072), sparsity)}
    assert at[2048].sparse - at[1024].sparse == at[3072].sparse - at[2048].sparse
    # a middle row of queries more: w + g + r = 8 blocks, and one more column in each of the two global rows
    assert at[2048].sparse - at[1024].sparse == 64 * 16 * 16 * (8 + 2)
    assert at[2048].full == 4 * at[1024].full


def test_total_scores():
    assert total_scores(10, 2, 3, None) == 600
    sparsity = Sparsity(block_size=4, global_blocks=0, random_blocks=1)
    for n in (64, 62):
        by_hand = sum(cost(n, sparsity, layer, head).sparse for layer in range(2) for head in range(3))
        assert total_scores(n, 2, 3, sparsity) == by_hand


def test_table_lists_what_kinds_shows():
    sparsity = Sparsity(block_size=4, random_blocks=2)
    rows, seen = sparsity.table(41, layer=1)
    kinds = sparsity.kinds(41, layer=1)
    assert rows.tolist() == list(range(1, 10))
    for row, line in zip(rows, seen, strict=True):
        assert sorted(block for block in line if block >= 0) == np.flatnonzero(kinds[row]).tolist()


@pytest.mark.parametrize(
    "values",
    [{"block_size": 0}, {"window": 2}, {"window": 17}, {"random_blocks": -1}, {"global_blocks": 9}, {"seed": -1}],
)
def test_refusals(values):
    with pytest.raises(OutOfRange):
        Sparsity(**values)


MB = 1_000_000


def test_two_alive_at_once_and_one_released():
    before = torch.zeros(MB)  # 4 MB that were there: not counted

    def call():
        first = before + 1  # 4
        second = first + 1  # 8
        del first  # 4
        return second.sum()  # 4 and 4 bytes

    with torch.inference_mode():
        assert measure_peak(call) == 8 * MB


def test_views_and_work_in_place_cost_nothing():
    def call():
        made = torch.ones(MB)
        made.mul_(3)
        return made.view(1000, 1000).T[:5]

    assert measure_peak(call) == 4 * MB


def test_writing_into_what_was_there_costs_nothing():
    before = torch.zeros(MB)
    assert measure_peak(lambda: before.add_(1)) == 0


def test_scores_and_softmax_of_full_attention():
    query, key = torch.randn(500, 8), torch.randn(500, 8)
    peak = measure_peak(lambda: torch.softmax(query @ key.T, -1).sum())
    assert 2 * 500 * 500 * 4 <= peak < 2 * 500 * 500 * 4 + 100
