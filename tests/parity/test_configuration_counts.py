"""The editor's counts against transformers: every published size that it holds, and settings of a visitor's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core import anatomy, catalogue
from core.anatomy.build import build_model, describe
from core.anatomy.roles import by_role
from core.costs.blueprint import tree, used
from core.costs.remarks import no_editor
from core.costs.start import start
from core.errors import OutOfRange


def _sizes() -> list[tuple[str, str]]:
    """Every size that is a stack of attention layers over one table of words."""
    return [(s.slug, size.name) for s in catalogue.systems() for size in s.sizes if not no_editor(s.slug, size.name)]


def test_what_the_editor_refuses_has_no_attention_layers_or_two_towers() -> None:
    held = {slug for slug, _ in _sizes()}
    assert {s.slug for s in catalogue.systems() if s.sizes} - held == {"elmo", "clip", "mamba"}
    words = [size.name for size in catalogue.get("transformer-xl").sizes if size.architecture == "TransformerXLModel"]
    assert not {("transformer-xl", name) for name in words} & set(_sizes())
    with pytest.raises(OutOfRange, match="cuts its vocabulary into bins"):
        start("transformer-xl", words[0])


@pytest.mark.parametrize(("slug", "size"), _sizes())
def test_the_editor_holds_every_size_to_the_last_parameter_and_part(slug: str, size: str) -> None:
    one = tree(start(slug, size))
    assert one.parameters == anatomy.counts(slug)[size]
    assert by_role(one) == by_role(anatomy.tree(slug, size))


_OWN: dict[str, tuple[str, str, dict[str, Any], tuple[str, str], dict[str, Any]]] = {
    "bert": (
        "BertModel",
        "BertConfig",
        {
            "hidden_size": 96,
            "num_hidden_layers": 5,
            "num_attention_heads": 6,
            "intermediate_size": 100,
            "vocab_size": 501,
            "max_position_embeddings": 77,
            "type_vocab_size": 3,
        },
        ("bert", "base"),
        {
            "width": 96,
            "layers": 5,
            "heads": 6,
            "kv_heads": 6,
            "ffn": 100,
            "vocabulary": 501,
            "positions": 77,
            "segments": 3,
        },
    ),
    "bert with its masked-word head": (
        "BertForMaskedLM",
        "BertConfig",
        {"num_hidden_layers": 2},
        ("bert", "base"),
        {"layers": 2, "head": "masked"},
    ),
    "albert's masked words": (
        "AlbertForMaskedLM",
        "AlbertConfig",
        {
            "embedding_size": 128,
            "num_hidden_layers": 12,
            "hidden_size": 768,
            "num_attention_heads": 12,
            "intermediate_size": 3072,
        },
        ("albert", "base"),
        {"head": "masked"},
    ),
    "gpt-2, output matrix of its own": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {"n_layer": 3, "n_head": 8, "tie_word_embeddings": False},
        ("gpt-2", "small"),
        {"layers": 3, "heads": 8, "kv_heads": 8, "tied": False},
    ),
    "mistral, two key-value heads": (
        "MistralForCausalLM",
        "MistralConfig",
        {
            "num_hidden_layers": 2,
            "num_key_value_heads": 2,
            "hidden_size": 256,
            "num_attention_heads": 8,
            "head_dim": 32,
            "intermediate_size": 600,
            "vocab_size": 1000,
        },
        ("llama", "7B"),
        {"layers": 2, "kv_heads": 2, "width": 256, "heads": 8, "ffn": 600, "vocabulary": 1000},
    ),
    "gemma, wide heads, tied": (
        "GemmaForCausalLM",
        "GemmaConfig",
        {
            "num_hidden_layers": 2,
            "num_key_value_heads": 1,
            "hidden_size": 256,
            "num_attention_heads": 4,
            "head_dim": 96,
            "intermediate_size": 600,
            "vocab_size": 1000,
        },
        ("llama", "7B"),
        {
            "layers": 2,
            "kv_heads": 1,
            "width": 256,
            "heads": 4,
            "head_dim": 96,
            "ffn": 600,
            "vocabulary": 1000,
            "tied": True,
        },
    ),
    "qwen 2": (
        "Qwen2ForCausalLM",
        "Qwen2Config",
        {
            "num_hidden_layers": 2,
            "hidden_size": 256,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "intermediate_size": 600,
            "vocab_size": 1000,
            "tie_word_embeddings": True,
        },
        ("llama", "7B"),
        {
            "layers": 2,
            "kv_heads": 4,
            "width": 256,
            "heads": 8,
            "ffn": 600,
            "vocabulary": 1000,
            "tied": True,
            "style": "qwen2",
        },
    ),
    "qwen 3": (
        "Qwen3ForCausalLM",
        "Qwen3Config",
        {
            "num_hidden_layers": 2,
            "hidden_size": 256,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 64,
            "intermediate_size": 600,
            "vocab_size": 1000,
        },
        ("llama", "7B"),
        {
            "layers": 2,
            "kv_heads": 4,
            "width": 256,
            "heads": 8,
            "head_dim": 64,
            "ffn": 600,
            "vocabulary": 1000,
            "style": "qwen3",
        },
    ),
    "t5 with a gate": (
        "T5ForConditionalGeneration",
        "T5Config",
        {"num_layers": 3, "num_decoder_layers": 2, "feed_forward_proj": "gated-gelu", "d_ff": 700},
        ("t5", "small"),
        {"layers": 3, "decoder_layers": 2, "gated": True, "ffn": 700},
    ),
    "bart": (
        "BartForConditionalGeneration",
        "BartConfig",
        {
            "encoder_layers": 2,
            "decoder_layers": 4,
            "d_model": 64,
            "encoder_ffn_dim": 96,
            "decoder_ffn_dim": 96,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "vocab_size": 777,
            "max_position_embeddings": 50,
        },
        ("bart", "base"),
        {
            "layers": 2,
            "decoder_layers": 4,
            "width": 64,
            "heads": 4,
            "kv_heads": 4,
            "ffn": 96,
            "vocabulary": 777,
            "positions": 50,
        },
    ),
    "mbart": (
        "MBartForConditionalGeneration",
        "MBartConfig",
        {
            "encoder_layers": 2,
            "decoder_layers": 2,
            "d_model": 64,
            "encoder_ffn_dim": 96,
            "decoder_ffn_dim": 96,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "vocab_size": 777,
            "max_position_embeddings": 50,
        },
        ("bart", "base"),
        {
            "layers": 2,
            "decoder_layers": 2,
            "width": 64,
            "heads": 4,
            "kv_heads": 4,
            "ffn": 96,
            "vocabulary": 777,
            "positions": 50,
            "style": "pegasus",
        },
    ),
    "opt": (
        "OPTForCausalLM",
        "OPTConfig",
        {
            "num_hidden_layers": 2,
            "hidden_size": 64,
            "ffn_dim": 96,
            "num_attention_heads": 4,
            "vocab_size": 777,
            "word_embed_proj_dim": 64,
            "max_position_embeddings": 50,
        },
        ("gpt-2", "small"),
        {"layers": 2, "width": 64, "heads": 4, "kv_heads": 4, "ffn": 96, "vocabulary": 777, "positions": 52},
    ),
    "deepseek, two dense layers, three shared experts": (
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        {
            "num_hidden_layers": 5,
            "hidden_size": 96,
            "num_attention_heads": 6,
            "num_key_value_heads": 6,
            "intermediate_size": 200,
            "moe_intermediate_size": 40,
            "n_routed_experts": 12,
            "n_shared_experts": 3,
            "num_experts_per_tok": 2,
            "n_group": 2,
            "topk_group": 1,
            "first_k_dense_replace": 2,
            "kv_lora_rank": 24,
            "q_lora_rank": 32,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 16,
            "v_head_dim": 20,
            "vocab_size": 500,
        },
        ("deepseek-v3", "671B"),
        {
            "layers": 5,
            "width": 96,
            "heads": 6,
            "kv_heads": 6,
            "ffn": 200,
            "inner": 40,
            "experts": 12,
            "common": 3,
            "active": 2,
            "dense": 2,
            "latent": 24,
            "query_latent": 32,
            "turned": 8,
            "head_dim": 16,
            "value": 20,
            "vocabulary": 500,
        },
    ),
    "deepseek without a latent of queries, from llama": (
        "DeepseekV3ForCausalLM",
        "DeepseekV3Config",
        {
            "num_hidden_layers": 3,
            "hidden_size": 96,
            "num_attention_heads": 6,
            "num_key_value_heads": 6,
            "intermediate_size": 200,
            "moe_intermediate_size": 40,
            "n_routed_experts": 8,
            "n_shared_experts": 1,
            "num_experts_per_tok": 2,
            "n_group": 2,
            "topk_group": 1,
            "first_k_dense_replace": 3,
            "kv_lora_rank": 24,
            "q_lora_rank": None,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 16,
            "v_head_dim": 16,
            "vocab_size": 500,
        },
        ("llama", "7B"),
        {
            "layers": 3,
            "width": 96,
            "heads": 6,
            "kv_heads": 6,
            "ffn": 200,
            "latent": 24,
            "turned": 8,
            "head_dim": 16,
            "vocabulary": 500,
        },
    ),
    "mixtral, from mistral": (
        "MixtralForCausalLM",
        "MixtralConfig",
        {
            "num_hidden_layers": 32,
            "hidden_size": 4096,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "intermediate_size": 14336,
            "num_local_experts": 8,
            "num_experts_per_tok": 2,
            "vocab_size": 32000,
        },
        ("mistral", "7B"),
        {"experts": 8},
    ),
    "qwen 3 with experts": (
        "Qwen3MoeForCausalLM",
        "Qwen3MoeConfig",
        {
            "num_hidden_layers": 2,
            "hidden_size": 256,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 64,
            "moe_intermediate_size": 60,
            "num_experts": 5,
            "num_experts_per_tok": 2,
            "vocab_size": 1000,
        },
        ("qwen", "3-235B-A22B"),
        {
            "layers": 2,
            "kv_heads": 4,
            "width": 256,
            "heads": 8,
            "head_dim": 64,
            "inner": 60,
            "experts": 5,
            "active": 2,
            "vocabulary": 1000,
        },
    ),
    "gemma 2": (
        "Gemma2ForCausalLM",
        "Gemma2Config",
        {
            "num_hidden_layers": 2,
            "num_key_value_heads": 2,
            "hidden_size": 256,
            "num_attention_heads": 4,
            "head_dim": 96,
            "intermediate_size": 600,
            "vocab_size": 1000,
        },
        ("gemma", "2-2B"),
        {"layers": 2, "kv_heads": 2, "width": 256, "heads": 4, "head_dim": 96, "ffn": 600, "vocabulary": 1000},
    ),
    "deberta": (
        "DebertaModel",
        "DebertaConfig",
        {
            "num_hidden_layers": 2,
            "hidden_size": 96,
            "num_attention_heads": 6,
            "intermediate_size": 100,
            "vocab_size": 501,
            "max_position_embeddings": 77,
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "type_vocab_size": 0,
            "position_biased_input": False,
        },
        ("deberta", "base"),
        {"layers": 2, "width": 96, "heads": 6, "kv_heads": 6, "ffn": 100, "vocabulary": 501, "positions": 77},
    ),
    "deberta 3": (
        "DebertaV2Model",
        "DebertaV2Config",
        {
            "num_hidden_layers": 2,
            "hidden_size": 96,
            "num_attention_heads": 6,
            "intermediate_size": 100,
            "vocab_size": 501,
            "relative_attention": True,
            "position_buckets": 30,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"],
            "type_vocab_size": 0,
            "position_biased_input": False,
        },
        ("deberta", "v3-small"),
        {"layers": 2, "width": 96, "heads": 6, "kv_heads": 6, "ffn": 100, "vocabulary": 501, "positions": 30},
    ),
    "xlnet": (
        "XLNetLMHeadModel",
        "XLNetConfig",
        {"n_layer": 2, "d_model": 96, "n_head": 6, "d_inner": 100, "vocab_size": 501},
        ("xlnet", "base"),
        {"layers": 2, "width": 96, "heads": 6, "kv_heads": 6, "ffn": 100, "vocabulary": 501},
    ),
    "longformer": (
        "LongformerForMaskedLM",
        "LongformerConfig",
        {
            "num_hidden_layers": 2,
            "hidden_size": 96,
            "num_attention_heads": 6,
            "intermediate_size": 100,
            "vocab_size": 501,
            "max_position_embeddings": 77,
            "type_vocab_size": 1,
            "attention_window": [8, 8],
        },
        ("longformer", "large"),
        {"layers": 2, "width": 96, "heads": 6, "kv_heads": 6, "ffn": 100, "vocabulary": 501, "positions": 77},
    ),
    "reformer": (
        "ReformerModelWithLMHead",
        "ReformerConfig",
        {
            "hidden_size": 96,
            "num_attention_heads": 3,
            "attention_head_size": 20,
            "feed_forward_size": 100,
            "vocab_size": 50,
            "attn_layers": ["local", "lsh", "local", "lsh", "local"],
            "axial_pos_shape": [4, 8],
            "axial_pos_embds_dim": [24, 72],
            "max_position_embeddings": 32,
            "num_buckets": 4,
            "is_decoder": True,
        },
        ("reformer", "crime-and-punishment"),
        {
            "layers": 5,
            "width": 96,
            "heads": 3,
            "kv_heads": 3,
            "head_dim": 20,
            "ffn": 100,
            "vocabulary": 50,
            "positions": 32,
            "axial": 4,
            "hashed": 2,
        },
    ),
    "electra": (
        "ElectraForPreTraining",
        "ElectraConfig",
        {
            "num_hidden_layers": 2,
            "hidden_size": 96,
            "num_attention_heads": 6,
            "intermediate_size": 100,
            "vocab_size": 501,
            "embedding_size": 40,
        },
        ("electra", "small"),
        {"layers": 2, "width": 96, "heads": 6, "kv_heads": 6, "ffn": 100, "vocabulary": 501, "embedding": 40},
    ),
    "xlm": (
        "XLMWithLMHeadModel",
        "XLMConfig",
        {"n_layers": 2, "emb_dim": 96, "n_heads": 6, "vocab_size": 501, "n_langs": 7, "max_position_embeddings": 77},
        ("xlm", "xnli15-1024"),
        {
            "layers": 2,
            "width": 96,
            "heads": 6,
            "kv_heads": 6,
            "ffn": 384,
            "vocabulary": 501,
            "segments": 7,
            "positions": 77,
        },
    ),
    "adapters": (
        "AdapterBertModel",
        "BertConfig",
        {"num_hidden_layers": 2, "adapter_size": 8},
        ("bert", "base"),
        {"layers": 2, "adapter": 8},
    ),
    "bert2bert": (
        "EncoderDecoderModel",
        "EncoderDecoderConfig",
        {
            "encoder": {"config": "BertConfig", "num_hidden_layers": 2},
            "decoder": {
                "config": "BertConfig",
                "num_hidden_layers": 3,
                "is_decoder": True,
                "add_cross_attention": True,
            },
        },
        ("bert2bert", "base"),
        {"layers": 2, "decoder_layers": 3},
    ),
    "bert's pretraining": (
        "BertForPreTraining",
        "BertConfig",
        {"num_hidden_layers": 2},
        ("bert", "base"),
        {"layers": 2, "head": "pretraining"},
    ),
    "modernbert": (
        "ModernBertForMaskedLM",
        "ModernBertConfig",
        {"num_hidden_layers": 3, "hidden_size": 96, "num_attention_heads": 6, "intermediate_size": 100},
        ("modernbert", "base"),
        {"layers": 3, "width": 96, "heads": 6, "kv_heads": 6, "ffn": 100},
    ),
}


@pytest.mark.parametrize("name", _OWN)
def test_settings_of_one_s_own_count_as_the_library_counts(name: str) -> None:
    architecture, config, arguments, origin, values = _OWN[name]
    built = describe(build_model(architecture, config, arguments))
    assert tree(replace(start(*origin), **values)).parameters == built.parameters


def test_what_a_token_uses_is_what_the_records_computed() -> None:
    assert used(start("deepseek-v3")) == 37_552_282_624
    assert used(start("qwen", "3-235B-A22B")) == 22_190_763_520
    mixtral = start("mistral").changed(experts=8)
    each = 3 * 4096 * 14336
    assert tree(mixtral).parameters == tree(start("mistral")).parameters + 32 * (7 * each + 8 * 4096) == 46_702_792_704
    assert used(mixtral) == 46_702_792_704 - 32 * 6 * each
    shared = mixtral.changed(shared=True)
    assert used(shared) == tree(shared).parameters - 6 * each
    two = start("t5").changed(experts=4, active=1)
    assert used(two) == tree(two).parameters - 3 * 12 * 2 * 512 * 2048
