"""The big table as files: CSV has sources in a column beside each property, Markdown numbers them."""

from __future__ import annotations

from collections.abc import Sequence

from core.anatomy.sheet import COLUMNS, SheetRow
from core.catalogue import Citation
from core.table import Table, escape_markdown

_HEADINGS = {column.slug: column.heading for column in COLUMNS}


def sheet_table(rows: Sequence[SheetRow], columns: Sequence[str]) -> Table:
    """A row for each system; after each property a column that names its sources and how they were read."""
    return Table(
        tuple(text for slug in columns for text in (_HEADINGS[slug], f"{_HEADINGS[slug]}: read in")),
        tuple(
            tuple(
                text
                for cell in (row.cells[slug] for slug in columns)
                for text in (cell.text, "; ".join(map(cited, cell.citations)))
            )
            for row in rows
        ),
    )


def markdown(rows: Sequence[SheetRow], columns: Sequence[str]) -> str:
    """A table whose cells carry numbers, and the list of sources that the numbers stand for."""
    numbers: dict[str, int] = {}

    def numbered(row: SheetRow, slug: str) -> str:
        cell = row.cells[slug]
        marks = [f"[{numbers.setdefault(cited(one), len(numbers) + 1)}]" for one in cell.citations]
        return " ".join([cell.text, *dict.fromkeys(marks)])

    table = Table(
        tuple(_HEADINGS[slug] for slug in columns),
        tuple(tuple(numbered(row, slug) for slug in columns) for row in rows),
    )
    sources = [f"{number}. {escape_markdown(text)}" for text, number in numbers.items()]
    return "\n".join([table.markdown(), "Sources:", "", *sources, ""])


def cited(citation: Citation) -> str:
    """A source in one line: who, what, when, how it was read, where."""
    who = f"{citation.authors}: " if citation.authors else ""
    when = f" ({citation.year})" if citation.year else ""
    where = f" {citation.url}" if citation.url else ""
    return f"{who}{citation.title}{when}. {citation.evidence.capitalize()}: {citation.read}{where}"
