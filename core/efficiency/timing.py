"""Runs timed on this machine by turns, so that other load on it affects all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter

FIRST = 3


def by_turns(
    runs: Sequence[Callable[[], object]],
    count: int = 15,
    clock: Callable[[], float] = perf_counter,
    notify: Callable[[], None] | None = None,
) -> tuple[float, ...]:
    """Median seconds of each run; the runs alternate ``count`` times, after `FIRST` warm-up rounds.

    Args:
        runs: the functions to time.
        count: rounds that are measured.
        clock: seconds; replaced in tests.
        notify: called after every run, outside the measured time; an exception from it ends the measurement.
    """
    return tuple(map(median, alternated(runs, count, FIRST, clock, notify)))


def alternated(
    runs: Sequence[Callable[[], object]],
    count: int,
    first: int = 1,
    clock: Callable[[], float] = perf_counter,
    notify: Callable[[], None] | None = None,
) -> tuple[list[float], ...]:
    """Seconds of each run in ``count`` rounds after ``first`` warm-up rounds; otherwise as `by_turns`."""
    taken: tuple[list[float], ...] = tuple([] for _ in runs)
    for repetition in range(first + count):
        for run, seconds in zip(runs, taken, strict=True):
            start = clock()
            run()
            if repetition >= first:
                seconds.append(clock() - start)
            if notify is not None:
                notify()
    return taken
