"""The schedule of a pipeline: which stage works on which micro-batch, and when it idles.

A pipeline of p stages trains on m micro-batches. A stage can run a micro-batch forward when the stage before has done
so, and backward when the stage after has. The backward pass takes twice as long as the forward pass.

    GPipe (Huang et al. 2019)            all m forward passes, then all m backward passes: up to m micro-batches stored
    1F1B (Narayanan et al. 2019, 2021)   after p - s forward passes, stage s alternates: at most p - s stored

Both idle as long: the bubble is (p - 1) / (m + p - 1) of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEDULES = {"gpipe": "GPipe", "1f1b": "1F1B"}
FORWARD, BACKWARD = 1, 2
"""Time units of a pass through one stage."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One stage works on one micro-batch; stages and micro-batches count from 0."""

    stage: int
    micro: int
    backward: bool
    start: int

    @property
    def end(self) -> int:
        """When it is done."""
        return self.start + (BACKWARD if self.backward else FORWARD)


def _order(kind: str, stage: int, stages: int, micro: int) -> list[tuple[int, bool]]:
    """(micro-batch, backward) of one stage, in the order of its work."""
    ahead = micro if kind == "gpipe" else min(micro, stages - stage)
    order = [(index, False) for index in range(ahead)]
    for index in range(micro):
        order.append((index, True))
        if ahead + index < micro:
            order.append((ahead + index, False))
    return order


def schedule(kind: str, stages: int, micro: int) -> tuple[Pass, ...]:
    """Every pass, each as early as it can be, sorted by start; ``kind`` is a key of :data:`SCHEDULES`."""
    waiting = [_order(kind, stage, stages, micro) for stage in range(stages)]
    free = [0] * stages
    done: dict[tuple[int, int, bool], int] = {}
    passes = []
    while any(waiting):
        for stage, order in enumerate(waiting):
            if not order:
                continue
            index, backward = order[0]
            last = stage == (stages - 1 if backward else 0)
            before = (stage, index, False) if last and backward else (stage + (1 if backward else -1), index, backward)
            if before not in done and not (last and not backward):
                continue
            work = Pass(stage, index, backward, max(free[stage], done.get(before, 0)))
            free[stage] = done[stage, index, backward] = work.end
            passes.append(work)
            del order[0]
    return tuple(sorted(passes, key=lambda work: (work.start, work.stage)))


def span(passes: tuple[Pass, ...]) -> int:
    """Time units from the first pass to the last."""
    return max(work.end for work in passes)


def bubble(passes: tuple[Pass, ...]) -> float:
    """The share of the time in which the stages idle."""
    stages = 1 + max(work.stage for work in passes)
    return 1 - sum(work.end - work.start for work in passes) / (stages * span(passes))


def stored(passes: tuple[Pass, ...], stage: int, time: int | None = None) -> int:
    """Micro-batches whose activations a stage holds at a time; without one, the most at any time.

    They are held from the start of the forward pass to the end of the backward pass.
    """
    starts = {work.micro: work.start for work in passes if work.stage == stage and not work.backward}
    ends = {work.micro: work.end for work in passes if work.stage == stage and work.backward}
    times = [start + 0.5 for start in starts.values()] if time is None else [time]
    return max(sum(starts[micro] < at < ends[micro] for micro in starts) for at in times)
