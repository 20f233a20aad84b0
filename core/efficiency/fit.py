"""The memory of one device for inference and for training, with data, tensor and pipeline parallelism and ZeRO.

G = D · t · p devices: tensor parallelism splits every matrix into t, pipeline parallelism splits the layers into p, and
D data-parallel replicas train on different texts. A device holds N / (t p) parameters. ZeRO (Rajbhandari et al. 2020)
divides by D what the D replicas would duplicate: optimizer states from stage 1 on, gradients from stage 2 on, weights
in stage 3.

Activations follow Korthikanti et al. 2022: tensor parallelism divides most of them; a pipeline divides none on its
first device, which holds as many micro-batches as there are stages. Not counted: the layer that ZeRO-3 gathers while it
is used, and the embeddings of the first and last stage.

Inference holds weights and the key-value cache; training holds weights, gradients, optimizer states and activations.
``RESERVE`` of the memory is left for everything else: buffers, the library itself, fragmentation.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from core.content import content
from core.costs.memory import activations, cache_bytes, states
from core.costs.shape import Shape
from core.errors import OutOfRange
from core.words import counted

STAGES = {0: "0: nothing", 1: "1: optimizer", 2: "2: + gradients", 3: "3: + weights"}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model is trained; ``batch`` is the micro-batch size of one replica."""

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    stage: int = 0
    sequence: bool = False
    optimizer: str = "adam"
    precision: str = "mixed"
    recompute: str = "none"
    batch: int = 1
    length: int = 512

    @property
    def devices(self) -> int:
        """All of them."""
        return self.data * self.tensor * self.pipeline


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Bytes on one device."""

    parts: tuple[tuple[str, float], ...]
    """(name, bytes) of each component, in the order of the figure."""

    @property
    def total(self) -> float:
        """All of them."""
        return sum(amount for _, amount in self.parts)


def zero_memory(
    parameters: float, stage: int, data: int, optimizer: str = "adam", precision: str = "mixed"
) -> DeviceMemory:
    """What one of ``data`` devices holds of the model's states in a stage of ZeRO, without activations."""
    unsharded = states(parameters, optimizer, precision)
    sharded_from = {"weights": 3, "gradients": 2, "optimizer": 1}
    return DeviceMemory(
        tuple(
            (name, getattr(unsharded, name) / (data if stage >= first else 1)) for name, first in sharded_from.items()
        )
    )


def device_memory(parameters: float, shape: Shape, plan: Plan) -> DeviceMemory:
    """Bytes on one device (of a pipeline, on its first).

    Raises :class:`core.errors.OutOfRange` when the heads cannot be divided, or the layers are fewer than the stages.
    """
    check(shape, plan)
    part = zero_memory(
        parameters / (plan.tensor * plan.pipeline), plan.stage, plan.data, plan.optimizer, plan.precision
    )
    activation_bytes = activations(
        shape, plan.length, plan.batch, recompute=plan.recompute, tensor=plan.tensor, sequence=plan.sequence
    )
    if plan.precision == "full":
        activation_bytes *= 2  # the formula counts 16 bits a number
    return DeviceMemory((*part.parts, ("activations", activation_bytes)))


def check(shape: Shape, plan: Plan) -> None:
    """Raise :class:`core.errors.OutOfRange` where the plan does not divide the model."""
    for stack in shape.stacks:
        if stack.heads and stack.heads % plan.tensor:
            fits = ", ".join(str(n) for n in range(1, stack.heads + 1) if stack.heads % n == 0)
            raise OutOfRange(
                f"{counted(stack.heads, 'head')} cannot be divided equally among {counted(plan.tensor, 'GPU')}. "
                f"Degrees that work: {fits}."
            )
    layers = sum(stack.layers for stack in shape.stacks)
    if plan.pipeline > layers:
        raise OutOfRange(f"{layers} layers make at most {layers} pipeline stages, not {plan.pipeline}.")


RESERVE = 0.1
WIDTHS = {"32": 4.0, "16": 2.0, "8": 1.0, "4": 0.5}
"""Bytes of a weight by its bits."""
_LONGEST = 2**24
_MOST_DEVICES = 2**20


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change of the settings, and the memory that each device then needs."""

    what: str
    """The change, a part of the section's content file."""
    bytes: float
    fits: bool


def usable_bytes(gigabytes: float) -> float:
    """Bytes of a device's memory that a model may use."""
    return gigabytes * 1e9 * (1 - RESERVE)


def inference_memory(parameters: float, shape: Shape, bits: str, length: int, batch: int) -> DeviceMemory:
    """Weights of ``bits`` bits, and the cache in 16 bits for ``batch`` texts of ``length`` tokens."""
    cache = cache_bytes(shape, length, batch=batch, source=length)
    return DeviceMemory((("weights", WIDTHS[bits] * parameters), ("key-value cache", cache)))


def inference_remedies(
    parameters: float, shape: Shape, bits: str, length: int, batch: int, gigabytes: float
) -> Iterator[Remedy]:
    """Changes that reduce the memory of inference, the smallest sufficient one of each kind."""
    limit = usable_bytes(gigabytes)
    for fewer in WIDTHS:
        if WIDTHS[fewer] < WIDTHS[bits]:
            need = inference_memory(parameters, shape, fewer, length, batch).total
            yield Remedy(_remedy("weights", bits=fewer), need, need <= limit)
    if shape.generates:
        if batch > 1:
            need = inference_memory(parameters, shape, bits, length, 1).total
            yield Remedy(_remedy("one"), need, need <= limit)
        shorter = _longest(parameters, shape, bits, batch, limit, length)
        if shorter:
            need = inference_memory(parameters, shape, bits, shorter, batch).total
            yield Remedy(_remedy("shorter", tokens=f"{shorter:,}"), need, True)
    total = inference_memory(parameters, shape, bits, length, batch).total
    count = ceil(total / limit)
    if count > 1:
        yield Remedy(_remedy("devices", devices=f"{count:,}"), total / count, True)


def training_remedies(parameters: float, shape: Shape, plan: Plan, gigabytes: float) -> Iterator[Remedy]:
    """Changes that reduce the memory of training: one at a time, then all together."""
    limit = usable_bytes(gigabytes)

    def remedy(what: str, changed: Plan, **values: str) -> Remedy:
        need = device_memory(parameters, shape, changed).total
        return Remedy(_remedy(what, **values), need, need <= limit)

    if plan.batch > 1:
        yield remedy("one", replace(plan, batch=1))
    if plan.recompute != "full":
        yield remedy("recomputed", replace(plan, recompute="full"))
    if plan.optimizer == "adam":
        yield remedy("momentum", replace(plan, optimizer="momentum"))
    least = replace(plan, batch=1, recompute="full", stage=3)
    for what, base in (("sharded", replace(plan, stage=3)), ("all", least)):
        count = _devices(parameters, shape, base, limit)
        devices = f"{count:,}" if count else "any number of"
        yield remedy(what, replace(base, data=count or _MOST_DEVICES), devices=devices)


def _remedy(what: str, /, **values: str) -> str:
    return content("catalogue", "memory").part(f"Remedy: {what}", **values)


def _longest(parameters: float, shape: Shape, bits: str, batch: int, limit: float, length: int) -> int:
    """The longest text below ``length`` that still fits; 0 where none does."""
    lengths = range(1, min(length, _LONGEST) + 1)
    longest = bisect_right(lengths, limit, key=lambda n: inference_memory(parameters, shape, bits, n, batch).total)
    return longest if longest < length else 0


def _devices(parameters: float, shape: Shape, plan: Plan, limit: float) -> int:
    """The fewest data-parallel replicas that fit; 0 where the activations alone exceed the memory."""
    if device_memory(parameters, shape, replace(plan, data=_MOST_DEVICES)).total > limit:
        return 0
    copies = range(1, _MOST_DEVICES + 1)
    return 1 + bisect_left(copies, -limit, key=lambda n: -device_memory(parameters, shape, replace(plan, data=n)).total)
