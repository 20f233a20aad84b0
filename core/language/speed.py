"""How long two models take for the same sentence: by turns, so that whatever else the machine does meets both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

WARM_UP = 3


def by_turns(
    runs: Sequence[Callable[[], object]],
    count: int = 15,
    clock: Callable[[], float] = time.perf_counter,
    told: Callable[[], None] | None = None,
) -> tuple[float, ...]:
    """Median seconds of each run; the runs take turns ``count`` times, after `WARM_UP` rounds that are not counted.

    :param clock: seconds; replaced in tests.
    :param told: called after every run, off the clock; what it raises ends the measuring.
    """
    taken: list[list[float]] = [[] for _ in runs]
    for turn in range(WARM_UP + count):
        for run, seconds in zip(runs, taken, strict=True):
            start = clock()
            run()
            if turn >= WARM_UP:
                seconds.append(clock() - start)
            if told is not None:
                told()
    return tuple(statistics.median(seconds) for seconds in taken)
