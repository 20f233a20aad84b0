"""Learning rate as a function of the share of the budget that is used, so that the last decay always happens."""

from __future__ import annotations


def rate(progress: float, *, warmup: float = 0.02, hold: float = 0.0) -> float:
    """Factor in [0, 1]: linear warm-up until ``warmup``, constant until ``hold``, then linear decay to 0 at 1.

    ``progress`` is the used share of the budget: minutes so far over minutes planned.
    """
    if progress >= 1.0:
        return 0.0
    if progress < warmup:
        return progress / warmup
    start = max(warmup, hold)
    if progress < start:
        return 1.0
    return (1.0 - progress) / (1.0 - start)
