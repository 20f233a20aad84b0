"""A wide sweep of architectures that a host may add: those whose calls of attention are read, and those that are not.

Not among the tests of every change: ``python -m pytest tests/nightly``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from core.attention.ablation.ablate import heads_of, switch_off
from core.attention.architectures.layout import listed
from core.attention.architectures.vectors import each, vectors
from core.attention.capture import capture
from core.attention.inside.block import block
from core.attention.inside.lens import lens
from core.attention.word_maps import look
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, NoAttentionMatrix
from tests import tinyhosts as tiny
from tests.parity.test_attention_hosts import check_heads, check_maps, check_scores
from tests.parity.test_vectors import inputs_of
from tests.tinyfamilies import PLAIN, POSITIONS, text_for

_GPT: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS}
_STATE = tiny.SHARED | {
    "mamba_n_heads": 4,
    "mamba_d_head": 8,
    "mamba_d_state": 4,
    "mamba_d_conv": 2,
    "mamba_expand": 2,
    "mamba_chunk_size": 4,
}
_SEES = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}
_GEMMA = tiny.IN_TURN | {"query_pre_attn_scalar": 7}
_GEMMA_N = tiny.IN_TURN | {"vocab_size_per_layer_input": 2_000, "hidden_size_per_layer_input": 4}
_PROPHETNET: dict[str, Any] = {
    "hidden_size": 16,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "ngram": 2,
    "num_buckets": 8,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
    "decoder_start_token_id": 1,
}
_FUNNEL: dict[str, Any] = {
    "block_sizes": [2, 1, 1],
    "block_repeats": [1, 2, 1],
    "num_decoder_layers": 2,
    "d_model": 16,
    "n_head": 2,
    "d_head": 6,
    "d_inner": 24,
    "pad_token_id": 0,
}
_LONG = tiny.BART | {"block_size": 4, "max_position_embeddings": 128}
_LONGT5 = tiny.T5 | {"num_decoder_layers": 2, "local_radius": 3, "global_block_size": 4}
ENCODERS: dict[str, dict[str, Any]] = {
    "esm": tiny.PADDED | {"mask_token_id": 4, "position_embedding_type": "rotary", "token_dropout": True},
    "esm-absolute": tiny.PADDED | {"mask_token_id": 4, "emb_layer_norm_before": True},
    "eurobert": tiny.SHARED,
    "gte": tiny.WIDTHS,
    "jina_embeddings_v3": tiny.WIDTHS,
    "layoutlm": tiny.WIDTHS,
    "mobilebert": tiny.WIDTHS | {"intra_bottleneck_size": 16, "embedding_size": 8},
    "roberta-prelayernorm": tiny.PADDED,
    "roc_bert": tiny.WIDTHS | {"pronunciation_vocab_size": 300, "shape_vocab_size": 300},
    "xlm-roberta-xl": tiny.PADDED,
    "xmod": tiny.PADDED | {"languages": ["en_XX"], "default_language": "en_XX"},
    "esmc": tiny.WIDTHS,
}
DECODERS: dict[str, dict[str, Any]] = {
    "apertus": tiny.SHARED,
    "arcee": tiny.WIDER,
    "biogpt": tiny.WIDTHS,
    "bitnet": tiny.SHARED,
    "cohere": tiny.SHARED | {"use_qk_norm": True},
    "cohere2": tiny.IN_TURN,
    "ernie4_5": tiny.SHARED,
    "ernie4_5_moe": tiny.EXPERTS | {"moe_num_experts": 2, "moe_k": 1, "moe_num_shared_experts": 1},
    "exaone4": tiny.IN_TURN | {"sliding_window_pattern": 2},
    "flex_olmo": tiny.EXPERTS,
    "glm": tiny.WIDER | {"partial_rotary_factor": 0.5, "head_dim": 8},
    "glm4": tiny.WIDER | {"partial_rotary_factor": 0.5, "head_dim": 8},
    "gpt_bigcode": _GPT | {"n_inner": 24},
    "gpt_bigcode-every": _GPT | {"n_inner": 24, "multi_query": False, "scale_attn_weights": False},
    "granite": tiny.SHARED | {"attention_multiplier": 0.3},
    "granitemoe": tiny.EXPERTS | {"attention_multiplier": 0.3},
    "helium": tiny.SHARED | {"head_dim": 4},
    "mellum": tiny.EXPERTS | {"head_dim": 4},
    "mixtral": tiny.EXPERTS,
    "modernbert-decoder": tiny.WIDTHS | {"local_attention": 8, "num_hidden_layers": 3, "head_dim": 4},
    "nemotron": tiny.WIDER | {"partial_rotary_factor": 0.5, "head_dim": 4},
    "olmo": tiny.SHARED | {"clip_qkv": 0.5},
    "olmoe": tiny.EXPERTS | {"clip_qkv": 0.5},
    "persimmon": tiny.WIDTHS | {"qk_layernorm": True, "partial_rotary_factor": 0.5, "hidden_size": 32},
    "phimoe": tiny.EXPERTS,
    "qwen2_moe": tiny.EXPERTS,
    "qwen3_moe": tiny.EXPERTS | {"head_dim": 6},
    "stablelm": tiny.SHARED | {"qk_layernorm": True, "hidden_size": 32, "partial_rotary_factor": 0.5},
    "starcoder2": tiny.SHARED | {"sliding_window": 5},
    "vaultgemma": tiny.IN_TURN | {"attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 7},
    "afmoe": tiny.EXPERTS | {"head_dim": 4},
    "bamba": _STATE | {"attn_layer_indices": [1]},
    "deepseek_v2": tiny.LATENT | {"topk_method": "group_limited_greedy"},
    "doge": tiny.SHARED,
    "exaone_moe": tiny.EXPERTS,
    "falcon_h1": _STATE | {"head_dim": 4, "mamba_d_ssm": 32},
    "flint": tiny.EXPERTS | {"head_dim": 4},
    "gemma3": {"text_config": _GEMMA, "vision_config": _SEES},
    "gemma4_text": _GEMMA_N | {"global_head_dim": 8},
    "glm4_moe": tiny.EXPERTS | {"n_routed_experts": 2, "first_k_dense_replace": 1},
    "granite_swa": tiny.IN_TURN,
    "granitemoehybrid": _STATE
    | {
        "layer_types": ["mamba", "attention"],
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
        "shared_intermediate_size": 12,
        "attention_multiplier": 0.3,
    },
    "hrm_text": tiny.WIDTHS | {"num_hidden_layers": 1, "H_cycles": 1, "L_cycles": 2},
    "hunyuan_v1_dense": tiny.WIDER,
    "inkling_text": tiny.SHARED
    | {
        "head_dim": 4,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 2,
        "swa_head_dim": 6,
        "d_rel": 2,
        "rel_extent": 8,
        "sliding_window_size": 5,
        "layer_types": ["hybrid_sliding", "hybrid"],
    },
    "jais2": tiny.SHARED,
    "jamba": tiny.EXPERTS
    | {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 4, "mamba_d_conv": 2, "mamba_dt_rank": 2},
    "kimi_linear": tiny.LATENT
    | {
        "linear_head_dim": 4,
        "linear_num_heads": 2,
        "linear_conv_kernel_dim": 2,
        "topk_group": 1,
        "num_local_experts": 4,
        "layer_types": ["linear_attention", "full_attention"],
        "mlp_layer_types": ["dense", "sparse"],
    },
    "lfm2": tiny.SHARED | {"layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False},
    "llama4_text": tiny.SHARED
    | {
        "head_dim": 4,
        "attention_chunk_size": POSITIONS,
        "num_local_experts": 2,
        "intermediate_size_mlp": 24,
        "no_rope_layers": [1, 0],
        "layer_types": ["chunked_attention", "full_attention"],
    },
    "mimo_v2_flash": tiny.EXPERTS
    | {"head_dim": 6, "v_head_dim": 4, "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]},
    "minicpm3": tiny.LATENT,
    "minimax_m2": tiny.EXPERTS | {"head_dim": 4},
    "nemotron_h": tiny.SHARED
    | {
        "head_dim": 4,
        "mamba_num_heads": 4,
        "mamba_head_dim": 4,
        "ssm_state_size": 4,
        "chunk_size": 4,
        "n_groups": 1,
        "conv_kernel": 2,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 12,
    },
    "olmo_hybrid": tiny.MIXED,
    "qwen3_5_text": tiny.MIXED,
    "recurrent_gemma": tiny.SHARED
    | {
        "num_hidden_layers": 3,
        "attention_window_size": 5,
        "block_types": ["recurrent", "recurrent", "attention"],
        "lru_width": 16,
    },
    "zamba2": tiny.WIDTHS
    | {
        "num_hidden_layers": 5,
        "layers_block_type": ["mamba", "hybrid", "mamba", "hybrid", "hybrid"],
        "layer_types": ["mamba", "hybrid", "mamba", "hybrid", "hybrid"],
        "mamba_d_state": 4,
        "mamba_d_conv": 2,
        "n_mamba_heads": 2,
        "chunk_size": 4,
        "num_mem_blocks": 2,
        "use_mem_rope": True,
        "adapter_rank": 2,
        "use_shared_attention_adapter": True,
    },
}
BOTH: dict[str, dict[str, Any]] = {
    "blenderbot-small": tiny.BART,
    "nllb-moe": tiny.BART | {"num_experts": 2, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
    "switch_transformers": tiny.T5 | {"num_experts": 2, "num_sparse_encoder_layers": 0, "num_sparse_decoder_layers": 0},
}
READ = {
    **tiny.named("encoder", "masked-lm", ENCODERS),
    **tiny.named("decoder", "causal-lm", DECODERS),
    **tiny.named("both", "seq2seq-lm", BOTH),
}
UNREAD = {
    **tiny.named(
        "encoder",
        "masked-lm",
        {
            "convbert-one": tiny.WIDTHS | {"embedding_size": 8, "head_ratio": 8, "conv_kernel_size": 3},
            "funnel": _FUNNEL,
            "ibert": tiny.PADDED,
            "nystromformer": tiny.WIDTHS | {"conv_kernel_size": 3},
            "roformer": tiny.WIDTHS | {"embedding_size": 8},
            "squeezebert": tiny.WIDTHS | {"embedding_size": 16, "q_groups": 2, "k_groups": 2, "v_groups": 4},
            "yoso": tiny.WIDTHS,
        },
    ),
    **tiny.named(
        "decoder",
        "causal-lm",
        {
            "codegen": _GPT | {"n_embd": 32, "n_head": 8, "rotary_dim": 2, "n_ctx": POSITIONS},
            "falcon": tiny.WIDTHS,
            "falcon-sloped": tiny.WIDTHS | {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True},
            "gpt_neox_japanese": tiny.WIDTHS | {"rotary_pct": 0.5},
            "mpt": {"d_model": 16, "n_heads": 4, "n_layers": 2, "max_seq_len": POSITIONS, "expansion_ratio": 2},
        },
    ),
    **tiny.named(
        "both",
        "seq2seq-lm",
        {
            "fsmt": {name: value for name, value in tiny.BART.items() if name != "bos_token_id"}
            | {"langs": ["en", "de"]},
            "led": {name: value for name, value in tiny.BART.items() if name != "max_position_embeddings"}
            | {"attention_window": [4, 6], "max_encoder_position_embeddings": 128},
            "longt5": _LONGT5,
            "pegasus_x": _LONG | {"num_global_tokens": 3, "encoder_layers": 3},
            "prophetnet": _PROPHETNET,
        },
    ),
}


def made(name: str) -> Checkpoint:
    return tiny.build(name, *(READ | UNREAD)[name], eager=name not in ("encoder nystromformer", "encoder yoso"))


@pytest.mark.parametrize("name", READ)
def test_queries_keys_and_heads_are_the_librarys(name: str) -> None:
    checkpoint = made(name)
    assert not listed(checkpoint)
    check_scores(checkpoint)
    check_maps(checkpoint)
    if name != "decoder bitnet":  # it norms what all heads together made before the projection reads it
        check_heads(checkpoint)


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read_has_a_map_or_a_sentence(name: str) -> None:
    checkpoint = made(name)
    target = "The dog sat." if checkpoint.spec.kind == "seq2seq-lm" else None
    try:
        maps = capture(checkpoint, PLAIN, target=target).maps
    except NoAttentionMatrix:
        maps = ()
    for found in maps:
        sums = found.weights.sum(-1)
        assert found.weights.min() >= 0
        assert np.abs(sums - 1).max() < 1e-2 or "Rows" in found.note
    for run in (
        lambda: capture(checkpoint, PLAIN, target=target, vectors=True),
        lambda: heads_of(checkpoint),
        lambda: switch_off(checkpoint, text_for(checkpoint)),
        lambda: block(checkpoint, text_for(checkpoint), 0),
    ):
        with pytest.raises(NoAttentionMatrix):
            run()
    for go in (lens, look):
        with suppress(AtlasError):
            go(checkpoint, text_for(checkpoint))  # type: ignore[operator]


def test_heads_of_one_model_may_differ_in_width() -> None:
    """Layers of a Gemma 4 that see all have wider heads; zeros fill up the others and change no product."""
    checkpoint = made("decoder gemma4_text")
    found = vectors(checkpoint, inputs_of(checkpoint))["decoder"]
    near, far = (met for _, met in each(checkpoint, inputs_of(checkpoint))["decoder"])
    assert (near.query.shape[-1], far.query.shape[-1]) == (6, 8)
    assert found.queries.shape == found.keys.shape == (2, 4, 14, 8)
    assert np.abs(found.queries[0, :, :, :6]).min() > 0
    assert not found.queries[0, :, :, 6:].any()
    np.testing.assert_allclose(
        found.queries[0] @ found.keys[0].transpose(0, 2, 1) * found.factor[0], near.terms["content"], atol=1e-5
    )
