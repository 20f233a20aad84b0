"""What is downloaded: a page without scripts, a chart's table."""

from __future__ import annotations

import pytest

from core.table import Table
from core.ui.export import MAX_COLUMNS, MAX_ROWS, component_data, heading, html_page

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
    data = component_data("chart", "stem", NASTY, "alt", lambda: long)
    assert data["table"]["rows"][-1] == [str(MAX_ROWS - 1), "=1+1"]
    assert data["table"]["more"] == 3
    assert data["csv"] == "n,'=t\n" + "".join(f"{n},'=1+1\n" for n in range(MAX_ROWS + 3))
    assert data["name"] == "atlas-stem"
    wide = Table(tuple(map(str, range(MAX_COLUMNS + 1))), ())
    assert component_data("chart", "stem", "title", "alt", lambda: wide)["table"]["columns"] == []
    assert component_data("chart", "stem", "title", "alt", None)["csv"] == ""
