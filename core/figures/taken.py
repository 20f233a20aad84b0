"""The numbers of a picture as a table to take away: headings, rows, and the same as CSV.

Legend: L layers, H heads.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.attention.trace import AttentionMap

MOST_ROWS, MOST_COLUMNS = 400, 45
"""What a page has room for as a table; more is in its file of numbers."""
MOST_LINES = 300_000
"""More weights than these go into an archive, not into a table."""
Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Numbers:
    """A table; a cell of None is empty."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def csv(self) -> str:
        """The whole as CSV, numbers with six digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([_written(cell) for cell in row] for row in self.rows)
        return out.getvalue()

    def shown(self) -> dict[str, Any]:
        """What a page shows of it: nothing of a table that is too wide, the first rows of one that is too long."""
        if len(self.header) > MOST_COLUMNS:
            return {"header": [], "rows": [], "more": 0}
        rows = [[_written(cell) for cell in row] for row in self.rows[:MOST_ROWS]]
        return {"header": list(self.header), "rows": rows, "more": len(self.rows) - len(rows)}


def of_head(found: AttentionMap, layer: int, head: int) -> Numbers:
    """One head, a query in each row and a key in each column; empty where nothing was computed. From 0."""
    weights = np.where(found.computed(layer, head), found.weights[layer, head], np.nan)
    return of_matrix("query \\ key", found.query_tokens, found.key_tokens, weights)


def of_map(found: AttentionMap) -> Numbers:
    """All heads, one weight a row, without what was not computed; everything counts from 1."""
    rows = (
        (
            layer + 1,
            head + 1,
            query + 1,
            found.query_tokens[query],
            key + 1,
            found.key_tokens[key],
            float(found.weights[layer, head, query, key]),
        )
        for layer in range(found.layers)
        for head in range(found.heads)
        for query, key in np.argwhere(found.computed(layer, head)).tolist()
    )
    return Numbers(("layer", "head", "query", "query token", "key", "key token", "weight"), tuple(rows))


def of_matrix(
    corner: str, rows: Sequence[str], columns: Sequence[str | int], values: NDArray[np.floating[Any]]
) -> Numbers:
    """A matrix with the names of its rows and columns; what is not finite is empty."""
    lines = ((name, *map(_finite, line)) for name, line in zip(rows, values.tolist(), strict=True))
    return Numbers((corner, *map(str, columns)), tuple(lines))


def of_grids(grids: Mapping[str, NDArray[np.floating[Any]]]) -> Numbers:
    """A row for each head and a column for each of the (L, H) grids; layers and heads from 1."""
    layers, heads = next(iter(grids.values())).shape
    rows = (
        (layer + 1, head + 1, *(_finite(float(grid[layer, head])) for grid in grids.values()))
        for layer in range(layers)
        for head in range(heads)
    )
    return Numbers(("layer", "head", *grids), tuple(rows))


def of_records(records: Sequence[Mapping[str, Any]]) -> Numbers:
    """Rows that say the names of their columns themselves; all have the same."""
    return Numbers(tuple(records[0]) if records else (), tuple(tuple(record.values()) for record in records))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _written(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)
