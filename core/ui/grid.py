"""A table whose columns are declared once: what the page shows of a row, and what its file holds.

The file has numbers as numbers, written by :class:`core.table.Table`; the page has them rounded, in its own text::

    LENGTHS = (
        Column("Text", lambda row: row.text, width=80),
        Column("Bits", lambda row: row.bits, ".1f", 20, name="surprisal in bits"),
    )
    Grid("Surprisals", LENGTHS, rows).draw("surprisals", state.key("bits.csv"))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from core.table import Cell, Table
from core.ui.export import download_csv
from core.ui.tables import Cell as Shown
from core.ui.tables import TextTable, text_table

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """One column of the page's table and of the file."""

    heading: str
    value: Callable[[Row], Cell]
    """The file's cell."""
    show: str | Callable[[Any], Shown] = ""
    """How the page shows the value: a format, or a function of it; None is a dash."""
    width: int = 0
    """Percent of the page's table; a column without a width is the file's alone."""
    name: str | None = None
    """In the file, where it is not the heading in lower case; empty for a column of the page alone."""

    cell: Callable[[Row], Shown] | None = None
    """The page's cell, where it says more of the row than the value."""

    def shown(self, row: Row) -> Shown:
        if self.cell is not None:
            return self.cell(row)
        if (value := self.value(row)) is None:
            return "–"
        return format(value, self.show) if isinstance(self.show, str) else self.show(value)

    def is_numeric(self, rows: Sequence[Row]) -> bool:
        """Whether it has numbers, and perhaps empty cells."""
        kinds = {type(self.value(row)) for row in rows} - {type(None)}
        return bool(kinds) and kinds <= {int, float}


@dataclass(frozen=True, slots=True)
class Grid(Generic[Row]):
    """Rows under columns; ``caption`` is for screen readers."""

    caption: str
    columns: Sequence[Column[Row]]
    rows: Sequence[Row]

    @property
    def table(self) -> Table:
        """What the file holds."""
        columns = [column for column in self.columns if column.name != ""]
        names = tuple(column.name or column.heading.lower() for column in columns)
        return Table(names, tuple(tuple(column.value(row) for column in columns) for row in self.rows))

    def draw(self, file: str = "", key: str = "", *, of: str = "", most: int | None = None) -> None:
        """Draw the first ``most`` rows; offer all as ``atlas-FILE.csv`` at the foot of the page."""
        columns = [column for column in self.columns if column.width]
        numeric = [at for at, column in enumerate(columns) if column.is_numeric(self.rows)]
        rows = [tuple(column.shown(row) for column in columns) for row in self.rows[:most]]
        headings, widths = (tuple(column.heading for column in columns), tuple(column.width for column in columns))
        text_table(TextTable(headings, rows, self.caption, widths, tuple(numeric)))
        if file:
            download_csv(self.table, file, key, of=of)
