"""Figures for a lecture hall: their type and what is measured in pixels, and names that would overlap."""

from __future__ import annotations

import numpy as np
import pytest

from core.figures.enlarge import SCREEN, TYPE, WHOLE, enlarged
from core.figures.heatmap import heat_map
from core.figures.heatmap import tokens as names_of
from core.figures.plot import BELOW, figure, scatter
from core.theme import LIGHT


def test_type_and_marks_grow_and_values_do_not() -> None:
    small = figure(
        LIGHT,
        [
            scatter([10, 20], [2, 3], "markers+text", text=["a", "b"], marker={"size": 10}, textfont={"size": 9}),
            {"type": "bar", "x": [1, 2], "y": [3, 4], "width": 0.5},
        ],
        height=200,
    )
    large = enlarged(small)
    assert (large.data[0].textfont.size, large.layout.template.layout.font.size) == (TYPE, TYPE)
    assert large.data[0].marker.size == pytest.approx(10 * TYPE / 13)
    assert (list(large.data[0].x), large.data[1].width) == ([10, 20], 0.5)
    assert large.layout.height == pytest.approx(200 * TYPE / 13)
    assert small.data[0].textfont.size == 9, "the figure itself stays as it is"


def test_a_picture_ends_with_the_screen_unless_its_rows_have_names() -> None:
    tall = figure(LIGHT, [scatter([1], [2], "markers")], height=900)
    rows = [f"row {number}" for number in range(30)]
    bars = figure(LIGHT, [{"type": "bar", "orientation": "h", "x": list(range(30)), "y": rows}], height=900)
    assert enlarged(tall).layout.height == SCREEN
    square = figure(LIGHT, [scatter([1], [2], "markers")], height=900, yaxis={"scaleanchor": "x"})
    assert enlarged(square).layout.height == WHOLE
    assert enlarged(bars).layout.height >= 30 * TYPE


@pytest.mark.parametrize("count", [17, 30])
def test_every_row_of_a_map_is_named(count: int) -> None:
    tokens = [f"token {number}" for number in range(count)]
    drawn = enlarged(heat_map(np.eye(count), names_of(tokens), names_of(tokens), LIGHT, height=430))
    down = drawn.layout.yaxis
    assert drawn.layout.height >= count * TYPE
    assert down.dtick == 1 if down.tickvals is None else len(down.tickvals) == count


def test_numbers_past_the_longest_bar_have_room_and_stay_large() -> None:
    bars = {"type": "bar", "orientation": "h", "x": [1, 9], "y": ["a", "b"], "text": ["1 hour", "9 hours"]}
    large = enlarged(figure(LIGHT, [bars], height=200))
    assert large.layout.margin.r >= 4 * TYPE
    assert (large.data[0].constraintext, large.data[0].cliponaxis) == ("none", False)


def test_notes_side_by_side_break_and_their_rows_stay_apart() -> None:
    rows, words = range(8), "two or three words"
    notes = [
        {"text": f"{words}<br><span style='font-size:11px'>1</span>", "x": x, "y": y} for x in range(6) for y in rows
    ]
    large = enlarged(figure(LIGHT, [scatter([0, 5], [0, 7], "markers")], height=900, annotations=notes)).layout
    assert large.annotations[0].text.startswith("two or<br>three<br>words<br>")
    assert f"font-size:{TYPE}px" in large.annotations[0].text
    assert large.height >= len(rows) * 4 * TYPE


def test_a_legend_below_the_picture_leaves_the_title_of_the_axis_its_room() -> None:
    lines = [scatter([1, 2], [1, 2], "lines", name=f"a line with a long name {number}") for number in range(6)]
    large = enlarged(
        figure(LIGHT, lines, height=380, legend=BELOW, yaxis={"title": {"text": "a long title, upwards " * 2}})
    )
    rows = 3
    picture = large.layout.height - rows * 34 - 100
    assert -large.layout.legend.y * picture == pytest.approx(100, abs=1)
    assert "<br>" in large.layout.yaxis.title.text
