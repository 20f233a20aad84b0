"""Figures that no test of their own draws: each is drawn in both themes, small, and keeps a visitor's text as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from core.figures import attention, costs, heads, lines, masks, vectors, vocabulary
from core.theme import BLUE, DARK, LIGHT, Theme

EVIL = "<b>&"
NAMES = ["a", EVIL, "c"]
SEEN = np.tri(3, dtype=np.bool_)
LEVELS = np.array([[0, -1, -1], [1, 0, -1], [2, 1, 0]], np.int16)
POINTS = [vectors.Point(0.0, 1.0, "1", EVIL, ("the", EVIL, "end")), vectors.Point(1.0, 0.5, "2", "", ("a", "b", "c"))]
BARS = [costs.Bar(EVIL, (("weights", 2e9), ("activations", 1e9)), chosen=True), costs.Bar("b", (("in all", 5e9),))]
DRAWN: dict[str, Callable[[Theme], Any]] = {
    "mask": lambda theme: masks.mask_map(SEEN, NAMES, NAMES, BLUE, of="causal", theme=theme),
    "small mask": lambda theme: masks.mask_map(SEEN, NAMES, NAMES, BLUE, small=True, theme=theme),
    "levels": lambda theme: masks.levels_map(LEVELS, NAMES, NAMES, 2, 1, theme=theme),
    "growing": lambda theme: masks.growing_map(LEVELS[2], EVIL, NAMES, 3, BLUE, theme=theme),
    "epochs": lambda theme: masks.epoch_map(np.eye(12, 3, dtype=np.bool_), NAMES, BLUE, here=2, theme=theme),
    "plane": lambda theme: vectors.plane(POINTS, ("one", "two"), theme=theme),
    "cosines": lambda theme: vectors.cosines(np.eye(3), NAMES, theme=theme),
    "effects": lambda theme: attention.effect_grid(np.ones((2, 3), np.float32), [(0, 1)], BLUE, theme=theme),
    "score parts": lambda theme: attention.score_map(np.eye(3, dtype=np.float32), NAMES, 1, 2.0, theme=theme),
    "sharpness": lambda theme: heads.sharp_and_idle(["x"], [0.5], [0.1], BLUE, theme=theme),
    "lines": lambda theme: lines.line_chart(
        [lines.Line(EVIL, [0, 1], [0.5, None], BLUE, spread=[0.1, 0.1])], "cosine", NAMES, theme=theme
    ),
    "held": lambda theme: costs.held_bars(BARS, 4e9, limit_name=EVIL, theme=theme),
    "cache": lambda theme: costs.cache_lines([costs.Growth(EVIL, (1, 10), (1e3, 1e4))], 5, theme=theme),
    "hours": lambda theme: costs.hours_bars(NAMES, [1.0, 2.0, 3.0], ["1 h", "2 h", "3 h"], EVIL, theme=theme),
    "vocabulary": lambda theme: vocabulary.growth([(1, 50.0), (2, 40.0)], [(1, 60.0)], 2, theme=theme),
}


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("what", DRAWN)
def test_it_is_drawn_and_text_stays_text(what: str, theme: Theme) -> None:
    figure = DRAWN[what](theme)
    json = figure.to_json()
    assert figure.layout.height
    assert '<b>&"' not in json.replace("&lt;b&gt;&amp;", "")
    assert theme.ground in json


def test_what_is_allowed_has_a_dot_and_says_so() -> None:
    (cells,) = masks.mask_map(SEEN, NAMES, NAMES, BLUE, theme=LIGHT).data
    assert [[cell == "●" for cell in row] for row in cells.text] == SEEN.tolist()
    assert cells.customdata[1][0] == "&lt;b&gt;&amp; attends to a"
    assert cells.customdata[0][1] == "a cannot attend to &lt;b&gt;&amp;"


def test_levels_stand_in_their_cells_and_blanks_are_blank() -> None:
    figure = masks.levels_map(LEVELS, NAMES, NAMES, 1, 2, theme=DARK)
    assert list(figure.data[1].text) == ["0", "", "", "1", "0", "", "", "1", "0"]
    assert np.isnan(figure.data[0].z[2][0])  # two layers are more than one
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (1.5, 2.5)


def test_an_epoch_is_framed() -> None:
    figure = masks.epoch_map(np.eye(12, 3, dtype=np.bool_), NAMES, BLUE, here=2, theme=LIGHT)
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (0.5, 1.5)
    assert figure.layout.yaxis.ticktext == ("1", "10")
    assert figure.data[0].customdata[1][1] == "epoch 2, &lt;b&gt;&amp;: predicted"
