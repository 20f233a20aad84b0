"""Losses of the page of objectives against the losses that transformers itself computes for the same labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from transformers import BertForNextSentencePrediction

from core import checkpoints
from core.errors import InputTooLong
from core.language.losses import ids_of, losses
from core.objectives import causal, masked, replaced
from core.objectives.example import Example
from core.objectives.sentence_pairs import next_sentence

TOKENS = ["[CLS]", "the", "king", "gave", "his", "daughter", "a", "golden", "ring", ".", "[SEP]"]


def _labels(slug: str, example: Example) -> torch.Tensor:
    vocabulary = checkpoints.load(slug).tokenizer
    found = [-100 if c.target is None else int(vocabulary.convert_tokens_to_ids(c.target)) for c in example.source]
    return torch.tensor([found])


@pytest.mark.parametrize("slug", ["atlas-bert", "atlas-roberta", "atlas-albert"])
def test_masked_tokens(slug: str) -> None:
    checkpoint = checkpoints.load(slug)
    example = masked.corrupt(TOKENS, ["well", "##ly"], np.random.default_rng(1), rate=0.5, fixed=(0, 10))
    found = losses(checkpoint, example, "masks")
    ids = torch.tensor([ids_of(checkpoint, [cell.token for cell in example.source])])
    with torch.inference_mode():
        theirs = checkpoint.model(input_ids=ids, labels=_labels(slug, example)).loss
    assert set(found.source) == set(example.asked)
    assert found.mean == pytest.approx(float(theirs), rel=1e-4)
    assert found.options == checkpoint.model.config.vocab_size
    for place in found.source.values():
        assert place.chance >= place.probability - 1e-6
        assert place.bits == pytest.approx(place.nats / math.log(2))


def test_masked_tokens_in_the_second_segment() -> None:
    checkpoint = checkpoints.load("atlas-bert")
    pair = next_sentence(TOKENS[1:5], TOKENS[5:10], ["x"], np.random.default_rng(2))
    example = masked.over(pair, ["well"], np.random.default_rng(3), rate=0.5)
    ids = torch.tensor([ids_of(checkpoint, [cell.token for cell in example.source])])
    types = torch.tensor([[cell.segment for cell in example.source]])
    with torch.inference_mode():
        theirs = checkpoint.model(input_ids=ids, token_type_ids=types, labels=_labels("atlas-bert", example)).loss
        without = checkpoint.model(input_ids=ids, labels=_labels("atlas-bert", example)).loss
    assert losses(checkpoint, example, "masks").mean == pytest.approx(float(theirs), rel=1e-4)
    assert float(theirs) != pytest.approx(float(without), rel=1e-3)


def test_the_next_token() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    pieces = checkpoint.tokenizer.tokenize("The king gave his daughter a ring.")
    example = causal.corrupt(pieces, "<|endoftext|>")
    ids = torch.tensor([ids_of(checkpoint, ["<|endoftext|>", *pieces])])
    with torch.inference_mode():
        theirs = checkpoint.model(input_ids=ids, labels=ids).loss
    assert losses(checkpoint, example, "next").mean == pytest.approx(float(theirs), rel=1e-4)


def test_the_next_sentence() -> None:
    pairs = checkpoints.load("atlas-bert", "pairs")
    assert isinstance(pairs.model, BertForNextSentencePrediction)
    for seed, answer in ((2, 0), (0, 1)):
        example = next_sentence(TOKENS[1:5], TOKENS[5:10], ["the", "sea"], np.random.default_rng(seed))
        assert example.labels[0].answer == answer
        ids = torch.tensor([ids_of(pairs, [cell.token for cell in example.source])])
        types = torch.tensor([[cell.segment for cell in example.source]])
        label = torch.tensor([example.labels[0].answer])
        with torch.inference_mode():
            theirs = pairs.model(input_ids=ids, token_type_ids=types, labels=label).loss
        found = losses(pairs, example, "pair")
        assert found.labels[0].nats == pytest.approx(float(theirs), rel=1e-4)
        assert sum(found.choices[0]) == pytest.approx(1)
        assert found.mean is None


def test_verdicts_on_replaced_tokens() -> None:
    judge = checkpoints.load("atlas-electra")
    example = replaced.corrupt(TOKENS, {2: "fish", 8: "ring"}, fixed=(0, 10))
    ids = torch.tensor([ids_of(judge, [cell.token for cell in example.source])])
    labels = torch.tensor([[float(cell.target == replaced.REPLACED) for cell in example.source]])
    with torch.inference_mode():
        scores = judge.model(input_ids=ids).logits
    theirs = torch.nn.functional.binary_cross_entropy_with_logits(scores[0, 1:-1], labels[0, 1:-1])
    found = losses(judge, example, "verdicts")
    assert set(found.source) == set(range(1, 10))
    assert found.mean == pytest.approx(float(theirs), rel=1e-4)


def test_nothing_asked_costs_nothing_and_too_much_is_refused() -> None:
    checkpoint = checkpoints.load("atlas-bert")
    assert losses(checkpoint, masked.hide(["[CLS]", "[SEP]"], {}, (), np.random.default_rng(0)), "masks").mean is None
    long = masked.corrupt(["the"] * 200, ["x"], np.random.default_rng(0))
    with pytest.raises(InputTooLong):
        losses(checkpoint, long, "masks")
