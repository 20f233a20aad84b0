"""What is downloaded: a page without scripts, a chart's table, the circle of points as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from core.table import Table
from core.theme import LIGHT, VERMILION
from core.ui.export import MAX_COLUMNS, MAX_ROWS, component_data, heading, html_page
from core.ui.objectives.circle import RADIUS, Key, Point, circle_svg

NASTY = "</title><script>alert(1)</script> & \"x\" 'y' <b>"
SPACE = "{http://www.w3.org/2000/svg}"


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


def drawn(*points: Point, ties: tuple[tuple[int, int], ...] = ()) -> ElementTree.Element:
    return ElementTree.fromstring(circle_svg(points, ties, [Key(NASTY, "square", VERMILION)], NASTY, LIGHT))


def test_points_stand_at_their_angles_and_texts_stay_text() -> None:
    root = drawn(
        Point(NASTY, "1", 0, 0.0, "circle", "#0072B2"),
        Point("up", "2", 90, 30.0, "triangle", "#D55E00", 1),
        ties=((0, 1),),
    )
    places = [g.get("transform") for g in root.findall(f"{SPACE}g")]
    assert places[:2] == [f"translate({RADIUS}.0 -0.0)", f"translate(0.0 -{RADIUS}.0)"]
    assert root.get("aria-label") == NASTY
    assert root.findall(f"{SPACE}g/{SPACE}title")[0].text == f"{NASTY}, 0°"
    assert not list(root.iter(f"{SPACE}script"))
    (tie,) = root.findall(f"{SPACE}line")
    assert float(tie.get("x1", 0)) == RADIUS
    # one arrow: the point that is not pulled has none
    assert len(root.findall(f"{SPACE}path")) == 2


def test_an_arrow_goes_with_its_pull() -> None:
    for pull, sweep in ((30.0, "0"), (-30.0, "1")):
        arc = drawn(Point("p", "1", 0, pull, "circle", "#0072B2")).findall(f"{SPACE}path")[0].get("d", "")
        words = arc.replace("A", " ").split()
        assert words[6] == sweep
        assert (float(words[8]) < 0) is (pull > 0)  # against the clock is up, where y falls
