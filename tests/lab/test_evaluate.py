"""Measures of models that know nothing, and of one that a page measures, too."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from core import checkpoints
from core.language.side_by_side import bits_per_byte
from lab import evaluate_decoders, evaluate_encoders, measures
from tests import tiny
from tests.tinyfamilies import loaded


def test_a_model_that_knows_nothing_costs_the_same_in_every_order(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_xlnet(tmp_path / "x"), "permutation-lm", "atlas-xlnet")
    for parameter in checkpoint.model.parameters():
        parameter.data.zero_()
    texts = ["The cat sat on the mat.", "Tom gave Anna a red ball."]
    bits = evaluate_encoders.order_surprisal(checkpoint, texts)
    size = checkpoint.model.config.vocab_size
    assert list(bits.values()) == pytest.approx([math.log2(size)] * 3, rel=1e-5)
    with torch.no_grad():  # a bias that always says "the"
        checkpoint.model.lm_loss.bias[checkpoint.tokenizer.convert_tokens_to_ids("the")] = 5.0
    hits = evaluate_encoders.permuted_words(checkpoint, ["the the the the the the the."])
    assert hits == dict.fromkeys(hits, 100.0)


def test_the_memory_saves_nothing_of_a_model_that_knows_nothing(tmp_path: Path) -> None:
    checkpoint = loaded(tiny.tiny_transformer_xl(tmp_path / "x"), "causal-lm", "atlas-transformer-xl")
    for parameter in checkpoint.model.parameters():
        parameter.data.zero_()
    text = " ".join(tiny.SENTENCES[:6])
    result = evaluate_decoders.with_and_without_memory(checkpoint, [text])
    count = len(checkpoint.tokenizer(text)["input_ids"])
    bits = count * math.log2(checkpoint.model.config.vocab_size) / len(text.encode())
    assert list(result.values()) == pytest.approx([bits] * 2, rel=1e-5)


def test_bits_per_byte_agree_with_the_cards_measure() -> None:
    """The card's measure reads the same text with the same beginning."""
    loaded = checkpoints.load("atlas-gpt-2")
    text = "Once upon a time there was a little girl who lived in a house near the river."
    assert bits_per_byte(loaded, text) == pytest.approx(measures.bits_per_byte(loaded, text), rel=1e-5)
