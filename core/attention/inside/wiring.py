"""The drawing of a block: where each step stands beside the residual stream.

Every part reads the residual stream, and its output is added to it. A norm stands on that stream (after the sum, as in
BERT) or in the part that reads it (before it, as in GPT-2). Lane 0 is that stream, the others belong to a part: a step
keeps its lane until all that is computed from it is there. numpy is not needed here, nor torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.attention.inside.steps import Step


@dataclass(frozen=True, slots=True)
class Wire:
    """One step of a block among the others."""

    slug: str
    """The step in a link: ``attention-weights``."""
    of: tuple[int, ...]
    """The steps that it is computed from, by their numbers."""
    outside: str
    """What it is computed from that is no step of the block; empty where there is nothing."""
    lane: int


def wires(steps: Sequence[Step]) -> tuple[Wire, ...]:
    """One for each step, in their order."""
    number = {step.slug: i for i, step in enumerate(steps)}
    sources = [tuple(number[source] for source in step.sources) for step in steps]
    last = {source: i for i, of in enumerate(sources) for source in of}
    lanes: list[int] = []
    for i, step in enumerate(steps):
        taken = {lanes[j] for j in range(i) if last.get(j, -1) > i or (last.get(j) == i and j not in sources[i])}
        lanes.append(0 if step.residual else next(lane for lane in range(1, len(steps) + 2) if lane not in taken))
    return tuple(Wire(step.slug, of, step.outside, lane) for step, of, lane in zip(steps, sources, lanes, strict=True))
