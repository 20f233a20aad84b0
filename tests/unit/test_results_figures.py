"""Pictures of published figures: places, differences, signs beside color, and what is said of them."""

from __future__ import annotations

from core.figures.results import Dot, Point, decimals, difference, dots, dots_alt, scaling, scaling_alt, signed
from core.theme import LIGHT

BASE = Dot("with both", 88.5, "88.5", "#0072B2", reference=True)
LESS = Dot("<b>left</b> to right", 77.8, "77.8", "#0072B2")
FROZEN = Dot("frozen", 88.5, "88.50", "#0072B2", hollow=True)


def test_a_difference_has_the_decimals_that_are_printed() -> None:
    assert difference(LESS, BASE) == "−10.7"
    assert difference(FROZEN, BASE) == "±0.00"
    assert signed(0.04, 1) == "±0.0"
    assert signed(1.45, 2) == "+1.45"
    assert decimals("88.5", "100", "3.99") == 2
    assert decimals() == 0


def test_rows_stand_in_order_with_their_figures_and_a_stroke_at_the_reference() -> None:
    figure = dots([BASE, LESS, FROZEN], "SQuAD 1.1, dev: F1 (points), higher is better", theme=LIGHT)
    notes = [note.text for note in figure.layout.annotations]
    assert notes[1:] == [
        "with both",
        "<b>88.5</b>",
        "&lt;b&gt;left&lt;/b&gt; to right",
        "<b>77.8 (−10.7)</b>",
        "frozen",
        "<b>88.50 (±0.00)</b>",
    ]
    assert [shape.x0 for shape in figure.layout.shapes] == [88.5] * 3
    top, bottom = figure.layout.yaxis.range
    assert top > bottom  # the first row is the upmost
    low, high = figure.layout.xaxis.range
    assert low < 77.8
    assert high > 88.5
    assert "circle-open" in figure.data[-1].marker.symbol
    assert "dot" in figure.data[0].marker.symbol
    joined = next(trace for trace in figure.data if trace.mode == "lines")
    assert list(joined.x) == [88.5, 77.8]


def test_two_versions_are_a_square_and_a_dot() -> None:
    row = Dot("DistilBERT", 51.3, "51.3", "#0072B2", before=42.5, before_printed="42.5")
    figure = dots([row], "CoLA", theme=LIGHT)
    assert [trace.marker.symbol for trace in figure.data if trace.mode == "markers"] == ["square-open", "circle"]
    assert figure.layout.annotations[2].text == "<b>42.5 → 51.3 (+8.8)</b>"
    assert "42.5 → 51.3 (+8.8)" in dots_alt([row], "CoLA")


POINTS = [
    Point("mT5", "small", 300_176_768, 75.6, "75.6"),
    Point("mT5", "xxl", 12_921_057_280, 90.7, "90.7"),
    Point("ByT5", "small", 299_072_512, 80.5, "80.5"),
    Point("ByT5", "xxl", 12_905_105_280, 90.1, "90.1"),
]


def test_series_differ_in_marker_and_dash_and_names_keep_apart() -> None:
    figure = scaling(POINTS, "GLUE", {"ByT5": "#009E73"}, theme=LIGHT)
    assert len({(trace.marker.symbol, trace.line.dash) for trace in figure.data}) == 2
    assert [trace.line.color for trace in figure.data] == ["#767676", "#009E73"]
    assert figure.data[0].textposition == ("bottom right", "top left")  # below ByT5 when small, above it at last
    assert figure.data[1].textposition == ("top left", "bottom right")
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.ticktext) == ["300 M", "1 B", "3 B", "10 B"]
    low, high = figure.layout.xaxis.range
    assert 10**low < 299_072_512
    assert 10**high > 12_921_057_280
    assert figure.layout.showlegend


def test_pictures_in_words() -> None:
    assert dots_alt([BASE, LESS], "SQuAD") == (
        "SQuAD, in brackets the difference from with both: with both 88.5; <b>left</b> to right 77.8 (−10.7)."
    )
    assert "mT5 small, 300 M parameters, 75.6" in scaling_alt(POINTS, "GLUE")
