"""How two ways of doing the same are compared: in the same run, by turns, by the median of the ratios.

Run by turns, both meet the same load of the machine; each round gives one ratio ours / theirs, and every second round
starts with theirs, so that neither always runs on the other's warm cache. The median forgets the rounds in which
something else woke up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """Medians over the rounds: both times in seconds, and the ratio ours / theirs."""

    ours: float
    theirs: float
    ratio: float
    rounds: int


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(
    ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int = 21, warmup: int = 2
) -> Comparison:
    """Measure both by turns, after ``warmup`` rounds that do not count."""
    pairs: list[tuple[float, float]] = []
    for number in range(-warmup, rounds):
        if number % 2:
            their_time = seconds(theirs)
            our_time = seconds(ours)
        else:
            our_time = seconds(ours)
            their_time = seconds(theirs)
        if number >= 0:
            pairs.append((our_time, their_time))
    return Comparison(
        ours=statistics.median(a for a, _ in pairs),
        theirs=statistics.median(b for _, b in pairs),
        ratio=statistics.median(a / b for a, b in pairs),
        rounds=rounds,
    )


def report(what: str, result: Comparison, *, at_most: float = 1.0) -> bool:
    """Print one line; True when the ratio is within ``at_most`` (5% are left to noise)."""
    good = result.ratio <= at_most * 1.05
    print(
        f"{what}: ours {result.ours * 1e3:.1f} ms, theirs {result.theirs * 1e3:.1f} ms, "
        f"ratio {result.ratio:.2f} in {result.rounds} rounds (goal at most {at_most:g}, give or take 5%) "
        f"{'ok' if good else 'MISSED'}"
    )
    return good


def goal(what: str, measured: float, at_most: float, sign: str) -> bool:
    """Print one measured number beside its goal; True when it is reached."""
    good = measured <= at_most
    print(f"{what}: {measured:.2f} {sign} (goal at most {at_most:g} {sign}) {'ok' if good else 'MISSED'}")
    return good
