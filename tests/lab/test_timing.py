"""Runs timed by turns."""

from __future__ import annotations

from lab.timing import alternated


def test_runs_alternate_and_the_first_rounds_do_not_count() -> None:
    now = [0.0]
    cost = iter([(9.0, 9.0), (9.0, 9.0), (1.0, 5.0), (2.0, 4.0), (9.0, 6.0)])
    current: list[float] = []

    def first() -> None:
        current[:] = next(cost)
        now[0] += current[0]

    def second() -> None:
        now[0] += current[1]

    assert alternated([first, second], 3, 2, clock=lambda: now[0]) == ([1.0, 2.0, 9.0], [5.0, 4.0, 6.0])
