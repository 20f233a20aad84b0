"""Rows and columns that a visitor downloads: the only writer of CSV; and measured rows, read.

A spreadsheet evaluates a text that begins like a formula, and some cells are the visitor's own words. :meth:`Table.csv`
therefore writes an apostrophe, a spreadsheet's mark of a text, before each such cell and column name.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from core.words import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cell = str | int | float | bool | None
Row = TypeVar("Row")

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A text that begins with one of them may be evaluated as a formula, also with the full-width forms."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns, and rows with a cell for each of them; None is an empty cell.

    Names may repeat, as the tokens of a text do.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        """Refuse rows whose length differs from the number of columns."""
        width = len(self.columns)
        if any(len(row) != width for row in self.rows):
            raise ValueError(f"every row of this table needs {width} cells: {', '.join(self.columns)[:200]}")

    @classmethod
    def from_records(cls, records: Sequence[Mapping[str, Any]]) -> Table:
        """A table of records, which all have the same columns."""
        columns = tuple(records[0]) if records else ()
        if any(record.keys() != records[0].keys() for record in records):
            raise ValueError(f"the records do not share the columns {', '.join(columns)[:200]}")
        return cls(columns, tuple(tuple(record[column] for column in columns) for record in records))

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Table:
        """A table of equally long columns; numpy's numbers become Python's."""
        cells = [values if isinstance(values, Sequence) else values.tolist() for values in columns.values()]
        return cls(tuple(columns), tuple(zip(*cells, strict=True)))

    def keyed(self) -> dict[str, list[Cell]]:
        """The columns as ``st.dataframe`` takes them, by keys that are unlike: ``the``, then ``the (2)``."""
        return {key: [row[at] for row in self.rows] for at, key in enumerate(distinct(self.columns))}

    def csv(self) -> str:
        """Comma-separated values with a line of column names; empty without columns."""
        if not self.columns:
            return ""
        out = io.StringIO()
        # a reader may end a row at \r, or a column at a semicolon
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        safe = cache(without_formula)  # a token stands in many rows
        writer.writerow(map(safe, self.columns))
        writer.writerows(zip(*(_csv_column(cells, safe) for cells in zip(*self.rows, strict=True)), strict=True))
        return out.getvalue()

    def head(self, rows: int, columns: int) -> Table:
        """The first rows; an empty table where there are more than ``columns`` columns."""
        return Table(self.columns, self.rows[:rows]) if len(self.columns) <= columns else Table((), ())


def cell_text(cell: Cell) -> str:
    """A cell as text: six significant digits for a number below a million, empty for None and NaN."""
    if type(cell) is float and -1e6 < cell < 1e6:
        return f"{cell:.6g}"
    if cell is None:
        return ""
    if isinstance(cell, bool | Integral):
        return str(cell)
    if isinstance(cell, Real):
        number = float(cell)
        return "" if math.isnan(number) else f"{number:.6g}" if abs(number) < 1e6 else repr(number)
    return str(cell)


def without_formula(text: str) -> str:
    """The text, after an apostrophe where a spreadsheet would evaluate it; plain numbers stay numbers."""
    return f"'{text}" if text.startswith(FORMULA_PREFIXES) and not _NUMBER.fullmatch(text) else text


def _csv_column(cells: Sequence[Cell], safe: Callable[[str], str]) -> Sequence[Cell]:
    """The cells of a column as written; a column of integers alone needs no conversion."""
    if set(map(type, cells)) == {int}:
        return cells
    return [safe(cell) if isinstance(cell, str) else cell_text(cell) for cell in cells]


def measured(file: Path, kind: type[Row]) -> tuple[Row, ...]:
    """The rows of a CSV file of ours, each a dataclass with its columns; none without a file."""
    from pydantic import TypeAdapter

    if not file.is_file():
        return ()
    with file.open(encoding="utf-8", newline="") as stream:
        return TypeAdapter(tuple[kind, ...]).validate_python(list(csv.DictReader(stream)))  # type: ignore[valid-type]
