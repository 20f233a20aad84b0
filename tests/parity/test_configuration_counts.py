"""The editor's counts against transformers: every published size that it holds, and settings of a visitor's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core import anatomy, catalogue
from core.anatomy.build import build_model, describe
from core.costs.blueprint import tree
from core.costs.start import start

EXACT = (
    "gpt", "bert", "gpt-2", "gpt-3", "roberta", "albert", "ctrl", "bart", "distilbert", "t5", "xlm-r", "minilm",
    "m2m-100", "gpt-neo", "byt5", "gpt-j", "llama",
)  # fmt: skip


@pytest.mark.parametrize("slug", EXACT)
def test_the_editor_holds_these_systems_to_the_last_parameter(slug: str) -> None:
    for size in catalogue.get(slug).sizes:
        if size.architecture.startswith(("Deepseek", "Mixtral")):
            continue
        assert tree(start(slug, size.name)).parameters == anatomy.counts(slug)[size.name], size.name


_OWN: dict[str, tuple[str, str, dict[str, Any], tuple[str, str], dict[str, Any]]] = {
    "bert": (
        "BertModel", "BertConfig",
        {"hidden_size": 96, "num_hidden_layers": 5, "num_attention_heads": 6, "intermediate_size": 100,
         "vocab_size": 501, "max_position_embeddings": 77, "type_vocab_size": 3},
        ("bert", "base"),
        {"width": 96, "layers": 5, "heads": 6, "kv_heads": 6, "ffn": 100, "vocabulary": 501, "positions": 77,
         "segments": 3},
    ),
    "bert with its masked-word head": (
        "BertForMaskedLM", "BertConfig", {"num_hidden_layers": 2}, ("bert", "base"), {"layers": 2, "head": "masked"},
    ),
    "albert's masked words": (
        "AlbertForMaskedLM", "AlbertConfig",
        {"embedding_size": 128, "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
         "intermediate_size": 3072},
        ("albert", "base"), {"head": "masked"},
    ),
    "gpt-2, output matrix of its own": (
        "GPT2LMHeadModel", "GPT2Config", {"n_layer": 3, "n_head": 8, "tie_word_embeddings": False},
        ("gpt-2", "small"), {"layers": 3, "heads": 8, "kv_heads": 8, "tied": False},
    ),
    "mistral, two key-value heads": (
        "MistralForCausalLM", "MistralConfig",
        {"num_hidden_layers": 2, "num_key_value_heads": 2, "hidden_size": 256, "num_attention_heads": 8,
         "head_dim": 32, "intermediate_size": 600, "vocab_size": 1000},
        ("llama", "7B"),
        {"layers": 2, "kv_heads": 2, "width": 256, "heads": 8, "ffn": 600, "vocabulary": 1000},
    ),
    "gemma, wide heads, tied": (
        "GemmaForCausalLM", "GemmaConfig",
        {"num_hidden_layers": 2, "num_key_value_heads": 1, "hidden_size": 256, "num_attention_heads": 4,
         "head_dim": 96, "intermediate_size": 600, "vocab_size": 1000},
        ("llama", "7B"),
        {"layers": 2, "kv_heads": 1, "width": 256, "heads": 4, "head_dim": 96, "ffn": 600, "vocabulary": 1000,
         "tied": True},
    ),
    "qwen 2": (
        "Qwen2ForCausalLM", "Qwen2Config",
        {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 4,
         "intermediate_size": 600, "vocab_size": 1000, "tie_word_embeddings": True},
        ("llama", "7B"),
        {"layers": 2, "kv_heads": 4, "width": 256, "heads": 8, "ffn": 600, "vocabulary": 1000, "tied": True,
         "style": "qwen2"},
    ),
    "qwen 3": (
        "Qwen3ForCausalLM", "Qwen3Config",
        {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 4,
         "head_dim": 64, "intermediate_size": 600, "vocab_size": 1000},
        ("llama", "7B"),
        {"layers": 2, "kv_heads": 4, "width": 256, "heads": 8, "head_dim": 64, "ffn": 600, "vocabulary": 1000,
         "style": "qwen3"},
    ),
    "t5 with a gate": (
        "T5ForConditionalGeneration", "T5Config",
        {"num_layers": 3, "num_decoder_layers": 2, "feed_forward_proj": "gated-gelu", "d_ff": 700},
        ("t5", "small"), {"layers": 3, "decoder_layers": 2, "gated": True, "ffn": 700},
    ),
    "bart": (
        "BartForConditionalGeneration", "BartConfig",
        {"encoder_layers": 2, "decoder_layers": 4, "d_model": 64, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96,
         "encoder_attention_heads": 4, "decoder_attention_heads": 4, "vocab_size": 777,
         "max_position_embeddings": 50},
        ("bart", "base"),
        {"layers": 2, "decoder_layers": 4, "width": 64, "heads": 4, "kv_heads": 4, "ffn": 96, "vocabulary": 777,
         "positions": 50},
    ),
    "mbart": (
        "MBartForConditionalGeneration", "MBartConfig",
        {"encoder_layers": 2, "decoder_layers": 2, "d_model": 64, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96,
         "encoder_attention_heads": 4, "decoder_attention_heads": 4, "vocab_size": 777,
         "max_position_embeddings": 50},
        ("bart", "base"),
        {"layers": 2, "decoder_layers": 2, "width": 64, "heads": 4, "kv_heads": 4, "ffn": 96, "vocabulary": 777,
         "positions": 50, "style": "pegasus"},
    ),
    "opt": (
        "OPTForCausalLM", "OPTConfig",
        {"num_hidden_layers": 2, "hidden_size": 64, "ffn_dim": 96, "num_attention_heads": 4, "vocab_size": 777,
         "word_embed_proj_dim": 64, "max_position_embeddings": 50},
        ("gpt-2", "small"),
        {"layers": 2, "width": 64, "heads": 4, "kv_heads": 4, "ffn": 96, "vocabulary": 777, "positions": 52},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _OWN)
def test_settings_of_one_s_own_count_as_the_library_counts(name: str) -> None:
    architecture, config, arguments, origin, values = _OWN[name]
    built = describe(build_model(architecture, config, arguments))
    assert tree(replace(start(*origin), **values)).parameters == built.parameters
