"""Runs timed on this machine by turns, so that other load on it affects all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter


def alternated(
    runs: Sequence[Callable[[], object]],
    count: int,
    first: int = 1,
    clock: Callable[[], float] = perf_counter,
) -> tuple[list[float], ...]:
    """Seconds of each run in ``count`` rounds, in which the runs alternate, after ``first`` warm-up rounds.

    Args:
        clock: seconds; replaced in tests.
    """
    taken: tuple[list[float], ...] = tuple([] for _ in runs)
    for repetition in range(first + count):
        for run, seconds in zip(runs, taken, strict=True):
            start = clock()
            run()
            if repetition >= first:
                seconds.append(clock() - start)
    return taken
