"""Memory of one device when several train one model: copies, shares of matrices, shares of the depth, and ZeRO.

Of G = D · t · p devices, t share every matrix (tensor parallelism), p share the layers (pipeline), and D train on
different texts (data parallelism). A device then holds N / (t p) parameters. ZeRO (Rajbhandari et al. 2020) divides
what all D hold alike by D: from stage 1 on the optimiser's numbers, from 2 on the gradients, in 3 the weights.

Activations follow Korthikanti et al. 2022: tensor parallelism divides most of them, a pipeline none on its first
device, which holds as many micro-batches as there are stages. Left out: what libraries and buffers take, the layer that
ZeRO-3 gathers while it is used, and that the first and the last stage hold the embeddings.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.costs.memory import activations, states
from core.costs.shape import Shape
from core.errors import OutOfRange

STAGES = {
    0: "0: all hold everything",
    1: "1: optimiser divided",
    2: "2: and gradients",
    3: "3: and weights",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model is trained. ``batch`` counts texts that one copy of the model takes at a time."""

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    stage: int = 0
    sequence: bool = False
    optimiser: str = "adam"
    precision: str = "mixed"
    recompute: str = "none"
    batch: int = 1
    length: int = 512

    @property
    def devices(self) -> int:
        """All of them."""
        return self.data * self.tensor * self.pipeline


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes on one device."""

    weights: float
    gradients: float
    optimiser: float
    activations: float

    @property
    def total(self) -> float:
        """All four."""
        return self.weights + self.gradients + self.optimiser + self.activations

    def parts(self) -> tuple[tuple[str, float], ...]:
        """The summands with their names, in the order in which they are drawn."""
        return (
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimiser", self.optimiser),
            ("activations", self.activations),
        )


def zero(parameters: float, stage: int, data: int, optimiser: str = "adam", precision: str = "mixed") -> Held:
    """What one of ``data`` devices holds of the model's states in a stage of ZeRO, without activations."""
    whole = states(parameters, optimiser, precision)
    return Held(
        weights=whole.weights / (data if stage >= 3 else 1),
        gradients=whole.gradients / (data if stage >= 2 else 1),
        optimiser=whole.optimiser / (data if stage >= 1 else 1),
        activations=0,
    )


def held(parameters: float, shape: Shape, plan: Plan) -> Held:
    """Bytes on one device (of a pipeline, on its first).

    Raises :class:`core.errors.OutOfRange` when the heads cannot be shared out, or the layers are fewer than the stages.
    """
    check(shape, plan)
    part = zero(parameters / (plan.tensor * plan.pipeline), plan.stage, plan.data, plan.optimiser, plan.precision)
    kept = activations(
        shape, plan.length, plan.batch, recompute=plan.recompute, tensor=plan.tensor, sequence=plan.sequence
    )
    if plan.precision == "full":
        kept *= 2  # the formula counts 16 bits a number
    return Held(part.weights, part.gradients, part.optimiser, kept)


def check(shape: Shape, plan: Plan) -> None:
    """Raise :class:`core.errors.OutOfRange` where the model cannot be shared out so."""
    for stack in shape.stacks:
        if stack.heads and stack.heads % plan.tensor:
            fits = ", ".join(str(n) for n in range(1, stack.heads + 1) if stack.heads % n == 0)
            raise OutOfRange(
                f"{stack.heads} heads cannot be shared out equally among {plan.tensor} devices. These would do: {fits}."
            )
    layers = sum(stack.layers for stack in shape.stacks)
    if plan.pipeline > layers:
        raise OutOfRange(f"A pipeline of {plan.pipeline} stages needs as many layers; there are {layers}.")
