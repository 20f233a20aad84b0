"""What was counted about a model's heads, read back from the files that ``python -m core heads`` writes.

numpy alone. Legend: D directions, L layers, H heads.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.attention.headroles import OUTPUT, RELATION_COLUMNS
from core.attention.relations import LABELS, wilson
from core.errors import AtlasError

SHIPPED = "atlas"
"""The treebank that comes with the app."""
PUBLISHED = OUTPUT / "published" / "clark-2019.csv"


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """One relation in one direction, over one treebank."""

    relation: str
    direction: str
    n: int
    right: NDArray[np.int64]  # (L, H)
    offset: int
    """The fixed distance, in words, that is right most often."""
    baseline_right: int

    @property
    def best(self) -> tuple[int, int]:
        """Layer and head, from 0, that are right most often."""
        layer, head = divmod(int(self.right.argmax()), self.right.shape[1])
        return layer, head

    @property
    def accuracy(self) -> float:
        """Of the best head."""
        return int(self.right.max()) / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of ``accuracy``."""
        return wilson(int(self.right.max()), self.n)

    @property
    def baseline(self) -> float:
        """Of the fixed distance."""
        return self.baseline_right / self.n


def measured(slug: str, treebank: str = SHIPPED, folder: Path = OUTPUT) -> dict[str, Counted]:
    """Each relation in its better direction (whose interval begins higher); empty where nothing was measured.

    Raises:
        AtlasError: the file is damaged.
    """
    path = folder / f"{slug}.csv"
    return _read(path, treebank, path.stat().st_mtime_ns) if path.is_file() else {}


@lru_cache(maxsize=32)
def _read(path: Path, treebank: str, _changed: int) -> dict[str, Counted]:
    cells: dict[tuple[str, str], list[tuple[int, ...]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        if next(rows, None) != list(RELATION_COLUMNS):
            raise AtlasError(f"{path.name} is no table of heads. Measure the model anew: python -m core heads.")
        for bank, relation, direction, *numbers in rows:
            if bank == treebank and relation in LABELS:
                cells.setdefault((relation, direction), []).append(tuple(int(number) for number in numbers))
    best: dict[str, Counted] = {}
    for (relation, direction), found in cells.items():
        layers, heads = (max(row[i] for row in found) for i in (0, 1))
        right = np.zeros((layers, heads), dtype=np.int64)
        for layer, head, _, count, _, _ in found:
            right[layer - 1, head - 1] = count
        right.setflags(write=False)
        _, _, n, _, offset, baseline = found[0]
        one = Counted(relation, direction, n, right, offset, baseline)
        if relation not in best or one.interval[0] > best[relation].interval[0]:
            best[relation] = one
    return {relation: best[relation] for relation in LABELS if relation in best}


@lru_cache(maxsize=1)
def published() -> dict[str, tuple[float, int, int]]:
    """Of BERT-base after Clark et al. 2019: accuracy in percent, layer and head from 1, by the nearest relation here.

    Where two relations of theirs are one here, the one of which they counted more links stands for both.
    """
    found: dict[str, tuple[float, int, int]] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, value = row["atlas relation"], row["accuracy"] or row["table accuracy"]
            if name and value and name not in found:
                found[name] = (float(value), int(row["layer"]), int(row["head"]))
    return found
