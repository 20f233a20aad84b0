"""The numbers of a picture, as a table and as CSV."""

from __future__ import annotations

import csv
import io

import numpy as np

from core.attention.trace import AttentionMap
from core.figures.taken import MOST_COLUMNS, MOST_ROWS, Numbers, of_grids, of_head, of_map, of_matrix, of_records

WEIGHTS = np.array([[[[1.0, 0.0], [0.25, 0.75]]]], dtype=np.float32)
FOUND = AttentionMap("decoder", ("a", ","), ("a", ","), WEIGHTS, np.tri(2, dtype=np.bool_)[None, None])


def lines(found: Numbers) -> list[list[str]]:
    return list(csv.reader(io.StringIO(found.csv())))


def test_a_head_is_empty_where_nothing_was_computed() -> None:
    assert lines(of_head(FOUND, 0, 0)) == [["query \\ key", "a", ","], ["a", "1", ""], [",", "0.25", "0.75"]]


def test_a_map_is_one_weight_a_row() -> None:
    assert lines(of_map(FOUND))[1:] == [
        ["1", "1", "1", "a", "1", "a", "1"],
        ["1", "1", "2", ",", "1", "a", "0.25"],
        ["1", "1", "2", ",", "2", ",", "0.75"],
    ]


def test_grids_and_records_have_a_column_each() -> None:
    grid = np.array([[0.5, np.nan]], dtype=np.float32)
    assert lines(of_grids({"previous": grid, "first": grid + 1}))[1:] == [["1", "1", "0.5", "1.5"], ["1", "2", "", ""]]
    assert lines(of_records([{"x": 1, "y": None}, {"x": "two", "y": 2.0}])) == [["x", "y"], ["1", ""], ["two", "2"]]


def test_a_page_shows_what_it_has_room_for() -> None:
    long = Numbers(("n",), tuple((n,) for n in range(MOST_ROWS + 3)))
    assert long.shown()["rows"][-1] == [str(MOST_ROWS - 1)]
    assert long.shown()["more"] == 3
    wide = of_matrix("", ["a"], range(MOST_COLUMNS), np.zeros((1, MOST_COLUMNS)))
    assert wide.shown()["rows"] == []
    assert len(lines(wide)[0]) == MOST_COLUMNS + 1
