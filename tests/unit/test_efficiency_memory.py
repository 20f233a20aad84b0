"""The memory watch, on computations whose peak can be added up by hand."""

import torch

from core.sparse.encoder import measure_peak

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
