"""The figures of the efficient and the encoder-decoder page: what they carry, and that tokens stay text."""

from __future__ import annotations

import numpy as np

from core.figures import attention, sparse
from core.language.types import Token
from core.sparse.layout import Sparsity, curve
from core.theme import DARK, LIGHT

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
    assert {trace.name for trace in figure.data[1:]} == {"window", "global", "random"}


def test_marks_that_stand_close_share_a_label() -> None:
    kinds = Sparsity(block_size=16).kinds(1024)
    close = sparse.pattern(kinds, 16, marks=[(700, "mask"), (660, "clue")], theme=LIGHT).layout.annotations
    assert [note.text for note in close] == ["clue, mask"]
    apart = sparse.pattern(kinds, 16, marks=[(700, "mask"), (20, "clue")], theme=LIGHT).layout.annotations
    assert [(note.text, note.y) for note in apart] == [("clue", 24), ("mask", 696)]


def test_the_pattern_table_names_what_each_block_sees() -> None:
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


def test_choosing_layers_and_heads() -> None:
    np.testing.assert_allclose(attention.choose(WEIGHTS, 0, 1), WEIGHTS[0, 1])
    np.testing.assert_allclose(
        attention.choose(WEIGHTS, None, None), [[0.6, 0.2, 0.2], [0.07, 0.055, 0.875]], rtol=1e-5
    )


def test_lines_are_the_strong_weights_and_every_rows_best() -> None:
    assert attention.alignment_lines(WEIGHTS[0, 0]) == [(0, 0, 0.9), (0, 1, 0.1), (1, 2, 0.9)]
    flat = np.full((1, 20), 0.05, dtype=np.float32)
    assert attention.alignment_lines(flat) == [(0, 0, 0.05)]
    assert attention.alignment_lines(np.zeros((0, 3), dtype=np.float32)) == []


def test_the_alignment_heat_map_and_table() -> None:
    source, target = tokens("The", EVIL, "cat"), tokens("Le", "chat")
    figure = attention.alignment_map(source, target, WEIGHTS[0, 0], theme=DARK)
    assert figure.data[0].x == ("1 · The", f"2 · {ESCAPED}", "3 · cat")
    assert np.asarray(figure.data[0].z).shape == (2, 3)
    row = attention.alignment_table(source, target, WEIGHTS[0, 0])[1]
    assert (row["Generated"], row["Attends to (1)"], row["Weight (1)"]) == ("chat", "cat", 0.9)
