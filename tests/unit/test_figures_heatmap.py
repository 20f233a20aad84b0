"""Numbers in the cells of heat maps: what color they have, and where they stand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest

from core.figures.attention import score_grid
from core.figures.heatmap import inks
from core.figures.vectors import strips
from core.theme import BLACK, DARK, LIGHT, WHITE, Scale, mixed


def contrast(ink: str, ground: np.ndarray) -> float:
    parts = ground / 255
    light = float(
        np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
    )
    return 1.05 / (light + 0.05) if ink == "#ffffff" else (light + 0.05) / 0.05


@pytest.mark.parametrize("scale", [LIGHT.amounts, LIGHT.differences, DARK.amounts, DARK.differences])
def test_a_number_can_be_read_anywhere_on_the_scale(scale: Scale) -> None:
    for (low, color), (high, other) in pairwise(scale):
        values = np.linspace(low, high, 21)
        found = inks(values[None], scale, 0.0, 1.0)[0].tolist()
        assert {BLACK, WHITE} >= set(found)
        for share, ink in zip(np.linspace(0, 1, 21), found, strict=True):
            mix = mixed(color, other, float(share))
            ground = np.array([int(mix[i : i + 2], 16) for i in (1, 3, 5)])
            assert contrast(ink, ground) >= 4.5


def test_the_ends_of_a_scale_by_hand() -> None:
    assert inks(np.array([[-3.0, 2.0, 10.0, 17.0]]), [(0.0, BLACK), (1.0, WHITE)], 2.0, 10.0).tolist() == [
        ["#ffffff", "#ffffff", "#000000", "#000000"]
    ]


def test_texts_stand_in_their_cells_and_do_not_widen_the_picture() -> None:
    figure = strips(
        np.array([[0.1, np.nan, 0.3], [0.4, 0.5, 0.6]], np.float32), ["a", "b"], ["1", "2", "3"], theme=LIGHT
    )
    texts = figure.data[1]
    places = dict(zip(zip(texts.x, texts.y, strict=True), texts.text, strict=True))
    assert places == {(0, 0): "0.10", (1, 0): "", (2, 0): "0.30", (0, 1): "0.40", (1, 1): "0.50", (2, 1): "0.60"}
    assert figure.layout.xaxis.range == (-0.5, 2.5)
    assert figure.layout.yaxis.range == (1.5, -0.5)
    assert isinstance(figure.data[0], go.Heatmap)


def test_many_numbers_beside_each_other_leave_out_every_second_name() -> None:
    values = np.zeros((1, 16), np.float32)
    numbers = [str(i + 1) for i in range(16)]
    assert strips(values, ["a"], numbers, theme=LIGHT).layout.xaxis.ticktext == tuple(numbers[::2])
    assert strips(values[:, :12], ["a"], numbers[:12], theme=LIGHT).layout.xaxis.ticktext == tuple(numbers[:12])
    assert len(strips(values, ["a"], [f"w{i}" for i in range(16)], theme=LIGHT).layout.xaxis.ticktext) == 16


def test_every_row_that_has_room_has_its_name() -> None:
    values, names = np.zeros((60, 3), np.float32), [f"w{i}" for i in range(60)]
    assert strips(values, names, ["a", "b", "c"], theme=LIGHT).layout.yaxis.ticktext == tuple(names)
    assert len(strips(values, names, ["a", "b", "c"], row_height=5, theme=LIGHT).layout.yaxis.ticktext) == 5


def test_scores_of_heads_are_written_in_percent_where_there_is_room() -> None:
    grid = np.array([[0.074, 0.5], [np.nan, 1.0]], np.float32)
    assert list(score_grid(grid, "x", theme=LIGHT).data[1].text) == ["7", "50", "", "100"]
    assert len(score_grid(np.zeros((2, 17), np.float32), "x", theme=LIGHT).data) == 1
