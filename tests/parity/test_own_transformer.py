"""The Transformer of 2017 as built here: its numbers by hand, torch's post-norm layers, and its paper's own counts."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn
from transformers import MarianConfig

from core.anatomy.build import build_model, describe
from core.anatomy.own_transformer import (
    PostNormDecoderLayer,
    PostNormEncoderLayer,
    ScaledMultiHeadAttention,
    Transformer2017,
    sinusoids,
)

D, FF, H = 8, 16, 2


def shaped(layers: int = 6, d: int = 512, ff: int = 2048, h: int = 8, vocabulary: int = 37000) -> dict[str, Any]:
    """The paper's letters as fields of Marian's configuration."""
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", layers), ("ffn_dim", ff), ("attention_heads", h))
    }
    return sides | {"d_model": d, "vocab_size": vocabulary, "pad_token_id": 0, "decoder_start_token_id": 0}


def counted(**sizes: int) -> int:
    return describe(build_model("Transformer2017", "MarianConfig", shaped(**sizes))).parameters


def tiny() -> Transformer2017:
    torch.manual_seed(0)
    return Transformer2017(MarianConfig(**shaped(layers=2, d=D, ff=FF, h=H, vocabulary=11))).eval()


def test_sinusoids_by_hand() -> None:
    # d_model = 4: the second pair turns 10000^(2/4) = 100 times as slowly as the first
    by_hand = [[math.sin(p), math.cos(p), math.sin(p / 100), math.cos(p / 100)] for p in (0, 1, 2)]
    assert torch.allclose(sinusoids(3, 4), torch.tensor(by_hand))


def into(attention: ScaledMultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Our weights in torch's attention, whose biases become zero."""
    theirs.in_proj_weight.copy_(torch.cat([attention.W_Q.weight, attention.W_K.weight, attention.W_V.weight]))
    theirs.in_proj_bias.zero_()
    theirs.out_proj.weight.copy_(attention.W_O.weight)
    theirs.out_proj.bias.zero_()


def varied(module: nn.Module) -> None:
    """Random numbers in all parameters: fresh norms are ones and zeros, which would hide a mistake."""
    for parameter in module.parameters():
        parameter.copy_(torch.randn_like(parameter) / 2)


@torch.no_grad()
def test_the_layers_give_what_torchs_post_norm_layers_give() -> None:
    torch.manual_seed(1)
    x, y = torch.randn(3, 5, D), torch.randn(3, 4, D)
    ours, theirs = PostNormEncoderLayer(D, FF, H, 0.0), nn.TransformerEncoderLayer(D, H, FF, 0.0, batch_first=True)
    varied(ours)
    into(ours.self_attention, theirs.self_attn)
    pairs = [(theirs.linear1, ours.feed_forward.W_1), (theirs.linear2, ours.feed_forward.W_2)]
    pairs += [(theirs.norm1, ours.self_attention_norm), (theirs.norm2, ours.feed_forward_norm)]
    for their, our in pairs:
        their.load_state_dict(our.state_dict())
    assert torch.allclose(ours(x), theirs(x), atol=1e-5)

    ours, theirs = PostNormDecoderLayer(D, FF, H, 0.0), nn.TransformerDecoderLayer(D, H, FF, 0.0, batch_first=True)
    varied(ours)
    into(ours.self_attention, theirs.self_attn)
    into(ours.encoder_attention, theirs.multihead_attn)
    pairs = [(theirs.linear1, ours.feed_forward.W_1), (theirs.linear2, ours.feed_forward.W_2)]
    pairs += [(theirs.norm1, ours.self_attention_norm), (theirs.norm2, ours.encoder_attention_norm)]
    for their, our in [*pairs, (theirs.norm3, ours.feed_forward_norm)]:
        their.load_state_dict(our.state_dict())
    causal = nn.Transformer.generate_square_subsequent_mask(4)
    assert torch.allclose(ours(y, x), theirs(y, x, tgt_mask=causal), atol=1e-5)


@torch.no_grad()
def test_the_decoder_sees_the_whole_source_and_only_the_past_of_the_target() -> None:
    model = tiny()
    source, target = torch.tensor([[1, 2, 3]]), torch.tensor([[4, 5, 6, 7]])
    scores = model(source, target)
    assert scores.shape == (1, 4, 11)
    later = model(source, torch.tensor([[4, 5, 6, 8]]))
    assert torch.equal(scores[:, :3], later[:, :3])
    assert not torch.allclose(scores[:, 3], later[:, 3])
    other = model(torch.tensor([[1, 2, 9]]), target)
    assert not torch.allclose(scores[:, 0], other[:, 0])


@torch.no_grad()
def test_padding_of_the_source_changes_nothing_and_order_does() -> None:
    model = tiny()
    target = torch.tensor([[4, 5]])
    short = model(torch.tensor([[1, 2, 3]]), target)
    padded = model(torch.tensor([[1, 2, 3, 0, 0]]), target, torch.tensor([[True, True, True, False, False]]))
    assert torch.allclose(short, padded, atol=1e-6)
    assert not torch.allclose(short, model(torch.tensor([[3, 2, 1]]), target))


def test_one_matrix_serves_input_and_output() -> None:
    model = tiny()
    assert model.lm_head.weight is model.embedding.weight
    assert not any("positional" in name for name, _ in model.named_parameters())


def test_base_counts_what_its_formula_says() -> None:
    attention, feed_forward, norm = 4 * 512 * 512, 2 * 512 * 2048 + 2048 + 512, 2 * 512
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    assert counted() == 37000 * 512 + 6 * (encoder + decoder) == 63_045_632


TABLE_3 = [
    ({}, 65),
    ({"layers": 2}, 36),
    ({"layers": 4}, 50),
    ({"layers": 8}, 80),
    ({"d": 256}, 28),
    ({"d": 1024}, 168),
    ({"ff": 1024}, 53),
    ({"ff": 4096}, 90),
]
"""Variants of base in the paper's table 3, with their millions of parameters. Its rows with narrower keys, which the
module does not build, follow below by arithmetic."""


@pytest.mark.parametrize(("variant", "millions"), TABLE_3, ids=[str(variant or "base") for variant, _ in TABLE_3])
def test_41100_rows_give_table_3_and_37000_do_not(variant: dict[str, int], millions: int) -> None:
    assert round(counted(**variant, vocabulary=41_100) / 1e6) == millions
    assert round(counted(**variant) / 1e6) < millions


@pytest.mark.parametrize(("key_width", "millions"), [(16, 58), (32, 60)])
def test_narrower_keys_agree_too(key_width: int, millions: int) -> None:
    saved = 18 * 2 * 512 * 8 * (64 - key_width)  # queries and keys of 18 attentions
    assert round((counted(vocabulary=41_100) - saved) / 1e6) == millions
    assert round((counted() - saved) / 1e6) < millions


def test_no_vocabulary_outside_41004_to_41208_rows_gives_all_of_table_3() -> None:
    for rows, variant, millions in ((41_003, {"ff": 1024}, 53), (41_209, {"layers": 4}, 50)):
        assert round(counted(**variant, vocabulary=rows) / 1e6) != millions
    for rows in (41_004, 41_208):
        assert all(round(counted(**variant, vocabulary=rows) / 1e6) == millions for variant, millions in TABLE_3)


def test_big_wants_another_vocabulary() -> None:
    assert counted(d=1024, ff=4096, h=16) / 1e6 == pytest.approx(214.2, abs=0.05)
    assert counted(d=1024, ff=4096, h=16, vocabulary=41_100) / 1e6 == pytest.approx(218.4, abs=0.05)


def test_mt5s_output_matrix_is_its_own_and_the_librarys_is_not() -> None:
    tiny = {
        "num_layers": 1,
        "num_decoder_layers": 1,
        "d_model": 8,
        "d_ff": 16,
        "num_heads": 2,
        "d_kv": 4,
        "vocab_size": 50,
    }
    untied, tied = (
        describe(build_model(name, "MT5Config", tiny)).parameters
        for name in ("UntiedMT5", "MT5ForConditionalGeneration")
    )
    assert untied - tied == 50 * 8
