"""Pictures of the contrastive matrix and of soft targets: numbers, tables and words as given; text is escaped."""

from __future__ import annotations

import numpy as np

from core.figures.predictions import compared_alt, compared_bars
from core.figures.vectors import pair_matrix, pair_table, pair_words
from core.theme import LIGHT

VALUES = np.array([[1.0, -0.5], [0.25, 0.75]])
WANTED = np.eye(2, dtype=np.bool_)


def test_every_cell_has_its_number_and_every_pair_its_frame() -> None:
    figure = pair_matrix(VALUES, ["a", "<b>"], ["c", "d"], WANTED, cosines=True, theme=LIGHT)
    assert list(figure.data[1].text) == ["1.00", "-0.50", "0.25", "0.75"]
    assert len(figure.layout.shapes) == 2
    assert figure.layout.yaxis.ticktext == ("a", "&lt;b&gt;")
    assert figure.data[0].zmin == -1
    assert pair_matrix(VALUES, ["a", "b"], ["c", "d"], WANTED, cosines=False, theme=LIGHT).data[0].zmin == 0


def test_the_table_and_the_words_beside_the_matrix() -> None:
    rows = pair_table(VALUES, VALUES / 2, ["a", "b"], ["c", "d"], WANTED)
    assert rows[1] == {"one": "a", "other": "d", "cosine": -0.5, "probability": -0.25, "belong together": "no"}
    said = pair_words(VALUES, WANTED, "Cosines")
    assert "0.88 on average for those that belong together" in said  # (1 + 0.75) / 2 = 0.875
    assert "-0.12 for the others" in said  # (-0.5 + 0.25) / 2 = -0.125


def test_soft_targets_have_two_bars_a_word_and_mark_the_truth() -> None:
    figure = compared_bars(
        ("teacher", "student"), [("ring", (0.5, 0.4)), ("<x>", (0.25, 0.3))], ("blue",), truth="ring", theme=LIGHT
    )
    assert [bar.name for bar in figure.data] == ["teacher", "student"]
    assert figure.layout.yaxis.ticktext == ("<b>▸ ring</b>", "&lt;x&gt;")
    assert list(figure.data[1].text) == ["40 %", "30 %"]
    assert compared_alt(["ring"], [0.5], [0.4], "Here") == "Here, teacher and student: ring 50 % and 40 %."
