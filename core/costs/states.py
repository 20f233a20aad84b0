"""The memory of training apart from activations: weights, gradients, what the optimiser keeps.

Rajbhandari et al. 2020 (ZeRO) count, for N parameters and Adam in mixed precision,

    2N  weights in 16 bits  +  2N  gradients in 16 bits  +  12N  weights, mean and variance in 32 bits  =  16N bytes.

Other settings change the summands, not the sum's form.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Precision:
    """Bytes of a weight and of a gradient, and whether the optimiser keeps a copy of the weights in 32 bits."""

    name: str
    weight: float
    gradient: float
    copy: float
    state: float
    """Bytes of each number that the optimiser keeps."""


@dataclass(frozen=True, slots=True)
class Optimiser:
    """``numbers`` that the optimiser keeps for each parameter."""

    name: str
    numbers: int


PRECISIONS = {
    "mixed": Precision("mixed: 16 bits, copy in 32", 2, 2, 4, 4),
    "full": Precision("32 bits throughout", 4, 4, 0, 4),
    "half": Precision("16 bits throughout", 2, 2, 0, 2),
}
OPTIMISERS = {
    "adam": Optimiser("Adam: mean and variance", 2),
    "momentum": Optimiser("SGD with momentum", 1),
    "sgd": Optimiser("SGD: nothing kept", 0),
}


@dataclass(frozen=True, slots=True)
class States:
    """Bytes, for all parameters."""

    weights: float
    gradients: float
    optimiser: float

    @property
    def total(self) -> float:
        """All three."""
        return self.weights + self.gradients + self.optimiser


def states(parameters: float, optimiser: str = "adam", precision: str = "mixed") -> States:
    """Bytes that ``parameters`` parameters take in training; KeyError for a name that is not listed."""
    kind, kept = PRECISIONS[precision], OPTIMISERS[optimiser]
    return States(
        weights=kind.weight * parameters,
        gradients=kind.gradient * parameters,
        optimiser=(kind.copy + kind.state * kept.numbers) * parameters,
    )
