"""How long it takes to train on so many tokens, and what energy that takes.

    seconds = operations for a token · tokens / (devices · peak rate · utilization)
    energy  = devices · power of one · seconds

Utilization is the share of the peak rate that useful operations reach (Chowdhery et al. 2022 call it MFU). Whole layers
computed again cost another forward pass, a third more; the scores alone, their share.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.anatomy.node import ModuleNode
from core.costs.flops import TRAINING, forward
from core.costs.shape import Shape


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one run over ``tokens`` tokens takes."""

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
    """The time for ``tokens`` tokens in texts of ``length``.

    Args:
        teraflops: peak rate of one device, in 10¹² operations a second.
        utilization: share of it that is reached, above 0 and at most 1.
        tokens: of an encoder-decoder, those that it reads and those that it writes, half and half.
    """
    two_sided = shape.kind == "encoder-decoder"
    work = forward(shape, root, length, length if two_sided else 0)
    by_text = 2 * length if two_sided else length
    there = work.total / by_text
    again = {"none": 0.0, "selective": work.attention / by_text, "full": there}[recompute]
    operations = (TRAINING * there + again) * tokens
    seconds = operations / (devices * teraflops * 1e12 * utilization)
    return Epoch(tokens, TRAINING * there, operations, seconds, None if watts is None else devices * watts * seconds)
