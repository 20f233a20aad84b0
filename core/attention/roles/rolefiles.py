"""Measurements of a model's heads, read from the files that ``python -m lab heads`` and ``effects`` write.

Three tidy files for each model; layers and heads count from 1 in them, as everywhere in the app:

    SLUG.csv        treebank, relation, direction, layer, head, n, right, baseline offset, baseline right
    roles/SLUG.csv  treebank, role, layer, head, rows, mean
    effects/SLUG.csv  attention, layer, head, texts, mean bits, largest bits

The first two are measured on the self-attention over the input text: the encoder's in an encoder-decoder (whose decoder
generates the same sentence), and the content stream in a two-stream model. Scores of the other maps (decoder, cross,
query) are in roles/SLUG.csv under "TREEBANK, KIND".

numpy alone. Legend: D directions, L layers, H heads.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.attention.ablation.ablate import Head
from core.attention.heads import SCORES
from core.attention.roles.relations import LABELS, RelationCounts, better_directions
from core.attention.trace import MapKind
from core.errors import AtlasError
from core.settings import ASSETS

OUTPUT = ASSETS / "headroles"
RELATION_COLUMNS = (
    "treebank",
    "relation",
    "direction",
    "layer",
    "head",
    "n",
    "right",
    "baseline offset",
    "baseline right",
)
ROLE_COLUMNS = ("treebank", "role", "layer", "head", "rows", "mean")
EFFECT_COLUMNS = ("attention", "layer", "head", "texts", "mean bits", "largest bits")
EFFECTS = "effects"
"""The folder of the files of effects, in :data:`OUTPUT`."""
KINDS: tuple[MapKind, ...] = ("encoder", "decoder", "cross", "query")
RANDOM = "random tokens"
"""The value of the column ``treebank`` for induction."""

SHIPPED = "atlas"
"""The treebank that comes with the app."""
UD = "ud-english"
"""Files of Universal Dependencies as one treebank; only the counts are bundled."""
Scalar = TypeVar("Scalar", bound=np.generic)
PUBLISHED = OUTPUT / "published" / "clark-2019.csv"


def best_relations(slug: str, treebank: str = SHIPPED, folder: Path = OUTPUT) -> dict[str, RelationCounts]:
    """Each relation in its better direction (:func:`better_directions`); empty without measurements.

    Raises:
        AtlasError: the file is damaged.
    """
    return better_directions(relation_counts(slug, treebank, folder))


def relation_counts(slug: str, treebank: str = SHIPPED, folder: Path = OUTPUT) -> tuple[RelationCounts, ...]:
    """Every relation in every direction with a scored link; empty without measurements.

    Raises:
        AtlasError: the file is damaged.
    """
    cells: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    for bank, relation, direction, *numbers in _rows(folder / f"{slug}.csv", RELATION_COLUMNS):
        if bank == treebank and relation in LABELS:
            cells.setdefault((relation, direction), []).append(tuple(int(number) for number in numbers))
    every = []
    for (relation, direction), heads in cells.items():
        right = _grid([(layer, head, count) for layer, head, _, count, _, _ in heads], np.int64)
        _, _, n, _, offset, baseline = heads[0]
        every.append(RelationCounts(relation, direction, n, right, offset, baseline))
    return tuple(every)


def roles(slug: str, kind: MapKind | None = None, folder: Path = OUTPUT) -> dict[str, NDArray[np.float64]]:
    """Every score (L, H) of `core.attention.heads` over the shipped treebank; induction over random tokens.

    ``kind`` is that of another map than the self-attention over the input text, which is None. Empty without
    measurements.

    Raises:
        AtlasError: the file is damaged.
    """
    cells: dict[str, list[tuple[int, int, float]]] = {}
    for bank, role, layer, head, _, mean in _rows(folder / "roles" / f"{slug}.csv", ROLE_COLUMNS):
        over = f"{SHIPPED}, {kind}" if kind else RANDOM if role == "induction" else SHIPPED
        if role in SCORES and bank == over and not (kind and role == "induction"):
            cells.setdefault(role, []).append((int(layer), int(head), float(mean)))
    return {role: _grid(cells[role], np.float64) for role in SCORES if role in cells}


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of ablating one head, in bits."""

    texts: int
    mean: float
    largest: float


def effects(slug: str, folder: Path = OUTPUT) -> dict[Head, Effect]:
    """By head; empty without measurements.

    Raises:
        AtlasError: the file is damaged.
    """
    return {
        Head(kind, int(layer) - 1, int(head) - 1): Effect(int(texts), float(mean), float(largest))  # type: ignore[arg-type]
        for kind, layer, head, texts, mean, largest in _rows(folder / EFFECTS / f"{slug}.csv", EFFECT_COLUMNS)
        if kind in KINDS
    }


def _rows(path: Path, columns: Sequence[str]) -> tuple[list[str], ...]:
    return _read(path, tuple(columns), path.stat().st_mtime_ns) if path.is_file() else ()


@lru_cache(maxsize=128)
def _read(path: Path, columns: tuple[str, ...], _changed: int) -> tuple[list[str], ...]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = [*csv.reader(file)] or [[]]
    if header != list(columns):
        raise AtlasError(f"{path.name} is no table of heads. Measure the model anew: python -m lab heads.")
    return tuple(rows)


def _grid(cells: Sequence[tuple[int, int, Any]], kind: type[Scalar]) -> NDArray[Scalar]:
    """Values by layer and head (from 1) as a read-only grid (L, H)."""
    layers, heads = (max(cell[i] for cell in cells) for i in (0, 1))
    grid: NDArray[Scalar] = np.zeros((layers, heads), dtype=kind)
    for layer, head, value in cells:
        grid[layer - 1, head - 1] = value
    grid.setflags(write=False)
    return grid


@lru_cache(maxsize=1)
def published() -> dict[str, tuple[float, int, int]]:
    """The results of Clark et al. 2019 for BERT-base by relation here: accuracy in percent, layer and head from 1.

    Where two of their relations are one here, the one with more links counts.
    """
    scores: dict[str, tuple[float, int, int]] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, value = row["atlas relation"], row["accuracy"] or row["table accuracy"]
            if name and value and name not in scores:
                scores[name] = (float(value), int(row["layer"]), int(row["head"]))
    return scores
