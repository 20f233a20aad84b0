"""Pictures of windows and buckets: what they draw is what they were given."""

from __future__ import annotations

import numpy as np

from core.figures import sparse
from core.sparse import windowed as window_layout
from core.theme import DARK, LIGHT


def test_a_sorted_text_has_every_byte_once_and_chunks_are_cut() -> None:
    order = np.array([1, 3, 0, 2, 4, 5])  # position 5 is filling
    figure = sparse.sorted_text(order, np.array([1, 0, 1, 0, 2]), list("abcde"), 2, 2, theme=LIGHT)
    dots = figure.data[0]
    assert list(dots.x) == [0, 1, 2, 3, 4]
    assert list(dots.y) == [1, 3, 0, 2, 4]
    assert dots.customdata[2] == "a at 0, bucket 1"
    lines = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert [line.x0 for line in lines] == [1.5, 3.5]
    shaded = sorted(shape.x0 for shape in figure.layout.shapes if shape.type == "rect")
    assert shaded == [-0.5, 1.5]  # position 2 is in the second chunk; it sees the first, too


def test_meetings_leave_the_future_empty() -> None:
    figure = sparse.meetings(np.array([[0.5, 0.0], [1.0, 0.25]]), 4, theme=DARK)
    z = np.array(figure.data[0].z)
    assert np.isnan(z[0, 1])
    assert z[1, 0] == 1
    assert list(figure.data[0].x) == [2, 6]


def test_lines_carry_their_rows() -> None:
    rows = [(1, 0.2, 0.5, 0.1), (8, 0.7, 0.9, 0.6)]
    figure = sparse.rounds(rows, theme=LIGHT)
    assert [list(line.y) for line in figure.data] == [[0.2, 0.7], [0.5, 0.9], [0.1, 0.6]]
    assert len({(line.line.dash, line.marker.symbol) for line in figure.data}) == 3
    assert list(sparse.bits_by_length([256, 512], [2.0, 1.9], theme=LIGHT).data[0].y) == [2.0, 1.9]
    grown = sparse.score_counts([2, 4], [4, 16], [("1 round", [3, 6])], theme=LIGHT)
    assert [line.name for line in grown.data] == ["full attention", "1 round"]


def test_a_cost_curve_may_be_called_by_its_own_name() -> None:
    costs = [window_layout.cost(n, 4, (0,)) for n in (8, 16)]
    figure = sparse.cost_curve(costs, 8, "window", theme=LIGHT)
    assert {line.name for line in figure.data} == {"full attention", "window attention"}
    assert set(sparse.cost_table(costs)[0]) == {"Tokens", "Full", "Sparse", "Window", "Global", "Sparse share (%)"}
    kinds = window_layout.kinds(16, 4, (0,), 2)
    assert [t.name for t in sparse.pattern(kinds, 2, listed=(1, 2), theme=LIGHT).data if t.name] == ["window", "global"]
