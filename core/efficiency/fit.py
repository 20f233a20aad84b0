"""Whether a model fits into a device's memory, and what would make it fit.

To run: the weights and the key-value cache. To train: weights, gradients, optimiser and activations. What else a
program holds (buffers, the library itself, fragments that cannot be used) comes on top; ``RESERVE`` of the memory is
kept for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from core.costs.memory import cache_bytes
from core.costs.shape import Shape
from core.efficiency.parallel import Plan, held

RESERVE = 0.1
WIDTHS = {"32": 4.0, "16": 2.0, "8": 1.0, "4": 0.5}
"""Bytes of a weight by its bits."""
_LONGEST = 2**24
_MOST_DEVICES = 2**20


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes needed, by what for."""

    parts: tuple[tuple[str, float], ...]

    @property
    def total(self) -> float:
        """All of them."""
        return sum(amount for _, amount in self.parts)


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something else to do, and what is then needed on each device."""

    what: str
    bytes: float
    fits: bool


def room(gigabytes: float) -> float:
    """Bytes of a device's memory that a model may use."""
    return gigabytes * 1e9 * (1 - RESERVE)


def to_run(parameters: float, shape: Shape, bits: str, length: int, batch: int) -> Need:
    """Weights of ``bits`` bits, and the cache in 16 bits for ``batch`` texts of ``length`` tokens."""
    cache = cache_bytes(shape, length, batch=batch, source=length)
    return Need((("weights", WIDTHS[bits] * parameters), ("key-value cache", cache)))


def to_train(parameters: float, shape: Shape, plan: Plan) -> Need:
    """What one device holds under ``plan``."""
    return Need(held(parameters, shape, plan).parts())


def help_running(
    parameters: float, shape: Shape, bits: str, length: int, batch: int, gigabytes: float
) -> Iterator[Remedy]:
    """What would make a model that does not fit run on such devices: the nearest of each kind."""
    limit = room(gigabytes)
    for fewer in WIDTHS:
        if WIDTHS[fewer] < WIDTHS[bits]:
            need = to_run(parameters, shape, fewer, length, batch).total
            yield Remedy(f"weights of {fewer} bits", need, need <= limit)
    if shape.stack("decoder") is not None:
        if batch > 1:
            need = to_run(parameters, shape, bits, length, 1).total
            yield Remedy("one text at a time", need, need <= limit)
        shorter = _longest(parameters, shape, bits, batch, limit, length)
        if shorter:
            need = to_run(parameters, shape, bits, shorter, batch).total
            yield Remedy(f"texts of at most {shorter:,} tokens", need, True)
    whole = to_run(parameters, shape, bits, length, batch).total
    count = ceil(whole / limit)
    if count > 1:
        yield Remedy(f"{count:,} of these devices, each with a share", whole / count, True)


def help_training(parameters: float, shape: Shape, plan: Plan, gigabytes: float) -> Iterator[Remedy]:
    """What would make a training that does not fit do so: one change at a time, then all together."""
    limit = room(gigabytes)

    def remedy(what: str, changed: Plan) -> Remedy:
        need = held(parameters, shape, changed).total
        return Remedy(what, need, need <= limit)

    if plan.batch > 1:
        yield remedy("one text at a time", replace(plan, batch=1))
    if plan.recompute != "full":
        yield remedy("whole layers computed again", replace(plan, recompute="full"))
    if plan.optimiser == "adam":
        yield remedy("SGD with momentum instead of Adam", replace(plan, optimiser="momentum"))
    least = replace(plan, batch=1, recompute="full", stage=3)
    for name, base in (
        ("ZeRO stage 3", replace(plan, stage=3)),
        ("ZeRO stage 3, one text, layers computed again", least),
    ):
        count = _devices(parameters, shape, base, limit)
        if count:
            yield remedy(f"{name}, over {count:,} devices", replace(base, data=count))
        else:
            yield remedy(f"{name}, over any number of devices", replace(base, data=_MOST_DEVICES))


def _longest(parameters: float, shape: Shape, bits: str, batch: int, limit: float, length: int) -> int:
    """The longest text below ``length`` that still fits; 0 where none does."""
    low, high = 0, min(length, _LONGEST)
    while low < high:
        middle = (low + high + 1) // 2
        if to_run(parameters, shape, bits, middle, batch).total <= limit:
            low = middle
        else:
            high = middle - 1
    return low if low < length else 0


def _devices(parameters: float, shape: Shape, plan: Plan, limit: float) -> int:
    """The fewest copies among which the states must be divided; 0 where the activations alone are too much."""
    if held(parameters, shape, replace(plan, data=_MOST_DEVICES)).total > limit:
        return 0
    low, high = 1, _MOST_DEVICES
    while low < high:
        middle = (low + high) // 2
        if held(parameters, shape, replace(plan, data=middle)).total <= limit:
            high = middle
        else:
            low = middle + 1
    return low
