"""The big table to take away: as CSV with sources in a column beside each property, as Markdown with numbered ones."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from core.anatomy.sheet import COLUMNS, SheetRow
from core.catalogue import Citation


def csv_text(rows: Sequence[SheetRow], columns: Sequence[str]) -> str:
    """One line a system; after each property a column that names its sources and how they were read."""
    headings = {column.slug: column.heading for column in COLUMNS}
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow([text for slug in columns for text in (headings[slug], f"{headings[slug]}: read in")])
    for row in rows:
        cells = [row.cells[slug] for slug in columns]
        writer.writerow([text for cell in cells for text in (cell.text, "; ".join(map(cited, cell.citations)))])
    return held.getvalue()


def markdown(rows: Sequence[SheetRow], columns: Sequence[str]) -> str:
    """A table whose cells carry numbers, and the list of sources that the numbers stand for."""
    headings = {column.slug: column.heading for column in COLUMNS}
    numbers: dict[str, int] = {}
    lines = [_line([headings[slug] for slug in columns]), _line(["---"] * len(columns))]
    for row in rows:
        texts = []
        for slug in columns:
            cell = row.cells[slug]
            marks = [f"[{numbers.setdefault(cited(one), len(numbers) + 1)}]" for one in cell.citations]
            texts.append(" ".join([_escaped(cell.text), *dict.fromkeys(marks)]))
        lines.append(_line(texts))
    sources = [f"{number}. {_escaped(text)}" for text, number in numbers.items()]
    return "\n".join([*lines, "", "Sources:", "", *sources, ""])


def cited(citation: Citation) -> str:
    """A source in one line: who, what, when, how it was read, where."""
    who = f"{citation.authors}: " if citation.authors else ""
    when = f" ({citation.year})" if citation.year else ""
    where = f" {citation.url}" if citation.url else ""
    return f"{who}{citation.title}{when}. {citation.evidence.capitalize()}: {citation.read}{where}"


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _escaped(text: str) -> str:
    for mark in "\\|[]*_<>`":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
