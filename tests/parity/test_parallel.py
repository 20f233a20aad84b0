"""A layer split among devices computes what transformers' own layer computes, on any degree that divides it."""

from __future__ import annotations

import pytest
import torch

from core import checkpoints
from core.efficiency.parallel import split, split_layer
from core.errors import InputEmpty, OutOfRange


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
    block = checkpoints.load("atlas-gpt-2").model.transformer.h[0]
    parts = split(block, 8, 4)
    assert torch.equal(torch.cat([part.output for part in parts]), block.attn.c_proj.weight)
    assert torch.equal(torch.cat([part.first for part in parts], dim=1), block.mlp.c_fc.weight)
    query = block.attn.c_attn.weight[:, :256]
    assert torch.equal(torch.cat([part.qkv[:, :64] for part in parts], dim=1), query)


def test_what_cannot_be_split_is_refused() -> None:
    checkpoint = checkpoints.load("atlas-gpt-2")
    for degree in (0, 3, 16):
        with pytest.raises(OutOfRange, match="these can: 1, 2, 4, 8"):
            split_layer(checkpoint, "text", 0, degree)
    with pytest.raises(OutOfRange, match="layers 1 to 4"):
        split_layer(checkpoint, "text", 4, 2)
    with pytest.raises(InputEmpty):
        split_layer(checkpoint, "", 0, 2)
    with pytest.raises(OutOfRange, match="not laid out"):
        split_layer(checkpoints.load("minilm"), "text", 0, 2)
