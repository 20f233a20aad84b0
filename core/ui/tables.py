"""Tables: one that sorts, searches and opens full-screen, and small ones in the page's own text.

The first is the only caller of ``st.dataframe``. Streamlit's own toolbar would write the file in the browser, including
spreadsheet formulas; the page's style hides its button. What a visitor downloads here is written by
:class:`core.table.Table`.

Streamlit's tables are canvases or scroll sideways. A small table is readable by machines and at 400 pixels, where each
row becomes a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from core.table import Table
from core.ui.export import download_csv
from core.ui.page import css

Rows = Table | Sequence[Mapping[str, Any]]
"""A table, or rows with the same columns."""


def data_table(
    rows: Rows | Mapping[str, Sequence[Any]],
    name: str | None,
    *,
    alt: str,
    key: str = "",
    height: int | None = None,
    column_config: Mapping[str, Any] | None = None,
    column_order: Sequence[str] | None = None,
    **select: Any,
) -> None:
    """Draw rows, or columns by their names, and offer them as ``atlas-NAME.csv`` at the foot of the page.

    Args:
        name: None if the caller offers a download of the same numbers.
        alt: the table's text alternative; plain text.
        key: needed if a page has several tables of this name.
        select: what a click on a row does, as :func:`streamlit.dataframe` takes it.
    """
    st.dataframe(
        rows.keyed() if isinstance(rows, Table) else rows,
        hide_index=True,
        key=key or None,
        height=height or "auto",
        column_config=column_config,
        column_order=column_order,
        alt=alt,
        **select,
    )
    if name is not None:
        table = _table(rows)
        download_csv(lambda: table, name, f"{key or name}.csv")


def _table(rows: Rows | Mapping[str, Sequence[Any]]) -> Table:
    if isinstance(rows, Table):
        return rows
    if isinstance(rows, Mapping):
        return Table(tuple(rows), tuple(zip(*rows.values(), strict=True)))
    return Table.from_records(rows)


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a view of the app. ``href`` comes from the program, never from a visitor."""

    text: str
    href: str
    tip: str = ""
    """The tooltip."""


@dataclass(frozen=True, slots=True)
class Rich:
    """A text with links and marks."""

    parts: tuple[str | Link | Mark | Code | Rich, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A highlighted text."""

    part: str | Rich


@dataclass(frozen=True, slots=True)
class Code:
    """A name of the code, such as the path of a module; it may break after each dot."""

    text: str


Part = str | Link | Rich | Mark | Code
Cell = Part | tuple[Part, ...]
"""A text, or a text and smaller remarks below it ("" for no text). Never HTML: everything is escaped here."""
TableRow = tuple[Cell, ...]

STYLE = css("text-table")


@dataclass(frozen=True, slots=True)
class TextTable:
    """Headings, rows of equally many cells, and a caption for screen readers.

    ``widths`` are percentages; ``numeric`` the columns set flush right in tabular figures. ``below`` holds for
    each row a smaller text below it over the whole width, or nothing.
    """

    headings: tuple[str, ...]
    rows: Sequence[TableRow]
    caption: str
    widths: tuple[int, ...]
    numeric: tuple[int, ...] = ()
    below: Sequence[tuple[Part, ...]] = ()


def text_table(content: TextTable) -> None:
    st.html(STYLE + html(content))


def html(content: TextTable) -> str:
    """The table as HTML with every text escaped. The first cell of a row is its heading."""
    columns = "".join(f'<col style="width:{width}%">' for width in content.widths)
    head = "".join(
        f'<th scope="col"{_number(content, i)}>{escape(text)}</th>' for i, text in enumerate(content.headings)
    )
    below = content.below or [()] * len(content.rows)
    body = "".join(
        f"<tr>{''.join(_cell(content, i, cell) for i, cell in enumerate(row))}</tr>{_below(content, parts)}"
        for row, parts in zip(content.rows, below, strict=True)
    )
    return (
        f'<table class="atlas-table"><caption>{escape(content.caption)}</caption><colgroup>{columns}</colgroup>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(content: TextTable, index: int, cell: Cell) -> str:
    text, *remarks = cell if isinstance(cell, tuple) else (cell,)
    inner = inline(text) + "".join(f"<small>{remark}</small>" for remark in map(inline, remarks) if remark)
    if index == 0:
        return f'<th scope="row">{inner}</th>'
    return f'<td data-h="{escape(content.headings[index])}"{_number(content, index)}>{inner}</td>'


def _below(content: TextTable, parts: tuple[Part, ...]) -> str:
    lines = "".join(f"<small>{part}</small>" for part in map(inline, parts) if part)
    return f'<tr class="below"><td colspan="{len(content.headings)}">{lines}</td></tr>' if lines else ""


def inline(part: Part) -> str:
    """A part as HTML, escaped."""
    if isinstance(part, Rich):
        return "".join(map(inline, part.parts))
    if isinstance(part, Code):
        return f"<code>{escape(part.text).replace('.', '.<wbr>')}</code>"
    if isinstance(part, Mark):
        return f"<mark>{inline(part.part)}</mark>"
    if isinstance(part, Link):
        title = f' title="{escape(part.tip)}"' if part.tip else ""
        return f'<a href="{escape(part.href)}"{title}>{escape(part.text)}</a>'
    return escape(part)


def _number(content: TextTable, index: int) -> str:
    return ' class="n"' if index in content.numeric else ""
