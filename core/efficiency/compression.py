"""What compressing a model saves and costs: recipes, and measurements of them in ``assets/compression.csv``.

The measurements are made by `core.efficiency.compress`; no torch here.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from itertools import product
from typing import Any

from core.settings import ASSETS

FILE = ASSETS / "compression.csv"
PRUNED, HEADS, LAYERS, BITS = (0, 30, 50, 70, 90), (0, 25, 50, 75), (0, 1, 2, 3), (32, 16, 8, 4)
"""The measured values: percent of weights, percent of heads, layers, bits of a weight."""
COMBINED = (0, 30), (0, 25, 50), (0, 1), (8, 4)
"""The values of the recipes that combine heads or layers with the rest."""


@dataclass(frozen=True, slots=True, order=True)
class Recipe:
    """What is done to a model. Hashable."""

    pruned: int = 0
    """Percent of the layers' weights."""
    heads: int = 0
    """Percent of the heads."""
    layers: int = 0
    bits: int = 32


@dataclass(frozen=True, slots=True)
class Measured:
    """A compressed model, measured."""

    recipe: Recipe
    stored_bytes: int
    memory_bytes: int
    """Of the parameters and buffers as they are loaded here, packed weights included."""
    accuracy: float
    """Share of the masked, or next, tokens that are the model's top prediction."""
    bits_per_token: float
    """Mean :math:`-\\log_2 p` of these tokens."""
    seconds: float
    """Median of a forward pass over ``WINDOW`` tokens."""
    fastest: float
    slowest: float
    machine: str
    """The processor's name, and how many."""


def recipes(layers: int) -> Iterator[Recipe]:
    """The precomputed recipes: pruning with each number of bits, heads and layers alone, and some of all together."""
    yield from (Recipe(pruned=pruned, bits=bits) for pruned in PRUNED for bits in BITS)
    yield from (Recipe(heads=heads) for heads in HEADS[1:])
    yield from (Recipe(layers=removed) for removed in LAYERS[1:] if removed < layers)
    for pruned, heads, removed, bits in product(*COMBINED):
        if (heads or removed) and removed < layers:
            yield Recipe(pruned, heads, removed, bits)


@lru_cache(maxsize=1)
def precomputed() -> dict[str, dict[Recipe, Measured]]:
    """The stored measurements by model and recipe."""
    found: dict[str, dict[Recipe, Measured]] = {}
    with FILE.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            recipe = Recipe(*(int(row[field.name]) for field in fields(Recipe)))
            kinds = (int, int, float, float, float, float, float, str)
            values: list[Any] = [kind(row[field.name]) for kind, field in zip(kinds, fields(Measured)[1:], strict=True)]
            found.setdefault(row["model"], {})[recipe] = Measured(recipe, *values)
    return found


def pareto(points: Iterable[Measured]) -> tuple[Measured, ...]:
    """The points that no other is both smaller and better than, from the smallest on."""
    front: list[Measured] = []
    for point in sorted(points, key=lambda point: (point.stored_bytes, point.bits_per_token)):
        if not front or point.bits_per_token < front[-1].bits_per_token:
            front.append(point)
    return tuple(front)


def write(measured: Mapping[str, Sequence[Measured]]) -> None:
    """Store the measurements of each model in place of all others."""
    with FILE.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(("model", "pruned", "heads", "layers", "bits", *(field.name for field in fields(Measured)[1:])))
        for slug, points in measured.items():
            for point in points:
                values = [getattr(point, field.name) for field in fields(Measured)[1:]]
                written = (f"{value:.6g}" if isinstance(value, float) else value for value in values)
                rows.writerow((slug, *asdict(point.recipe).values(), *written))
