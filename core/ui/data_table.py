"""A table that sorts, searches and opens full-screen, and its download: the only caller of ``st.dataframe``.

Streamlit's own toolbar would write the file in the browser, including spreadsheet formulas; the page's style hides
its button. What a visitor downloads here is written by :class:`core.table.Table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from core.table import Table
from core.ui.export import download_csv

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
        rows.records() if isinstance(rows, Table) else rows,
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
