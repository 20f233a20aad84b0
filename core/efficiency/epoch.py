"""Time and energy of training on a number of tokens.

    seconds = operations for a token · tokens / (devices · peak rate · utilization)
    energy  = devices · power of one · seconds

Utilization is the share of the peak rate that useful operations reach (Chowdhery et al. 2022 call it MFU). Whole layers
computed again cost another forward pass, a third more; the scores alone, their share.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.anatomy.node import ModuleNode
from core.costs.operations import TRAINING, forward
from core.costs.shape import Shape


@dataclass(frozen=True, slots=True)
class Epoch:
    """Operations, time and energy of training on ``tokens`` tokens."""

    tokens: float
    by_token: float
    """Operations of training for one token, without recomputation."""
    operations: float
    """Operations in all, recomputed ones included."""
    seconds: float
    joules: float | None
    """None where no power is known."""

    @property
    def hours(self) -> float:
        """The time in hours."""
        return self.seconds / 3600

    @property
    def kilowatt_hours(self) -> float | None:
        """The energy in kilowatt hours."""
        return None if self.joules is None else self.joules / 3.6e6


def epoch(
    shape: Shape,
    root: ModuleNode,
    tokens: float,
    *,
    length: int,
    devices: int,
    teraflops: float,
    utilization: float,
    watts: float | None = None,
    recompute: str = "none",
) -> Epoch:
    """Operations, time and energy for ``tokens`` tokens in texts of ``length``.

    Args:
        tokens: for an encoder-decoder, half of them are source and half target tokens.
        teraflops: peak rate of one device, in 10¹² operations per second.
        utilization: share of the peak rate that is reached, above 0 and at most 1.
        watts: power of one device.
        recompute: which activations are computed again: ``none``, ``selective`` or ``full``.
    """
    source = shape.source(length)
    work = forward(shape, root, length, source)
    by_text = length + source
    forward_pass = work.total / by_text
    recomputed = {"none": 0.0, "selective": work.attention / by_text, "full": forward_pass}[recompute]
    operations = (TRAINING * forward_pass + recomputed) * tokens
    seconds = operations / (devices * teraflops * 1e12 * utilization)
    return Epoch(
        tokens, TRAINING * forward_pass, operations, seconds, None if watts is None else devices * watts * seconds
    )
