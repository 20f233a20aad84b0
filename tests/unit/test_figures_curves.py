"""Learning curves in one picture: places of the names, signs beside colour, and what is said of it."""

from __future__ import annotations

from itertools import pairwise
from math import log10

import pytest

from core.figures.curves import Line, curves_alt, learning_curves, short_name, spread, value_at
from core.theme import LIGHT, mixed

ONE = Line("One", "encoder", (1_000, 10_000), (4.0, 2.0))
TWO = Line("Two", "decoder", (1_000, 10_000), (3.0, 2.0))
SHORT = Line("<b>Three</b>", "unknown", (1_000,), (4.0,))


def test_names_that_do_not_touch_stay_where_they_want_to() -> None:
    assert spread([10.0, 50.0, 30.0], 15, 0, 100) == [10.0, 50.0, 30.0]


def test_names_that_touch_stand_around_their_mean() -> None:
    assert spread([50.0, 50.0], 20, 0, 100) == [40.0, 60.0]
    assert spread([52.0, 48.0, 50.0], 20, 0, 100) == [70.0, 30.0, 50.0]


def test_names_stay_inside() -> None:
    assert spread([0.0, 0.0], 20, 0, 100) == [0.0, 20.0]
    assert spread([100.0, 95.0], 20, 0, 100) == [100.0, 80.0]
    # a group that is pushed back from the edge takes its neighbour along
    assert spread([100.0, 100.0, 75.0], 20, 0, 100) == [80.0, 100.0, 60.0]


def test_without_room_the_gap_shrinks() -> None:
    assert spread([1.0, 2.0, 3.0], 100, 0, 10) == [0.0, 5.0, 10.0]
    assert spread([], 10, 0, 10) == []


def test_no_two_of_forty_two_lines_share_dash_and_marker() -> None:
    lines = [Line(f"Model {i}", "encoder", (10, 1_000), (2.0, 1.0)) for i in range(42)]
    figure = learning_curves(lines, "loss", theme=LIGHT)
    assert len({(trace.line.dash, trace.marker.symbol) for trace in figure.data}) == 42
    heights = sorted(note.ay + 0.0 for note in figure.layout.annotations)
    assert all(b - a == pytest.approx(17) for a, b in pairwise(heights))
    assert figure.layout.height >= 42 * 17


def test_colour_is_the_branch_and_a_name_stands_at_every_end() -> None:
    figure = learning_curves([ONE, TWO, SHORT], "loss", log=True, theme=LIGHT)
    assert [trace.line.color for trace in figure.data] == ["#0072B2", "#D55E00", "#767676"]
    notes = figure.layout.annotations
    assert [(note.x, note.y) for note in notes] == [(4.0, 2.0), (4.0, 2.0), (log10(1_000), 4.0)]
    assert notes[0].ay != notes[1].ay  # the same end, two places for the names
    assert notes[2].text == "&lt;b&gt;Three&lt;/b&gt;"
    assert notes[2].axref == "pixel"  # it ends long before the others: the name stands beside its end
    assert notes[0].axref == "x"


def test_lines_of_one_branch_differ_in_shade_and_lean_towards_the_ink() -> None:
    assert mixed("#0072B2", "#000000", 0.0) == "#0072B2"
    assert mixed("#0072B2", "#000000", 0.5) == "#003959"
    assert mixed("#0072B2", "#FFFFFF", 1.0) == "#FFFFFF"
    figure = learning_curves([ONE, TWO, ONE, ONE, ONE], "loss", theme=LIGHT)
    colours = [trace.line.color for trace in figure.data]
    assert colours[:2] == ["#0072B2", "#D55E00"]
    assert len({colours[0], colours[2], colours[3]}) == 3
    assert colours[4] == colours[0]


def test_the_even_scale_begins_at_nothing() -> None:
    figure = learning_curves([ONE], "loss", log=False, theme=LIGHT)
    assert figure.layout.xaxis.type == "linear"
    assert figure.layout.xaxis.range == (0.0, pytest.approx(10_200))
    assert figure.layout.annotations[0].x == 10_000


def test_long_names_are_cut_after_a_word() -> None:
    assert short_name("Atlas BERT") == "Atlas BERT"
    assert short_name("MiniLM with a masked-token head") == "MiniLM with a…"
    assert short_name("Antidisestablishmentarianism") == "Antidisestablishm…"


def test_the_picture_in_words() -> None:
    said = curves_alt([ONE], "loss")
    assert said == "loss over the tokens seen. One from 4 to 2 after 0.01 million tokens."


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
