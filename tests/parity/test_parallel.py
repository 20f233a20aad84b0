"""A layer split among devices computes what transformers' own layer computes, on any degree that divides it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from core import checkpoints
from core.efficiency.parallel import Layer, split_layer, splits
from core.errors import InputEmpty, OutOfRange
from tests import tinyfamilies


@pytest.mark.parametrize("slug", [spec.slug for spec in checkpoints.available() if splits(spec)])
def test_the_parts_of_every_layout_add_up_to_the_layer(slug: str) -> None:
    result = split_layer(checkpoints.load(slug), "Once upon a time there was a king.", 1, 2)
    assert result.layer_error < 2e-6 * max(1, result.largest)
    assert result.attention_error < 1e-6 * max(10, result.largest)
    assert result.parameters * 2 == result.whole


def test_a_key_head_that_several_devices_need_is_copied() -> None:
    """Four heads of two keys on four devices: each key is on two of them."""
    tiny = tinyfamilies.make("llama")
    checkpoint = replace(tiny, spec=replace(tiny.spec, architecture="llama"))
    result = split_layer(checkpoint, "The cat sat on the mat.", 1, 4)
    assert (result.heads, result.key_heads, result.gated) == (4, 2, True)
    assert result.layer_error < 1e-5 * max(1, result.largest)
    copied = 2 * 2 * result.head_width * result.width  # two more of each of K and V
    assert 4 * result.parameters == result.whole + copied
    shares = Layer(checkpoint, "The cat sat on the mat.", 1).split(4)
    assert torch.equal(shares[0].columns[1].weight, shares[1].columns[1].weight)
    assert not torch.equal(shares[1].columns[1].weight, shares[2].columns[1].weight)


@pytest.mark.parametrize("degree", [1, 2, 4, 8])
def test_the_parts_add_up_to_the_layer(degree: int) -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    result = split_layer(checkpoint, "Once upon a time there was a king.", 2, degree)
    assert result.layer_error < 1e-5 * result.largest
    assert result.attention_error < 1e-4
    assert result.reduced_bytes == result.tokens * 256 * 4
    assert result.parameters * degree == result.whole  # norms and output biases, which are copied, are left out
    assert result.whole == 3 * 256 * 256 + 3 * 256 + 256 * 256 + 2 * 256 * 1024 + 1024


def test_parts_that_are_put_side_by_side_are_the_matrices() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    block, parts = checkpoint.model.transformer.h[0], Layer(checkpoint, "A king.", 0).split(4)
    assert torch.equal(torch.cat([part.output.weight for part in parts]), block.attn.c_proj.weight)
    assert torch.equal(torch.cat([part.firsts[0].weight for part in parts], dim=1), block.mlp.c_fc.weight)
    query = block.attn.c_attn.weight[:, :256]
    assert torch.equal(torch.cat([part.columns[0].weight[:, :64] for part in parts], dim=1), query)


def test_what_cannot_be_split_is_refused() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    for degree in (0, 3, 16):
        with pytest.raises(OutOfRange, match="these can: 1, 2, 4, 8"):
            split_layer(checkpoint, "text", 0, degree)
    with pytest.raises(OutOfRange, match="layers 1 to 4"):
        split_layer(checkpoint, "text", 4, 2)
    with pytest.raises(InputEmpty):
        split_layer(checkpoint, "", 0, 2)
    with pytest.raises(OutOfRange, match="cannot be split here"):
        split_layer(checkpoints.load("atlas-t5"), "text", 0, 2)
