"""Figures of attention, the logit lens, sparse patterns and buckets: the numbers given, and tokens that stay text."""

from __future__ import annotations

import math

import numpy as np
import plotly.io
import pytest

from core.attention.inside.lens import LayerPrediction, LensTrajectory
from core.attention.trace import AttentionMap
from core.figures import attention, sparse
from core.figures import attention as figures
from core.figures import predictions as lens_figures
from core.figures.heatmap import heat_map, names
from core.figures.labels import label
from core.figures.plot import CLEAR
from core.figures.predictions import ROWS, masked_word
from core.language.types import Token
from core.patterns.layout import Sparsity, curve
from core.sparse import windowed as window_layout
from core.theme import BLUE, DARK, LIGHT, THEMES, Theme


def _map(n: int = 4, layers: int = 2, heads: int = 3, tokens: tuple[str, ...] | None = None) -> AttentionMap:
    weights = np.random.default_rng(0).dirichlet(np.ones(n), (layers, heads, n)).astype(np.float32)
    names = tokens or tuple(f"t{i}" for i in range(n))
    return AttentionMap("encoder", names, names, weights)


def test_a_label_keeps_quotation_marks() -> None:
    # plotly knows the entities &amp; &lt; &gt;, but would print &quot; as it stands
    assert label('"Tom & <b>Jerry</b>"') == '"Tom &amp; &lt;b&gt;Jerry&lt;/b&gt;"'


@pytest.mark.parametrize(("count", "mode"), [(20, "array"), (21, "auto")])
def test_few_tokens_are_all_named_and_many_as_there_is_room(count: int, mode: str) -> None:
    words = tuple(f'"{i}' for i in range(count))
    axis = figures.attention_map(_map(count, tokens=words), 0, 0, theme=LIGHT).layout.xaxis
    assert axis.tickmode == mode
    assert axis.labelalias['1 · "0'] == '"0'
    assert len(axis.labelalias) == count


def test_heat_map_shows_the_head_that_was_asked_for() -> None:
    result = _map()
    trace = figures.attention_map(result, 1, 2, theme=LIGHT).data[0]
    np.testing.assert_allclose(trace.z, result.weights[1, 2], atol=5.1e-5)
    assert trace.zmin == 0


def test_tokens_are_escaped() -> None:
    figure = figures.attention_map(_map(2, tokens=("<b>", "</script>")), 0, 0, theme=LIGHT)
    json = plotly.io.to_json(figure)
    assert "&lt;b&gt;" in json
    assert '<b>"' not in json
    assert "</script>" not in json


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
    figure = lens_figures.answers(WAY, BLUE, theme=LIGHT)
    heat = figure.data[0]
    np.testing.assert_allclose(heat.z, [[0.75, 0.25], [0.5, 0.3], [0.6, 0.00001]])
    assert figure.data[1].text[0] == "&lt;b&gt;a&lt;/b&gt;<br>75.0%"
    assert figure.data[1].text[5] == "a very …<br>&lt;0.01%"
    assert heat.customdata[2][1] == "a very long token"
    assert heat.customdata[0][0] == "&lt;b&gt;a&lt;/b&gt;"
    assert list(heat.y) == ["embeddings", "layer 1", "layer 2"]
    frames = [(shape.x0, shape.y0) for shape in figure.layout.shapes]
    assert frames == [(0.53, -0.45), (-0.47, 1.55)]  # after layer 1 it is not among the best


def test_the_way_is_two_lines() -> None:
    chance, place = lens_figures.path(WAY, BLUE, theme=DARK).data
    assert list(chance.y) == [0.25, 0.01, 0.6]
    assert list(place.y) == [2, 40, 1]
    low, high = lens_figures.path(WAY, BLUE, theme=LIGHT).layout.yaxis2.range
    assert low > math.log10(40)  # the axis is turned over: first place on top
    assert high < 0


def test_the_way_in_a_sentence() -> None:
    names = lens_figures.layer_names(3)
    assert lens_figures.path_words(WAY, names) == "It ranks first from layer 2 on; after layer 1 its rank is 40."
    first = LensTrajectory(WAY.predictions, "b", (1, 1, 1), (1, 1, 1), 100, ("x",), 0)
    assert lens_figures.path_words(first, names) == "It ranks first from the embeddings on."
    early = LensTrajectory(WAY.predictions, "b", (0.1, 0.5, 1), (90, 2, 1), 100, ("x",), 0)
    assert (
        lens_figures.path_words(early, names) == "It ranks first from layer 2 on; after the embeddings its rank is 90."
    )


def test_the_masked_word_has_the_largest_weights_and_what_may_stand_there() -> None:
    weights = np.linspace(0, 1, ROWS + 2, dtype=np.float32)
    names = [f"t{i}" for i in range(len(weights))]
    figure = masked_word(names, weights, 3, [EVIL, "b"], [0.6, 0.3], BLUE, special=(0,), theme=LIGHT)
    assert list(figure.data[0].text) == names[2:]
    assert list(figure.data[1].customdata) == [f"{ESCAPED}: 60.0%", "b: 30.0%"]
    bars = figure.data[1]
    assert bars.x[0] == 2 * bars.x[1]
    telephone = 366 - figure.layout.margin.l - figure.layout.margin.r
    assert (1 - bars.base - bars.x[0]) * telephone >= 50, "“68.1%” beside the longest bar is cut off"


EVIL = "</b><script>"
ESCAPED = "&lt;/b&gt;&lt;script&gt;"


def tokens(*texts: str) -> list[Token]:
    return [Token(i, text, text, -1, -1) for i, text in enumerate(texts)]


def test_the_pattern_is_one_raster_of_blocks() -> None:
    kinds = Sparsity(block_size=16).kinds(4096)
    figure = sparse.pattern(kinds, 16, marks=[(40, EVIL)], theme=LIGHT)
    (raster,) = [trace for trace in figure.data if trace.type == "heatmap"]
    assert np.asarray(raster.z).shape == (256, 256)
    assert len(figure.to_json()) < 1_000_000
    assert figure.layout.annotations[0].text == ESCAPED
    assert [trace.name for trace in figure.data[1:]] == ["window", "global", "random", "not computed"]


@pytest.mark.parametrize("look", THEMES.values(), ids=THEMES.keys())
def test_what_a_pattern_does_not_compute_is_hatched_as_a_map_of_weights_is(look: Theme) -> None:
    kinds = np.array([[1, 0], [2, 3]], dtype=np.uint8)
    figure = sparse.pattern(kinds, 16, theme=look)
    assert figure.data[0].colorscale[0][1] == CLEAR
    (under,) = figure.layout.images
    mask = heat_map(np.where(kinds, 1.0, np.nan), *[names("ab")] * 2, look, height=99).layout.images[0]
    assert (under.source, under.layer) == (mask.source, "below")
    assert (under.x, under.y, under.sizex, under.sizey) == (0, 0, 32, 32)
    assert figure.data[-1].marker.pattern.fgcolor == look.hatch


def test_marks_that_stand_close_share_a_label() -> None:
    kinds = Sparsity(block_size=16).kinds(1024)
    close = sparse.pattern(kinds, 16, marks=[(700, "mask"), (660, "clue")], theme=LIGHT).layout.annotations
    assert [note.text for note in close] == ["clue,<br>mask"]
    apart = sparse.pattern(kinds, 16, marks=[(700, "mask"), (20, "clue")], theme=LIGHT).layout.annotations
    assert [(note.text, note.y) for note in apart] == [("clue", 24), ("mask", 696)]


def test_the_pattern_table_names_what_each_block_attends_to() -> None:
    table = sparse.pattern_table(Sparsity(block_size=4, random_blocks=0).kinds(30), 4, 30)
    assert len(table) == 8
    assert table[3] == {"Block": 3, "Tokens": "12–15", "Window": "2–4", "Global": "0, 7", "Random": ""}
    assert table[7]["Tokens"] == "28–29"
    assert table[0]["Global"] == "0–7"


def test_the_curve_and_its_table_agree() -> None:
    costs = curve((256, 1024), Sparsity(block_size=32))
    figure = sparse.cost_curve(costs, here=300, theme=LIGHT)
    assert list(figure.data[0].y) == [256**2, 1024**2]
    (note,) = figure.layout.annotations
    assert (note.text, note.x, note.yanchor) == ("your text", 300, "top")  # below the legend
    assert [row["Sparse"] for row in sparse.cost_table(costs)] == list(figure.data[1].y)


WEIGHTS = np.array(
    [[[[0.9, 0.1, 0.0], [0.05, 0.05, 0.9]], [[0.3, 0.3, 0.4], [0.09, 0.06, 0.85]]]], dtype=np.float32
)  # one layer, two heads, two written, three read


def test_lines_are_the_strong_weights_and_every_rows_best() -> None:
    assert attention.alignment_lines(WEIGHTS[0, 0]) == [(0, 0, 0.9), (0, 1, 0.1), (1, 2, 0.9)]
    flat = np.full((1, 20), 0.05, dtype=np.float32)
    assert attention.alignment_lines(flat) == [(0, 0, 0.05)]
    assert attention.alignment_lines(np.zeros((0, 3), dtype=np.float32)) == []


def test_the_alignment_heat_map_and_table() -> None:
    source, target = tokens("The", EVIL, "cat"), tokens("Le", "chat")
    figure = attention.alignment_map(source, target, WEIGHTS[0, 0], 0, theme=DARK)
    assert figure.data[0].x == ("1 · The", f"2 · {ESCAPED}", "3 · cat")
    assert np.asarray(figure.data[0].z).shape == (2, 3)
    row = attention.alignment_table(source, target, WEIGHTS[0, 0])[1]
    assert (row["Generated"], row["Attends to (1)"], row["Weight (1)"]) == ("chat", "cat", 0.9)


def test_a_sorted_text_has_every_byte_once_and_chunks_are_cut() -> None:
    order = np.array([1, 3, 0, 2, 4, 5])  # position 5 is filling
    figure = sparse.sorted_text(order, np.array([1, 0, 1, 0, 2]), ["<a>", *"bcde"], 2, 0, theme=LIGHT)
    dots = figure.data[0]
    assert list(dots.x) == [0, 1, 2, 3, 4]
    assert list(dots.y) == [1, 3, 0, 2, 4]
    assert dots.customdata[2] == "&lt;a&gt; at 0, bucket 1"
    assert list(dots.marker.symbol) == ["circle", "circle", "square", "square", "circle"]
    lines = [shape for shape in figure.layout.shapes if shape.type == "line"]
    assert [line.x0 for line in lines] == [1.5, 3.5]
    shaded = sorted(shape.x0 for shape in figure.layout.shapes if shape.type == "rect")
    assert shaded == [-0.5, 1.5]  # position 0 is in the second chunk; it sees the first, too


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
    assert [(line.name, list(line.y)) for line in grown.data] == [("full attention", [4, 16]), ("1 round", [3, 6])]
    (entry,) = sparse.recall_by_work([(4, 1, 0.5, 0.2), (4, 2, 0.75, 0.4)], theme=LIGHT).data
    assert (list(entry.x), list(entry.y)) == ([0.2, 0.4], [0.5, 0.75])


def test_a_cost_curve_may_be_called_by_its_own_name() -> None:
    costs = [window_layout.cost(n, 4, (0,)) for n in (8, 16)]
    figure = sparse.cost_curve(costs, 8, "window", theme=LIGHT)
    assert {line.name for line in figure.data} == {"full attention", "window attention"}
    assert set(sparse.cost_table(costs)[0]) == {"Tokens", "Full", "Sparse", "Window", "Global", "Sparse share (%)"}
    kinds = window_layout.kinds(16, 4, (0,), 2)
    assert [t.name for t in sparse.pattern(kinds, 2, listed=(1, 2), theme=LIGHT).data if t.name] == [
        "window",
        "global",
        "not computed",
    ]
