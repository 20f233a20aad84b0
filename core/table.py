"""Rows and columns that a visitor downloads: the only writer of CSV and Markdown.

A spreadsheet runs a text that begins like a formula, and some cells are the visitor's own words. So :meth:`Table.csv`
writes an apostrophe before each such text, in column names too, which a spreadsheet takes for "this is text".
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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cell = str | int | float | bool | None

FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A text that begins with one of them may be run as a formula; spreadsheets read the full-width forms alike."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_MARKDOWN = re.compile(r"[\\|\[\]*_<>`]")


@dataclass(frozen=True, slots=True)
class Table:
    """Named columns, and rows with a cell for each of them; None is an empty cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        """Refuse rows of another length than the columns'."""
        width = len(self.columns)
        if any(len(row) != width for row in self.rows):
            raise ValueError(f"every row of this table needs {width} cells: {', '.join(self.columns)[:200]}")

    @classmethod
    def from_records(cls, records: Sequence[Mapping[str, Any]]) -> Table:
        """Rows that name their columns themselves; all have the same."""
        columns = tuple(records[0]) if records else ()
        if any(record.keys() != records[0].keys() for record in records):
            raise ValueError(f"the records do not share the columns {', '.join(columns)[:200]}")
        return cls(columns, tuple(tuple(record[column] for column in columns) for record in records))

    @classmethod
    def from_columns(cls, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Table:
        """Columns of one length, with Python's own numbers for numpy's."""
        cells = [values if isinstance(values, Sequence) else values.tolist() for values in columns.values()]
        return cls(tuple(columns), tuple(zip(*cells, strict=True)))

    def records(self) -> list[dict[str, Cell]]:
        """The rows as mappings from column names, as ``st.dataframe`` takes them."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def csv(self) -> str:
        """Comma-separated values with a line of column names; empty without columns."""
        if not self.columns:
            return ""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        safe = cache(without_formula)  # a token stands in many rows
        writer.writerow(map(safe, self.columns))
        writer.writerows(zip(*(_csv_column(cells, safe) for cells in zip(*self.rows, strict=True)), strict=True))
        return out.getvalue()

    def markdown(self) -> str:
        """A Markdown table in which every text stays text."""
        lines = [[*map(escape_markdown, self.columns)], ["---"] * len(self.columns)]
        lines += [[escape_markdown(cell_text(cell)) for cell in row] for row in self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def head(self, rows: int, columns: int) -> Table:
        """The first rows; no columns at all where there are more than a page has room for."""
        return Table(self.columns, self.rows[:rows]) if len(self.columns) <= columns else Table((), ())


def cell_text(cell: Cell) -> str:
    """A cell as it is written: six digits of a number below a million, nothing where there is no number."""
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
    """The text with an apostrophe before it where a spreadsheet would run it; plain numbers stay numbers."""
    return f"'{text}" if text.startswith(FORMULA_PREFIXES) and not _NUMBER.fullmatch(text) else text


def escape_markdown(text: str) -> str:
    """The text in one line, with Markdown's marks escaped."""
    return _MARKDOWN.sub(r"\\\g<0>", text).replace("\r\n", " ").replace("\n", " ").replace("\r", " ")


def _csv_column(cells: Sequence[Cell], safe: Callable[[str], str]) -> Sequence[Cell]:
    """The cells of a column as the file has them; numbers need no look at each where all of them are whole."""
    if set(map(type, cells)) == {int}:
        return cells
    return [safe(cell) if isinstance(cell, str) else cell_text(cell) for cell in cells]
