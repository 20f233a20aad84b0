"""What is taken away: a page without scripts, rows that no spreadsheet computes, the circle of points as SVG."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree

import pytest

from core.ui.objectives.circle import Key, Point
from core.ui.objectives.circle_svg import RADIUS, circle_svg
from core.ui.saved import as_csv, heading, page_of

NASTY = "</title><script>alert(1)</script> & \"x\" 'y' <b>"
SPACE = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_saved_page_has_what_was_drawn_and_runs_nothing(theme: str) -> None:
    page = page_of(NASTY, [heading(NASTY), "<p>drawn</p>"], theme)
    assert page.startswith("<!doctype html>")
    assert "<p>drawn</p>" in page
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert f"color-scheme:{theme}" in page
    assert heading("") == ""


def test_rows_keep_their_numbers_and_formulas_stay_text() -> None:
    rows = list(csv.reader(io.StringIO(as_csv([{"token": "=1+1", "nats": 0.25}, {"token": "a,b", "nats": -1.0}]))))
    assert rows == [["token", "nats"], ["'=1+1", "0.25"], ["a,b", "-1.0"]]
    assert as_csv([]) == ""


def drawn(*points: Point, ties: tuple[tuple[int, int], ...] = ()) -> ElementTree.Element:
    return ElementTree.fromstring(circle_svg(points, ties, [Key(NASTY, "square", "#D55E00")], NASTY))


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
