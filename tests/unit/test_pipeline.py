"""Schedules of pipelines against the formula of the bubble, and against a schedule worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest

from core.costs.trained import laws
from core.efficiency.pipeline import bubble, schedule, span, stored


@pytest.mark.parametrize("kind", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("stages", "micro"), [(1, 1), (1, 5), (3, 2), (4, 8), (8, 4), (16, 64)])
def test_the_bubble_is_that_of_the_formula(kind: str, stages: int, micro: int) -> None:
    passes = schedule(kind, stages, micro)
    assert len(passes) == 2 * stages * micro
    assert bubble(passes) == pytest.approx((stages - 1) / (micro + stages - 1))
    assert span(passes) == 3 * (micro + stages - 1)


@pytest.mark.parametrize("kind", ["gpipe", "1f1b"])
def test_a_pass_begins_after_what_it_needs_and_a_stage_does_one_thing_at_a_time(kind: str) -> None:
    passes = schedule(kind, 4, 6)
    ends = {(work.stage, work.micro, work.backward): work.end for work in passes}
    for work in passes:
        needed = (work.stage + (1 if work.backward else -1), work.micro, work.backward)
        assert work.start >= ends.get(needed, 0)
        if work.backward:
            assert work.start >= ends[work.stage, work.micro, False]
    for stage in range(4):
        own = [work for work in passes if work.stage == stage]
        assert all(a.end <= b.start for a, b in pairwise(own))


def test_1f1b_stores_fewer_micro_batches_than_gpipe() -> None:
    assert [stored(schedule("gpipe", 4, 8), stage) for stage in range(4)] == [8, 8, 8, 8]
    assert [stored(schedule("1f1b", 4, 8), stage) for stage in range(4)] == [4, 3, 2, 1]
    assert [stored(schedule("1f1b", 4, 8), 0, time) for time in (0, 1, 2)] == [0, 1, 2]
    assert stored(schedule("1f1b", 4, 8), 0, 33) == 0


def test_two_stages_and_two_micro_batches_by_hand() -> None:
    found = [(work.stage, work.micro, work.backward, work.start) for work in schedule("1f1b", 2, 2)]
    assert sorted(found) == [
        *((0, 0, False, 0), (0, 0, True, 4), (0, 1, False, 1), (0, 1, True, 7)),
        *((1, 0, False, 1), (1, 0, True, 2), (1, 1, False, 4), (1, 1, True, 5)),
    ]


def test_the_best_split_of_a_budget_has_the_least_loss() -> None:
    compute = 5.76e23
    for law in (laws()["hoffmann"], laws()["besiroglu"]):
        best, tokens = law.split(compute)
        assert 6 * best * tokens == pytest.approx(compute)
        least = law.loss(best, tokens)
        assert all(law.loss(best * f, tokens / f) > least for f in (0.5, 0.9, 1.1, 2))
    assert laws()["hoffmann"].loss(70e9, 1.4e12) == pytest.approx(1.69 + 0.0838 + 0.1628, abs=2e-3)
    assert laws()["kaplan"].split(1e15 * 86_400)[0] == 1.3e9
    # data without limit leave the law of the size alone
    assert laws()["kaplan"].loss(1e9, 1e30) == pytest.approx((6.4e13 / 1e9) ** 0.076, rel=1e-6)
