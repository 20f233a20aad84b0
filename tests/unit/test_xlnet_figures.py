"""The pictures of orders and of a memory: what is drawn, said and put into the table; the measures of both models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from core import patterns
from core.figures.bars import saved_alt, saved_bars
from core.figures.masks import stream_maps, stream_table, stream_words
from core.theme import LIGHT, VERMILION
from core.training import evaluate_decoders, evaluate_encoders
from tests import tiny
from tests.tinyfamilies import loaded

TOKENS = ["[CLS]", "a<b", "cat", "[SEP]"]
RANK = [0, 2, 1, 0]


def sides() -> tuple[Any, Any]:
    query = ~patterns.perm_mask(np.array(RANK))
    return query | np.eye(4, dtype=bool), query


def test_two_maps_with_a_dot_in_each_attended_cell() -> None:
    content, query = sides()
    figure = stream_maps(TOKENS, RANK, content, query, VERMILION, theme=LIGHT)
    left, right = figure.data
    assert np.array_equal(left.z, content.astype(int))
    assert np.array_equal(right.z, query.astype(int))
    assert [[cell == "●" for cell in row] for row in right.text] == query.tolist()
    assert right.customdata[1][1] == "a&lt;b (2) cannot attend to a&lt;b (2)"
    assert right.customdata[1][2] == "a&lt;b (2) attends to cat (1)"
    long = stream_maps(["x"] * 40, [0] * 40, np.ones((40, 40), bool), np.ones((40, 40), bool), VERMILION, theme=LIGHT)
    assert not any(cell for row in long.data[0].text for cell in row)


def test_the_table_and_the_sentence_say_the_same() -> None:
    content, query = sides()
    rows = stream_table(TOKENS, RANK, content, query)
    assert [row["predicted in step"] for row in rows] == [None, 2, 1, None]
    assert rows[1]["its query stream attends to"] == "[CLS], cat, [SEP]"
    assert rows[1]["its content stream attends to"] == "all"
    assert rows[2]["its query stream attends to"] == "[CLS], [SEP]"
    said = stream_words(TOKENS, RANK)
    assert "Known from the start: [CLS], [SEP]." in said
    assert said.endswith("Predicted in this order: cat, a<b.")


def test_bars_go_up_where_the_memory_helps_and_lines_stand_between_segments() -> None:
    saved = [0.0, 0.0, 1.5, -0.5, 0.25]
    figure = saved_bars(["a", "b", "<c>", "d", "e"], saved, 2, VERMILION, theme=LIGHT)
    bars = figure.data[0]
    assert list(bars.y) == saved
    assert [color == VERMILION for color in bars.marker.color] == [False, False, True, False, True]
    assert bars.customdata[2] == "token 3, “&lt;c&gt;”: +1.50 bits"
    assert [line.x0 for line in figure.layout.shapes] == [2.5, 4.5]
    assert "lowers the surprisal of 2 of the 3 tokens after it" in saved_alt(saved, 2)


def test_a_model_that_knows_nothing_costs_the_same_in_every_order(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_xlnet(tmp_path / "x"), "permutation-lm", "atlas-xlnet")
    for parameter in checkpoint.model.parameters():
        parameter.data.zero_()
    texts = ["The cat sat on the mat.", "Tom gave Anna a red ball."]
    found = evaluate_encoders.order_surprisal(checkpoint, texts)
    size = checkpoint.model.config.vocab_size
    assert list(found.values()) == pytest.approx([math.log2(size)] * 3, rel=1e-5)
    with torch.no_grad():  # a bias that always says "the"
        checkpoint.model.lm_loss.bias[checkpoint.tokenizer.convert_tokens_to_ids("the")] = 5.0
    hits = evaluate_encoders.permuted_words(checkpoint, ["the the the the the the the."])
    assert hits == dict.fromkeys(hits, 100.0)


def test_the_memory_saves_nothing_of_a_model_that_knows_nothing(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_transformer_xl(tmp_path / "x"), "causal-lm", "atlas-transformer-xl")
    for parameter in checkpoint.model.parameters():
        parameter.data.zero_()
    text = " ".join(tiny.SENTENCES[:6])
    found = evaluate_decoders.with_and_without_memory(checkpoint, [text])
    count = len(checkpoint.tokenizer(text)["input_ids"])
    bits = count * math.log2(checkpoint.model.config.vocab_size) / len(text.encode())
    assert list(found.values()) == pytest.approx([bits] * 2, rel=1e-5)
