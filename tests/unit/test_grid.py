"""A grid: one declaration of columns for the page and for the file."""

from __future__ import annotations

from unittest.mock import patch

from core.table import Table
from core.ui.grid import Column, Grid
from core.ui.tables import TextTable

ROWS = [("=a", 0.123456, 3), ("b", None, 2_000)]
COLUMNS: tuple[Column[tuple[str, float | None, int]], ...] = (
    Column("Text", lambda row: row[0], width=50),
    Column("Bits", lambda row: row[1], ".2f", 25, name="surprisal in bits"),
    Column("Of", lambda row: row[2], "{:,} in all".format, 25),
    Column("twice", lambda row: 2 * row[2]),
    Column("Open", lambda row: None, width=10, name="", cell=lambda row: f"open {row[0]}"),
)
GRID = Grid("Some texts", COLUMNS, ROWS)


def test_the_file_has_whole_numbers_and_no_formula() -> None:
    names = ("text", "surprisal in bits", "of", "twice")
    assert GRID.table == Table(names, (("=a", 0.123456, 3, 6), ("b", None, 2_000, 4_000)))
    assert '"\'=a"' in GRID.table.csv()


def test_the_page_has_them_rounded_numbers_flush_right_and_only_the_first_rows() -> None:
    with patch("core.ui.grid.text_table") as drawn, patch("core.ui.grid.download_csv") as offered:
        GRID.draw("texts", "key", of="all")
        GRID.draw(most=1)
    offered.assert_called_once_with(GRID.table, "texts", "key", of="all")
    rows = [("=a", "0.12", "3 in all", "open =a"), ("b", "–", "2,000 in all", "open b")]
    headings, widths = ("Text", "Bits", "Of", "Open"), (50, 25, 25, 10)
    assert drawn.call_args_list[0].args == (TextTable(headings, rows, "Some texts", widths, (1, 2)),)
    assert drawn.call_args_list[1].args[0].rows == rows[:1]
