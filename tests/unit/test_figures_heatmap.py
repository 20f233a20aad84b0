"""Heat maps, dots and bars: numbers by hand, signs beside color, and text that stays text in every figure."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from core.figures import attention, block, costs, heads, lines, masks, parallel, vectors, vocabulary
from core.figures.attention import score_grid
from core.figures.heatmap import inks
from core.figures.predictions import compared_alt, compared_bars
from core.figures.results import Dot, SizedFigure, decimals, difference, dots, dots_alt, scaling, scaling_alt, signed
from core.figures.vectors import pair_matrix, pair_table, pair_words, strips
from core.language.noise import TokenizedText
from core.theme import BLACK, BLUE, DARK, LIGHT, WHITE, Scale, Theme, mixed


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
        colors = inks(values[None], scale, 0.0, 1.0)[0].tolist()
        assert {BLACK, WHITE} >= set(colors)
        for share, ink in zip(np.linspace(0, 1, 21), colors, strict=True):
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


def test_scores_of_heads_are_written_in_percent_where_there_is_room() -> None:
    grid = np.array([[0.074, 0.5], [np.nan, 1.0]], np.float32)
    assert list(score_grid(grid, "x", theme=LIGHT).data[1].text) == ["7", "50", "", "100"]
    assert len(score_grid(np.zeros((2, 17), np.float32), "x", theme=LIGHT).data) == 1


EVIL = "<b>&"
NAMES = ["a", EVIL, "c"]
SEEN = np.tri(3, dtype=np.bool_)
LEVELS = np.array([[0, -1, -1], [1, 0, -1], [2, 1, 0]], np.int16)
POINTS = [
    vectors.PlanePoint(0.0, 1.0, "1", EVIL, ("the", EVIL, "end")),
    vectors.PlanePoint(1.0, 0.5, "2", "", ("a", "b", "c")),
]
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
    "score parts": lambda theme: block.score_map(np.eye(3, dtype=np.float32), NAMES, NAMES, 1, 2.0, theme=theme),
    "sharpness": lambda theme: heads.sharp_and_idle(["x"], [0.5], [0.1], BLUE, theme=theme),
    "lines": lambda theme: lines.line_chart(
        [lines.Line(EVIL, [0, 1], [0.5, None], BLUE, spread=[0.1, 0.1])], "cosine", NAMES, theme=theme
    ),
    "held": lambda theme: costs.held_bars(BARS, 4e9, limit_name=EVIL, theme=theme),
    "devices": lambda theme: costs.device_lines([costs.Growth(EVIL, (1, 2), (2e9, 1e9))], 8e9, EVIL, theme=theme),
    "split layer": lambda theme: parallel.split_layer(
        [parallel.LayerStep(EVIL, ["a", EVIL]), parallel.LayerStep("sum", (), EVIL)], 2, theme=theme
    ),
    "BLEU": lambda theme: compared_bars(
        [EVIL, "b"], [(EVIL, (3.0, 4.0))], [BLUE], measure="BLEU", number="{:.1f}".format, theme=theme
    ),
    "tokens": lambda theme: vocabulary.token_bars([TokenizedText(EVIL, (EVIL, "b"), ("a",), 0)], BLUE, theme=theme),
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


def test_numbers_at_the_ends_of_bars_say_what_they_count() -> None:
    bare = re.compile(r"[\d.,]+( [kMBT])?")
    counts = {}
    for name, drawn in DRAWN.items():
        figure = drawn(LIGHT)
        texts = [text for trace in figure.data if trace.type == "bar" for text in trace.text or ()]
        if any(bare.fullmatch(text) for text in texts):
            counts[name] = figure.layout.xaxis.title.text
    assert counts == {"BLEU": "BLEU", "tokens": "tokens"}


def test_what_is_allowed_has_a_dot_and_says_so() -> None:
    figure = masks.mask_map(SEEN, NAMES, ["x", EVIL, "z"], BLUE, theme=LIGHT)
    (cells,) = figure.data
    assert [[cell == "●" for cell in row] for row in cells.text] == SEEN.tolist()
    assert cells.customdata[1][0] == "&lt;b&gt;&amp; attends to x"
    assert cells.customdata[0][1] == "a cannot attend to &lt;b&gt;&amp;"
    assert figure.layout.xaxis.ticktext == ("x", "&lt;b&gt;&amp;", "z")


def test_levels_are_in_their_cells_and_missing_ones_are_empty() -> None:
    figure = masks.levels_map(LEVELS, NAMES, NAMES, 1, 2, theme=DARK)
    assert list(figure.data[1].text) == ["0", "", "", "1", "0", "", "", "1", "0"]
    assert np.isnan(figure.data[0].z[2][0])  # two layers are more than one
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (1.5, 2.5)
    assert figure.data[0].customdata[2][0] == "a → c: reaches it after 2 layers"
    _, second, third = masks.levels_table(LEVELS, NAMES, NAMES, 2)
    assert second == {"position": 1, "token": EVIL, "after 1": 2, "after 2": 2, "never": "c"}
    assert (third["after 1"], third["after 2"], third["never"]) == (2, 3, "none")


def test_an_epoch_is_framed() -> None:
    figure = masks.epoch_map(np.eye(12, 3, dtype=np.bool_), NAMES, BLUE, here=2, theme=LIGHT)
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (0.5, 1.5)
    assert figure.layout.yaxis.ticktext == ("1", "10")
    assert figure.data[0].customdata[1][1] == "epoch 2, &lt;b&gt;&amp;: predicted"


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
    assert list(figure.data[1].text) == ["40.0%", "30.0%"]
    assert compared_alt(["ring"], [0.5], [0.4], "Here") == "Here, teacher and student: ring 50.0% and 40.0%."


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


POINTS_FIGURES = [
    SizedFigure("mT5", "small", 300_176_768, 75.6, "75.6"),
    SizedFigure("mT5", "xxl", 12_921_057_280, 90.7, "90.7"),
    SizedFigure("ByT5", "small", 299_072_512, 80.5, "80.5"),
    SizedFigure("ByT5", "xxl", 12_905_105_280, 90.1, "90.1"),
]


def test_series_differ_in_marker_and_dash_and_names_keep_apart() -> None:
    figure = scaling(POINTS_FIGURES, "GLUE", {"ByT5": "#009E73"}, theme=LIGHT)
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
        "SQuAD, in parentheses the difference from with both: with both 88.5; <b>left</b> to right 77.8 (−10.7)."
    )
    assert "mT5 small, 300 M parameters, 75.6" in scaling_alt(POINTS_FIGURES, "GLUE")
