"""The logit lens as pictures: numbers by hand."""

from __future__ import annotations

import math

import numpy as np

from core.attention.inside.lens import LayerPrediction, LensTrajectory
from core.figures import lens as figures
from core.theme import BLUE, DARK, LIGHT

WAY = LensTrajectory(
    (
        LayerPrediction(0, ("<b>a</b>", "b"), (0.75, 0.25), (7, 3)),
        LayerPrediction(1, ("c", "d"), (0.5, 0.3), (4, 5)),
        LayerPrediction(2, ("b", "a very long token"), (0.6, 0.00001), (3, 8)),
    ),
    "b",
    (0.25, 0.01, 0.6),
    (2, 40, 1),
    100,
    ("x", "y"),
    1,
)


def test_answers_are_written_and_the_final_one_is_framed() -> None:
    figure = figures.answers(WAY, BLUE, theme=LIGHT)
    heat = figure.data[0]
    np.testing.assert_allclose(heat.z, [[0.75, 0.25], [0.5, 0.3], [0.6, 0.00001]])
    assert figure.data[1].text[0] == "&lt;b&gt;a&lt;/b&gt;<br>75 %"
    assert figure.data[1].text[5] == "a very …<br>&lt;0.01 %"
    assert heat.customdata[2][1] == "a very long token"
    assert list(heat.y) == ["embeddings", "layer 1", "layer 2"]
    frames = [(shape.x0, shape.y0) for shape in figure.layout.shapes]
    assert frames == [(0.53, -0.45), (-0.47, 1.55)]  # after layer 1 it is not among the best


def test_the_way_is_two_lines() -> None:
    chance, place = figures.path(WAY, BLUE, theme=DARK).data
    assert list(chance.y) == [0.25, 0.01, 0.6]
    assert list(place.y) == [2, 40, 1]
    low, high = figures.path(WAY, BLUE, theme=LIGHT).layout.yaxis2.range
    assert low > math.log10(40)  # the axis is turned over: first place on top
    assert high < 0


def test_the_way_in_a_sentence() -> None:
    names = figures.layer_names(3)
    assert figures.path_words(WAY, names) == "It ranks first from layer 2 on; after layer 1 its rank is 40."
    first = LensTrajectory(WAY.predictions, "b", (1, 1, 1), (1, 1, 1), 100, ("x",), 0)
    assert figures.path_words(first, names) == "It ranks first from the embeddings on."
    early = LensTrajectory(WAY.predictions, "b", (0.1, 1, 1), (90, 1, 1), 100, ("x",), 0)
    assert figures.path_words(early, names) == "It ranks first from layer 1 on; after the embeddings its rank is 90."
