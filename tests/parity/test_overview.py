"""A whole run as the picture shows it: its numbers follow from each other, and are those of the model's own pass."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
import torch

from core.arrays import Floats
from core.attention.inside.block import block
from core.attention.inside.overview import FIRST, MAX_TOKENS, Lane, Overview, overview
from core.errors import InputTooLong
from core.language.fill_mask import fill_mask
from core.ui.transformer import WEIGHT, first_head, packed, run_data
from tests import tinyfamilies

TEXTS = {
    "bert": "The cat [MASK] on the mat.",
    "roberta": "The cat sat on the mat.",
    "albert": "The cat [MASK] on the mat.",
    "xlnet": "The cat [MASK] on the mat.",
    "gpt2": "The cat sat on the",
    "llama": "The cat sat on the",
    "t5": "The cat sat.",
    "bart": "The cat sat.",
}


def run_of(name: str) -> Overview:
    return overview(tinyfamilies.make(name), TEXTS[name])


def values(lane: Lane, slug: str) -> Floats:
    return lane.block[slug].values


@pytest.mark.parametrize("name", TEXTS)
def test_the_numbers_follow_from_each_other(name: str) -> None:
    run = run_of(name)
    assert [lane.side for lane in run.lanes] == (["encoder", "decoder"] if len(run.lanes) == 2 else [run.lanes[0].side])
    for lane in run.lanes:
        n = len(lane.tokens)
        for part in ("attention", "cross-attention"):
            if f"{part}-weights" not in lane.block:
                continue
            weights, scores, mask = (values(lane, f"{part}-{step}") for step in ("weights", "scores", "mask"))
            assert weights.shape[:3] == (lane.layers, lane.heads, n)
            np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
            np.testing.assert_allclose(torch.tensor(scores + mask).softmax(-1).numpy(), weights, atol=1e-5)
        hides = not np.isfinite(values(lane, "attention-mask")).all()
        assert hides is (lane.side == "decoder" or name == "xlnet")  # what it predicts is hidden from the content
        stream = list(lane.embedding.values())[-1].values[0]
        for layer in range(lane.layers):
            for part in ("attention", "cross-attention", "feed-forward"):
                added = f"{part}-{'outer' if part == 'feed-forward' else 'projected'}"
                if added not in lane.block:
                    continue
                summed = values(lane, f"{part}-residual")[layer]
                np.testing.assert_allclose(summed, stream + values(lane, added)[layer], atol=1e-5)
                stream = summed if lane.pre_norm else values(lane, f"{part}-norm")[layer]
    assert all(0 < sum(answer.probabilities) <= 1 + 1e-5 for answer in run.answers)


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_tensors_are_those_of_a_block_alone(name: str) -> None:
    checkpoint, run = tinyfamilies.make(name), run_of(name)
    for lane in run.lanes[:1]:  # a decoder of a pair may read fewer generated tokens here
        for layer in range(lane.layers):
            for step in block(checkpoint, TEXTS[name], layer, lane.side).steps:
                if step.slug in lane.block and step.axes[-1] != "key":
                    kept = lane.block[step.slug]
                    assert kept.shape == step.shape
                    np.testing.assert_allclose(kept.values[layer], step.values[..., : kept.values.shape[-1]], atol=1e-5)


def test_a_masks_distribution_is_that_of_fill_mask_and_of_the_model() -> None:
    checkpoint, run = tinyfamilies.make("bert"), run_of("bert")
    (expected,) = fill_mask(checkpoint, TEXTS["bert"], 8)
    assert run.answers == (expected,)
    ids = torch.tensor([run.lanes[0].ids])
    with torch.inference_mode():
        chances = checkpoint.model(input_ids=ids).logits[0, expected.position].softmax(-1)
    np.testing.assert_allclose(chances[list(expected.ids)], expected.probabilities, atol=1e-5)
    assert run.by_layer[-1].ids == expected.ids
    assert len(run.by_layer) == run.lanes[0].layers + 1


def test_a_decoder_predicts_the_next_token_and_a_pair_each_token_of_its_output() -> None:
    checkpoint, run = tinyfamilies.make("gpt2"), run_of("gpt2")
    (answer,) = run.answers
    assert answer.position == len(run.lanes[0].tokens) - 1
    with torch.inference_mode():
        chances = checkpoint.model(input_ids=torch.tensor([run.lanes[0].ids])).logits[0, -1].softmax(-1)
    np.testing.assert_allclose(chances[list(answer.ids)], answer.probabilities, atol=1e-5)

    checkpoint, run = tinyfamilies.make("t5"), run_of("t5")
    source, target = (torch.tensor([lane.ids]) for lane in run.lanes)
    model: Any = checkpoint.model
    with torch.inference_mode():
        chances = model(input_ids=source, decoder_input_ids=target).logits[0].softmax(-1)
    assert [answer.position for answer in run.answers] == list(range(len(run.lanes[1].tokens)))
    for answer in run.answers:
        np.testing.assert_allclose(chances[answer.position, list(answer.ids)], answer.probabilities, atol=1e-4)


def test_a_text_without_a_mask_has_its_last_word_masked() -> None:
    run = overview(tinyfamilies.make("bert"), "The cat sat.")
    assert run.masked_here == "sat"
    assert run.lanes[0].tokens[3] == "[MASK]"
    assert run.answers[0].position == 3


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5"])
def test_a_text_that_is_too_long_is_refused(name: str) -> None:
    with pytest.raises(InputTooLong, match=f"room for {MAX_TOKENS}"):
        overview(tinyfamilies.make(name), "the cat " * MAX_TOKENS + "[MASK]")


def unpacked(tensor: dict[str, Any]) -> Floats:
    integers = np.frombuffer(base64.b64decode(tensor["data"]), dtype="<i2")
    return (integers * tensor["scale"]).reshape(tensor["shape"]).astype(np.float32)


def test_the_browsers_numbers_are_the_models_to_half_a_step() -> None:
    run = run_of("gpt2")
    (lane,) = run_data(run)["lanes"]
    weights = unpacked(lane["block"]["attention-weights"]["values"])
    np.testing.assert_allclose(weights, values(run.lanes[0], "attention-weights"), atol=0.51 * WEIGHT)
    inner = lane["block"]["feed-forward-inner"]
    assert inner["shape"] == [len(run.lanes[0].tokens), 64]
    assert inner["values"]["shape"] == [2, len(run.lanes[0].tokens), FIRST]
    np.testing.assert_allclose(unpacked(inner["norms"]), run.lanes[0].block["feed-forward-inner"].norms, rtol=1e-3)
    n = len(run.lanes[0].tokens)
    assert lane["block"]["attention-mask"]["allowed"] == "".join(
        "1" if j <= i else "0" for i in range(n) for j in range(n)
    )
    assert unpacked(packed(np.zeros((2, 2), dtype=np.float32))).tolist() == [[0, 0], [0, 0]]
    assert 0 <= first_head(run) < 2
