"""Learning curves in one picture: places of the names, signs beside color, and what is said of it."""

from __future__ import annotations

from math import log10

import pytest

from core.figures.curves import Line, curves_alt, learning_curves, value_at
from core.theme import LIGHT, mixed

ONE = Line("One", "encoder", (1_000, 10_000), (4.0, 2.0))
TWO = Line("Two", "decoder", (1_000, 10_000), (3.0, 2.0))
SHORT = Line("<b>Three</b>", "unknown", (1_000,), (4.0,))


def test_no_two_of_forty_two_lines_share_dash_and_marker() -> None:
    lines = [Line(f"Model {i}", "encoder", (10, 1_000), (2.0, 1.0)) for i in range(42)]
    figure = learning_curves(lines, "loss", theme=LIGHT)
    assert len({(trace.line.dash, trace.marker.symbol) for trace in figure.data}) == 42


def test_color_is_the_branch_and_a_few_lines_are_named_in_a_legend() -> None:
    figure = learning_curves([ONE, TWO, SHORT], "loss", log=True, theme=LIGHT)
    assert [trace.line.color for trace in figure.data] == ["#0072B2", "#D55E00", "#767676"]
    assert [trace.name for trace in figure.data] == ["One", "Two", "&lt;b&gt;Three&lt;/b&gt;"]
    assert figure.layout.showlegend
    assert not figure.layout.annotations


def test_of_many_lines_those_are_named_that_no_other_comes_near() -> None:
    together = [Line(f"Model {i}", "encoder", (1_000, 10_000), (4.0, 2.0 + i / 100)) for i in range(9)]
    far = Line("<b>Far</b>", "encoder", (1_000, 10_000), (9.0, 8.0))
    before = Line("Before", "encoder", (1_000, 9_000), (2.2, 2.2))  # a name here would lie on the ends of the others
    for log in (True, False):
        figure = learning_curves([*together, far, before], "loss", log=log, theme=LIGHT)
        (name,) = figure.layout.annotations
        assert name.text == "&lt;b&gt;Far&lt;/b&gt;"
        assert (name.x, name.y) == (log10(10_000) if log else 10_000, 8.0)
        assert not figure.layout.showlegend


def test_lines_of_one_branch_differ_in_shade_and_lean_towards_the_ink() -> None:
    assert mixed("#0072B2", "#000000", 0.0) == "#0072B2"
    assert mixed("#0072B2", "#000000", 0.5) == "#003959"
    assert mixed("#0072B2", "#FFFFFF", 1.0) == "#FFFFFF"
    figure = learning_curves([ONE, TWO, ONE, ONE, ONE], "loss", theme=LIGHT)
    colors = [trace.line.color for trace in figure.data]
    assert colors[:2] == ["#0072B2", "#D55E00"]
    assert len({colors[0], colors[2], colors[3]}) == 3
    assert colors[4] == colors[0]


def test_the_even_scale_begins_at_nothing() -> None:
    figure = learning_curves([ONE], "loss", log=False, theme=LIGHT)
    assert figure.layout.xaxis.type == "linear"
    assert figure.layout.xaxis.range == (0.0, pytest.approx(10_200))


def test_the_picture_in_words() -> None:
    said = curves_alt([ONE], "loss")
    assert said == "loss over the training tokens. One from 4 to 2 after 0.01 million tokens."


def test_a_value_between_two_measurements_is_on_the_straight_line() -> None:
    assert value_at(ONE, 1_000) == 4.0
    assert value_at(ONE, 10_000) == 2.0
    assert value_at(ONE, 5_500) == pytest.approx(3.0)  # halfway
    assert value_at(ONE, 3_250) == pytest.approx(3.5)  # a quarter of the way


def test_no_value_is_made_up_outside_what_was_measured() -> None:
    assert value_at(ONE, 999) is None
    assert value_at(ONE, 10_001) is None
    assert value_at(SHORT, 1_000) == 4.0


def test_the_tokens_that_are_compared_are_marked() -> None:
    (line,) = learning_curves([ONE, TWO], "loss", log=False, mark=5_500, theme=LIGHT).layout.shapes
    assert line.x0 == line.x1 == 5_500
    assert not learning_curves([ONE, TWO], "loss", theme=LIGHT).layout.shapes
