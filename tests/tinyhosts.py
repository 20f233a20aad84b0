"""Tiny random models of architectures that a host may add and the app does not ship: one or more settings of each.

Made as those of `tests.tinyfamilies`, every number drawn. ``HOSTS`` maps a name to how it is made.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from core.attention.architectures.hosts import SUMMARIES
from core.checkpoints.spec import Checkpoint, CheckpointSpec, Kind
from tests.tinyfamilies import POSITIONS, tokenizer_of

_WIDTHS: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": None,
}
_SHARED = _WIDTHS | {"num_key_value_heads": 2}
_WIDER = _SHARED | {"head_dim": 6}
_EXPERTS = _SHARED | {
    "num_experts": 2,
    "num_local_experts": 2,
    "num_experts_per_tok": 1,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
}
_IN_TURN = _WIDER | {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
_GPT: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS}
_BART: dict[str, Any] = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 1,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": None,
}
_T5: dict[str, Any] = {
    "d_model": 16,
    "d_kv": 6,
    "d_ff": 24,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 2,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 12,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
}
_XLM: dict[str, Any] = {
    "emb_dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "max_position_embeddings": POSITIONS,
    "pad_index": 0,
    "pad_token_id": 0,
}
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
_PADDED = _WIDTHS | {"max_position_embeddings": POSITIONS + 2}
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
_ENCODERS: dict[str, dict[str, Any]] = {
    "convbert": _WIDTHS | {"embedding_size": 8, "conv_kernel_size": 3},
    "convbert-one": _WIDTHS | {"embedding_size": 8, "head_ratio": 8, "conv_kernel_size": 3},
    "data2vec-text": _PADDED,
    "ernie": _WIDTHS | {"use_task_id": True},
    "esm": _PADDED | {"mask_token_id": 4, "position_embedding_type": "rotary", "token_dropout": True},
    "esm-absolute": _PADDED | {"mask_token_id": 4, "emb_layer_norm_before": True},
    "eurobert": _SHARED,
    "flaubert": _XLM,
    "funnel": _FUNNEL,
    "funnel-factorized": _FUNNEL | {"attention_type": "factorized", "separate_cls": False},
    "gte": _WIDTHS,
    "ibert": _PADDED,
    "jina_embeddings_v3": _WIDTHS,
    "layoutlm": _WIDTHS,
    "luke": _PADDED | {"use_entity_aware_attention": True, "entity_vocab_size": 5, "entity_emb_size": 8},
    "megatron-bert": _WIDTHS,
    "mobilebert": _WIDTHS | {"intra_bottleneck_size": 16, "embedding_size": 8},
    "mpnet": _PADDED,
    "nomic_bert": _WIDTHS,
    "nystromformer": _WIDTHS | {"conv_kernel_size": 3},
    "rembert": _WIDTHS | {"input_embedding_size": 8, "output_embedding_size": 8},
    "roberta-prelayernorm": _PADDED,
    "roc_bert": _WIDTHS | {"pronunciation_vocab_size": 300, "shape_vocab_size": 300},
    "roformer": _WIDTHS | {"embedding_size": 8},
    "roformer-values": _WIDTHS | {"embedding_size": 16, "rotary_value": True},
    "squeezebert": _WIDTHS | {"embedding_size": 16, "q_groups": 2, "k_groups": 2, "v_groups": 4},
    "tapas": _WIDTHS,
    "xlm-roberta-xl": _PADDED,
    "xmod": _PADDED | {"languages": ["en_XX"], "default_language": "en_XX"},
    "yoso": _WIDTHS,
    "yoso-convolved": _WIDTHS | {"conv_window": 3, "hash_code_len": 4},
}
_DECODERS: dict[str, dict[str, Any]] = {
    "apertus": _SHARED,
    "arcee": _WIDER,
    "biogpt": _WIDTHS,
    "bitnet": _SHARED,
    "bloom": _GPT,
    "bloom-after": _GPT | {"n_head": 2, "apply_residual_connection_post_layernorm": True},
    "codegen": _GPT | {"n_embd": 32, "n_head": 8, "rotary_dim": 2, "n_ctx": POSITIONS},
    "cohere": _SHARED | {"use_qk_norm": True},
    "cohere2": _IN_TURN,
    "cwm": _WIDER | {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]},
    "data2vec-text": _PADDED | {"is_decoder": True},
    "ernie4_5": _SHARED,
    "ernie4_5_moe": _EXPERTS | {"moe_num_experts": 2, "moe_k": 1, "moe_num_shared_experts": 1},
    "exaone4": _IN_TURN | {"sliding_window_pattern": 2},
    "falcon": _WIDTHS,
    "falcon-sloped": _WIDTHS | {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True},
    "falcon-new": _WIDTHS | {"new_decoder_architecture": True, "num_kv_heads": 2},
    "flex_olmo": _EXPERTS,
    "glm": _WIDER | {"partial_rotary_factor": 0.5, "head_dim": 8},
    "glm4": _WIDER | {"partial_rotary_factor": 0.5, "head_dim": 8},
    "gpt_bigcode": _GPT | {"n_inner": 24},
    "gpt_bigcode-every": _GPT | {"n_inner": 24, "multi_query": False, "scale_attn_weights": False},
    "gpt_neox_japanese": _WIDTHS | {"rotary_pct": 0.5},
    "granite": _SHARED | {"attention_multiplier": 0.3},
    "granitemoe": _EXPERTS | {"attention_multiplier": 0.3},
    "helium": _SHARED | {"head_dim": 4},
    "mellum": _EXPERTS | {"head_dim": 4},
    "ministral": _WIDER | {"sliding_window": 5},
    "mixtral": _EXPERTS,
    "modernbert-decoder": _WIDTHS | {"local_attention": 8, "num_hidden_layers": 3, "head_dim": 4},
    "mpt": {"d_model": 16, "n_heads": 4, "n_layers": 2, "max_seq_len": POSITIONS, "expansion_ratio": 2},
    "mpt-clipped": {
        "d_model": 16,
        "n_heads": 4,
        "n_layers": 2,
        "max_seq_len": POSITIONS,
        "expansion_ratio": 2,
        "attn_config": {"clip_qkv": 0.4, "alibi": False},
    },
    "nemotron": _WIDER | {"partial_rotary_factor": 0.5, "head_dim": 4},
    "olmo": _SHARED | {"clip_qkv": 0.5},
    "olmoe": _EXPERTS | {"clip_qkv": 0.5},
    "pegasus": _BART | {"encoder_layers": 3},
    "persimmon": _WIDTHS | {"qk_layernorm": True, "partial_rotary_factor": 0.5, "hidden_size": 32},
    "phimoe": _EXPERTS,
    "prophetnet": _PROPHETNET | {"add_cross_attention": False},
    "qwen2_moe": _EXPERTS,
    "qwen3_moe": _EXPERTS | {"head_dim": 6},
    "roformer": _WIDTHS | {"embedding_size": 8, "is_decoder": True},
    "seed_oss": _WIDER,
    "stablelm": _SHARED | {"qk_layernorm": True, "hidden_size": 32, "partial_rotary_factor": 0.5},
    "starcoder2": _SHARED | {"sliding_window": 5},
    "vaultgemma": _IN_TURN | {"attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 7},
    "xglm": {"d_model": 16, "ffn_dim": 24, "num_layers": 2, "attention_heads": 4, "max_position_embeddings": POSITIONS},
}
_LONG = _BART | {"block_size": 4, "max_position_embeddings": 128}
_LONGT5 = _T5 | {"num_decoder_layers": 2, "local_radius": 3, "global_block_size": 4}
_BOTH: dict[str, dict[str, Any]] = {
    "bigbird_pegasus": _LONG | {"num_random_blocks": 1, "use_bias": True},
    "bigbird_pegasus-whole": _LONG | {"attention_type": "original_full"},
    "blenderbot": _BART,
    "blenderbot-small": _BART,
    "fsmt": {name: value for name, value in _BART.items() if name != "bos_token_id"} | {"langs": ["en", "de"]},
    "led": {name: value for name, value in _BART.items() if name != "max_position_embeddings"}
    | {"attention_window": [4, 6], "max_encoder_position_embeddings": 128},
    "longt5": _LONGT5,
    "longt5-summaries": _LONGT5 | {"encoder_attention_type": "transient-global"},
    "mvp": _BART,
    "nllb-moe": _BART | {"num_experts": 2, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
    "pegasus": _BART,
    "pegasus_x": _LONG | {"num_global_tokens": 3, "encoder_layers": 3},
    "pegasus_x-still": _LONG | {"num_global_tokens": 3, "stagger_local_blocks": False},
    "plbart": _BART,
    "prophetnet": _PROPHETNET,
    "switch_transformers": _T5 | {"num_experts": 2, "num_sparse_encoder_layers": 0, "num_sparse_decoder_layers": 0},
    "umt5": _T5,
}
HOSTS: dict[str, tuple[Kind, dict[str, Any]]] = {
    **{f"encoder {name}": ("masked-lm", more) for name, more in _ENCODERS.items()},
    **{f"decoder {name}": ("causal-lm", more) for name, more in _DECODERS.items()},
    **{f"both {name}": ("seq2seq-lm", more) for name, more in _BOTH.items()},
}
_LATENT = _WIDTHS | {
    "num_key_value_heads": 4,
    "q_lora_rank": 8,
    "kv_lora_rank": 8,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 6,
    "v_head_dim": 5,
    "n_routed_experts": 4,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 12,
    "first_k_dense_replace": 1,
    "n_shared_experts": 1,
}
_CHOSEN = _LATENT | {"index_topk": POSITIONS, "index_n_heads": 2, "index_head_dim": 8}
_MIXED = _EXPERTS | {
    "head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_key_head_dim": 4,
    "linear_value_head_dim": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_conv_kernel_dim": 2,
}
_STATE = _SHARED | {
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
_GEMMA = _IN_TURN | {"query_pre_attn_scalar": 7}
_GEMMA_N = _IN_TURN | {"vocab_size_per_layer_input": 2_000, "hidden_size_per_layer_input": 4}
_ASKED_DECODERS: dict[str, dict[str, Any]] = {
    "afmoe": _EXPERTS | {"head_dim": 4},
    "bamba": _STATE | {"attn_layer_indices": [1]},
    "deepseek_v2": _LATENT | {"topk_method": "group_limited_greedy"},
    "deepseek_v3": _LATENT,
    "deepseek_v32": _CHOSEN,
    "doge": _SHARED,
    "exaone_moe": _EXPERTS,
    "falcon_h1": _STATE | {"head_dim": 4, "mamba_d_ssm": 32},
    "flint": _EXPERTS | {"head_dim": 4},
    "gemma3": {"text_config": _GEMMA, "vision_config": _SEES},
    "gemma4_text": _GEMMA_N | {"global_head_dim": 8},
    "glm4_moe": _EXPERTS | {"n_routed_experts": 2, "first_k_dense_replace": 1},
    "gpt_oss": _EXPERTS | _IN_TURN,
    "granite_swa": _IN_TURN,
    "granitemoehybrid": _STATE
    | {
        "layer_types": ["mamba", "attention"],
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
        "shared_intermediate_size": 12,
        "attention_multiplier": 0.3,
    },
    "hrm_text": _WIDTHS | {"num_hidden_layers": 1, "H_cycles": 1, "L_cycles": 2},
    "hunyuan_v1_dense": _WIDER,
    "inkling_text": _SHARED
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
    "jais2": _SHARED,
    "jamba": _EXPERTS
    | {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 4, "mamba_d_conv": 2, "mamba_dt_rank": 2},
    "kimi_linear": _LATENT
    | {
        "linear_head_dim": 4,
        "linear_num_heads": 2,
        "linear_conv_kernel_dim": 2,
        "topk_group": 1,
        "num_local_experts": 4,
        "layer_types": ["linear_attention", "full_attention"],
        "mlp_layer_types": ["dense", "sparse"],
    },
    "lfm2": _SHARED | {"layer_types": ["conv", "full_attention"], "block_auto_adjust_ff_dim": False},
    "llama4_text": _SHARED
    | {
        "head_dim": 4,
        "attention_chunk_size": 5,
        "num_local_experts": 2,
        "intermediate_size_mlp": 24,
        "no_rope_layers": [1, 0],
        "layer_types": ["chunked_attention", "full_attention"],
    },
    "mimo_v2_flash": _EXPERTS
    | {"head_dim": 6, "v_head_dim": 4, "sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]},
    "minicpm3": _LATENT,
    "minimax_m2": _EXPERTS | {"head_dim": 4},
    "nemotron_h": _SHARED
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
    "olmo_hybrid": _MIXED,
    "qwen3_5_text": _MIXED,
    "qwen3_next": _MIXED,
    "recurrent_gemma": _SHARED
    | {
        "num_hidden_layers": 3,
        "attention_window_size": 5,
        "block_types": ["recurrent", "recurrent", "attention"],
        "lru_width": 16,
    },
    "zamba2": _WIDTHS
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
_HALF = _GEMMA | {"attn_logit_softcapping": 2.0}
_OTHER_HALF = _HALF | {"num_hidden_layers": 3, "layer_types": ["full_attention", *_HALF["layer_types"]]}
ASKED: dict[str, tuple[Kind, dict[str, Any]]] = {
    "encoder esmc": ("masked-lm", _WIDTHS),
    **{f"decoder {name}": ("causal-lm", more) for name, more in _ASKED_DECODERS.items()},
    "both t5gemma": ("seq2seq-lm", {"encoder": _HALF, "decoder": _OTHER_HALF}),
}
"""Architectures that stand in no table: their own calls tell their queries and keys."""


def type_of(name: str, *, table: bool = False) -> str:
    """The model type of an entry: ``decoder bloom-after`` is a ``bloom``."""
    from transformers import CONFIG_MAPPING

    if name == "both longt5-summaries":  # by the name of a setting, as the table has it
        return SUMMARIES if table else "longt5"
    wanted = name.partition(" ")[2]
    return wanted if wanted in CONFIG_MAPPING else wanted.rpartition("-")[0]


def _both(settings: dict[str, Any]) -> bool:
    return "encoder_layers" in settings or "num_encoder_layers" in settings


@lru_cache
def make(name: str) -> Checkpoint:
    """A random checkpoint of an entry, in evaluation mode with eager attention; shared, and only to be read."""
    import torch
    import transformers

    kind, settings = (HOSTS | ASKED)[name]
    auto: Any = {
        "masked-lm": transformers.AutoModelForMaskedLM,
        "causal-lm": transformers.AutoModelForCausalLM,
        "seq2seq-lm": transformers.AutoModelForSeq2SeqLM,
    }[kind]
    tokenizer = tokenizer_of(kind)
    torch.manual_seed(0)
    size = {"vocab_size": len(tokenizer)}
    settings = {
        key: one | size if isinstance(one, dict) and "hidden_size" in one else one for key, one in settings.items()
    }
    words = {"n_words": len(tokenizer)} if "emb_dim" in settings else {}
    if "langs" in settings:
        words = {"src_vocab_size": len(tokenizer), "tgt_vocab_size": len(tokenizer)}
    config = transformers.AutoConfig.for_model(
        type_of(name),
        **({"is_decoder": True} if kind == "causal-lm" and _both(settings) else {}),
        **settings,
        **size,
        **words,
    )
    one_way = type_of(name) in ("nystromformer", "yoso")
    eager = {} if one_way else {"attn_implementation": "eager"}
    model = auto.from_config(config, **eager).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.3)
    model.requires_grad_(False)
    spec = CheckpointSpec(name, name, None, "encoder", kind, "directory", "a test", "-", True)
    return Checkpoint(model, tokenizer, spec)
