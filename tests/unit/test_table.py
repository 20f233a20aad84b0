"""Tables as CSV that no spreadsheet runs, and as a plain page; nothing else in the app writes either."""

from __future__ import annotations

import csv
import io
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import core
from core.settings import ASSETS
from core.table import FORMULA_PREFIXES, Cell, Table
from core.ui.export import MAX_COLUMNS, MAX_ROWS, begin_downloads, component_data, download, heading, html_page
from core.ui.tables import Link, TextTable, html

CORE = Path(core.__file__).parent


def lines(table: Table) -> list[list[str]]:
    return list(csv.reader(io.StringIO(table.csv(), newline="")))


@pytest.mark.parametrize("prefix", FORMULA_PREFIXES)
def test_a_text_that_a_spreadsheet_would_run_gets_an_apostrophe(prefix: str) -> None:
    text = f'{prefix}HYPERLINK("http://x","y")'
    assert lines(Table((text, "b"), ((1, text), (2, "plain")))) == [
        [f"'{text}", "b"],
        ["1", f"'{text}"],
        ["2", "plain"],
    ]


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        (None, ""),
        (math.nan, ""),
        (np.float32(math.nan), ""),
        (0, "0"),
        (109_482_240, "109482240"),
        (np.int64(7), "7"),
        (True, "True"),
        (np.bool_(False), "False"),
        (0.25, "0.25"),
        (-1.5, "-1.5"),
        (np.float32(-0.1), "-0.1"),
        (1 / 3, "0.333333"),
        (1.5e-9, "1.5e-09"),
        (-123456.78, "-123457"),
        (1234567.5, "1234567.5"),
        (3.14e23, "3.14e+23"),
        (-math.inf, "-inf"),
        ("", ""),
        ("a,b", "a,b"),
        ('say "x"', 'say "x"'),
        ("two\nlines", "two\nlines"),
        ("é", "é"),
        (" =1", " =1"),
        ("0 =1+1", "0 =1+1"),
        ("-12.5", "-12.5"),
        ("+3", "+3"),
        ("-.5e-3", "-.5e-3"),
        ("-1-1", "'-1-1"),
        ("+1\n", "'+1\n"),
        ("-٣", "'-٣"),
        ("-", "'-"),
        ("=", "'="),
        ("@[email]", "'@[email]"),
    ],
)
def test_a_cell_reads_back(cell: Cell, written: str) -> None:
    assert lines(Table(("x", "y"), ((cell, "end"),)))[1] == [written, "end"]


@pytest.mark.parametrize("text", ["a\r=1+1", "a;=1+1", "a\n=1+1", 'a",=1+1', "a,=1+1"])
def test_no_reader_ends_a_cell_inside_a_text(text: str) -> None:
    written = Table(("x",), ((text,), (2,))).csv()
    assert written.split('"\n"')[1:] == [text.replace('"', '""'), '2"\n'], "each cell stands in quotation marks"
    assert lines(Table(("x",), ((text,),)))[1] == [text]


def test_records_name_the_columns() -> None:
    assert Table.from_records([{"x": 1, "y": None}, {"y": 2.0, "x": "two"}]) == Table(
        ("x", "y"), ((1, None), ("two", 2.0))
    )
    assert Table.from_records([]).csv() == ""
    assert Table(("x",), ()).csv() == '"x"\n'


def test_cells_without_a_column_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 2 cells: a, b"):
        Table(("a", "b"), ((1, 2), (1,)))
    with pytest.raises(ValueError, match="do not share the columns a"):
        Table.from_records([{"a": 1}, {"b": 1}])


def test_the_head_of_a_long_table_and_of_a_wide_one() -> None:
    table = Table(("n", "m"), tuple((n, n) for n in range(5)))
    assert table.head(2, 2) == Table(("n", "m"), ((0, 0), (1, 1)))
    assert table.head(2, 1) == Table((), ())


def test_every_table_of_a_figure_and_the_buttons_of_drawings_are_in_one_menu() -> None:
    pages = [*(ASSETS / "components").rglob("*.html")]
    named = {path for path in (*CORE.rglob("*.py"), *pages) if re.search('[">]As a table', path.read_text("utf-8"))}
    assert named == {CORE / "ui/panel.py"}
    for page in pages:  # the menu presses what is hidden in a drawing
        buttons = re.findall("<button[^>]*>Download ", page.read_text("utf-8"))
        assert page.parent.name == "export" or all(" hidden" in button for button in buttons), page


def test_what_a_page_offers_stands_in_its_menu_by_key() -> None:
    files = begin_downloads()
    download("HTML", "<p>", "stem", "key")
    download("CSV", "a", "stem", "other")
    assert list(files) == ["key", "other"]


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


def test_what_stands_in_a_cell_stays_text() -> None:
    bad = "</table><script>alert(1)</script>&\"'"
    made = html(TextTable((bad, bad), [(bad, (bad, bad))], caption=bad, widths=(50, 50)))
    tags = _Tags()
    tags.feed(made)
    assert "script" not in tags.seen
    assert tags.seen.count("table") == 1
    assert made.count("&lt;script&gt;") == 7  # 2 headings, 3 texts, 1 label for narrow screens, 1 caption


def test_rows_have_a_heading_and_cells_carry_their_columns_name() -> None:
    table = TextTable(("A", "B"), [("x", "1"), ("y", ("2", "two"))], caption="c", widths=(50, 50), numeric=(1,))
    made = html(table)
    assert made.count('<th scope="row">') == 2
    assert made.count('<th scope="col"') == 2
    assert '<td data-h="B" class="n">2<small>two</small></td>' in made


def test_a_link_is_escaped_and_what_stands_below_spans_the_row() -> None:
    link = Link("<i>", 'encoder?a="b"&c=d')
    table = TextTable(
        ("A", "B"), [("x", (link, "r", "s")), ("y", "2")], caption="c", widths=(5, 5), below=[("<u>",), ()]
    )
    made = html(table)
    assert '<a href="encoder?a=&quot;b&quot;&amp;c=d">&lt;i&gt;</a><small>r</small><small>s</small>' in made
    assert made.count('<tr class="below"><td colspan="2"><small>&lt;u&gt;</small></td></tr>') == 1


NASTY = "</title><script>alert(1)</script> & \"x\" 'y' <b>"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_downloaded_page_has_what_was_drawn_and_runs_nothing(theme: str) -> None:
    page = html_page(NASTY, [heading(NASTY), "<p>drawn</p>"], theme)
    assert page.startswith("<!doctype html>")
    assert "<p>drawn</p>" in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert f"color-scheme:{theme}" in page
    assert heading("") == ""


def test_a_chart_sends_its_table_whole_as_csv_and_its_head_for_the_page() -> None:
    long = Table(("n", "=t"), tuple((n, "=1+1") for n in range(MAX_ROWS + 3)))
    data = component_data("chart", "stem", NASTY, "alt", long)
    assert data["table"]["rows"][-1] == [str(MAX_ROWS - 1), "=1+1"]
    assert data["table"]["more"] == 3
    assert data["csv"] == '"n","\'=t"\n' + "".join(f'"{n}","\'=1+1"\n' for n in range(MAX_ROWS + 3))
    assert data["name"] == "atlas-stem"
    wide = Table(tuple(map(str, range(MAX_COLUMNS + 1))), ())
    assert component_data("chart", "stem", "title", "alt", wide)["table"]["columns"] == []
    assert component_data("chart", "stem", "title", "alt", None)["csv"] == ""
