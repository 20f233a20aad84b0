"""Older architectures that go ways of their own: what is particular about each, held to the library's own numbers."""

from __future__ import annotations

import copy

import numpy as np
import torch
import transformers

from core.attention.architectures.vectors import scores
from core.attention.capture import capture
from core.checkpoints.spec import Checkpoint
from tests import tinyhosts
from tests.parity.test_vectors import IDS, softmax
from tests.tinyfamilies import PLAIN


def test_an_i_bert_of_whole_numbers_has_the_softmax_of_its_scores_but_for_rounding() -> None:
    plain = tinyhosts.make("encoder ibert")
    config = copy.deepcopy(plain.model.config)
    config.quant_mode = True
    model = transformers.AutoModelForMaskedLM.from_config(config)
    model.load_state_dict(plain.model.state_dict())
    drawn = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for _ in range(10):  # the ranges of its activations are learned by use
            model.train()(input_ids=torch.randint(5, 100, (4, 14), generator=drawn))
        rounded = Checkpoint(model.eval(), plain.tokenizer, plain.spec)
        expected = torch.cat(model(input_ids=IDS, output_attentions=True).attentions).numpy()
    found = softmax(scores(rounded, {"input_ids": IDS})["encoder"])
    np.testing.assert_array_equal(expected * 256, np.round(expected * 256))  # weights of eight bits
    assert 1e-3 < np.abs(found - expected).max() < 1 / 32
    drawn_map = capture(rounded, PLAIN, vectors=True).encoder
    assert drawn_map is not None
    assert "Rows do not sum to one" in drawn_map.note


def test_a_convbert_says_that_half_of_it_has_no_map() -> None:
    """Of four heads in the configuration two attend; of eight to one head, one does."""
    for name, heads in (("encoder convbert", 2), ("encoder convbert-one", 1)):
        found = capture(tinyhosts.make(name), PLAIN).encoder
        assert found is not None
        assert found.heads == heads
        assert "convolutions over neighbouring tokens" in found.note


def test_a_codegens_quarters_have_the_heads_in_the_order_in_which_they_are_joined() -> None:
    """Each head alone, by hand: what a head's queries and keys give is the map of that head and of no other."""
    checkpoint = tinyhosts.make("decoder codegen")
    found = capture(checkpoint, PLAIN, vectors=True).decoder
    assert found is not None
    assert found.queries is not None
    assert found.keys is not None
    n = found.weights.shape[2]
    total = found.queries @ found.keys.swapaxes(-1, -2) / np.sqrt(found.keys.shape[-1])
    total = np.where(np.tri(n, dtype=bool), total, -np.inf)
    every = softmax(total)
    for head in range(found.heads):
        apart = np.abs(every[0] - found.weights[0, head]).max(axis=(1, 2))
        assert apart.argmin() == head
        assert np.sort(apart)[1] > 1e-2
