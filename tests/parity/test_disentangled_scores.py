"""DeBERTa's scores taken apart, and read off as views, against transformers' own attention."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import DebertaV2Config, DebertaV2ForMaskedLM

from core.attention.architectures.disentangled import COMPONENTS, read


def library(span: int, shared: bool, **more: Any) -> DebertaV2ForMaskedLM:
    torch.manual_seed(0)
    config = DebertaV2Config(
        vocab_size=40,
        hidden_size=12,
        num_hidden_layers=3,
        num_attention_heads=3,
        intermediate_size=16,
        max_position_embeddings=32,
        max_relative_positions=span,
        type_vocab_size=0,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["c2p", "p2c"],
        share_att_key=shared,
        norm_rel_ebd="layer_norm",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **more,
    )
    made = DebertaV2ForMaskedLM(config).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.3)
    return made


@pytest.mark.parametrize(
    ("span", "shared", "length", "more"),
    [
        (-1, True, 11, {}),
        (5, True, 11, {}),
        (-1, False, 2, {}),
        (-1, True, 1, {}),
        (32, True, 20, {"position_buckets": 6}),  # as in the published versions 2 and 3
        (-1, True, 11, {"conv_kernel_size": 3, "conv_act": "gelu"}),  # as in version 2
    ],
)
def test_the_softmax_of_the_sum_is_what_the_library_returns(
    span: int, shared: bool, length: int, more: dict[str, Any]
) -> None:
    model, ids = library(span, shared, **more), torch.arange(4, 4 + length)[None]
    found = read(model, ids)
    with torch.no_grad():
        expected = model(input_ids=ids, output_attentions=True, output_hidden_states=True)
    for layer, attention in enumerate(expected.attentions):
        torch.testing.assert_close(found.scores[layer].sum(0).softmax(-1), attention[0], atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(found.weights[layer], attention[0], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.states, expected.hidden_states[-1], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(model.cls(found.states), expected.logits, atol=1e-4, rtol=1e-4)


def test_a_part_left_out_is_the_librarys_model_without_it() -> None:
    model, ids = library(-1, False), torch.arange(4, 15)[None]
    with torch.no_grad():
        for layer in model.deberta.encoder.layer:
            for projection in (layer.attention.self.pos_key_proj,):
                projection.weight.zero_()
                projection.bias.zero_()
        expected = model(input_ids=ids).logits  # its content-to-position term is nought
    found = model.cls(read(model, ids, [part for part in COMPONENTS if part != "c2p"]).states)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
