"""Tiny random models of architectures that a host may add and the app does not ship.

Made as those of `tests.tinyfamilies`, every number drawn. ``HOOKED`` are read where their modules call for attention,
``UNREAD`` are not. Each maps a name, ``side type``, to how it is made; the
nightly tests have more.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from core.checkpoints.families import Kind
from core.checkpoints.spec import Checkpoint
from tests.tinyfamilies import BART, POSITIONS, T5, drawn, tokenizer_of

Settings = dict[str, tuple[Kind, dict[str, Any]]]

WIDTHS: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": POSITIONS,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": None,
}
SHARED = WIDTHS | {"num_key_value_heads": 2}
WIDER = SHARED | {"head_dim": 6}
EXPERTS = SHARED | {
    "num_experts": 2,
    "num_local_experts": 2,
    "num_experts_per_tok": 1,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
}
IN_TURN = WIDER | {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
PADDED = WIDTHS | {"max_position_embeddings": POSITIONS + 2}
LATENT = WIDTHS | {
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
MIXED = EXPERTS | {
    "head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_key_head_dim": 4,
    "linear_value_head_dim": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_conv_kernel_dim": 2,
}
HALF = IN_TURN | {"query_pre_attn_scalar": 7, "attn_logit_softcapping": 2.0}
OTHER_HALF = HALF | {"num_hidden_layers": 3, "layer_types": ["full_attention", *HALF["layer_types"]]}


def named(side: str, kind: Kind, settings: dict[str, dict[str, Any]]) -> Settings:
    """Settings by type, as entries by side and type."""
    return {f"{side} {name}": (kind, more) for name, more in settings.items()}


HOOKED: Settings = {
    **named("encoder", "masked-lm", {"ernie": WIDTHS | {"use_task_id": True}, "nomic_bert": WIDTHS}),
    **named(
        "decoder",
        "causal-lm",
        {
            "deepseek_v3": LATENT,
            "gemma2": HALF,
            "gpt_neox": WIDTHS | {"rotary_pct": 0.5},
            "gpt_oss": EXPERTS | IN_TURN,
            "opt": {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "ffn_dim": 24}
            | {"max_position_embeddings": POSITIONS, "word_embed_proj_dim": 8, "pad_token_id": 1},
            "phi3": SHARED | {"hidden_size": 32, "sliding_window": 5, "partial_rotary_factor": 0.5},
            "qwen3": WIDER | {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
            "qwen3_next": MIXED,
        },
    ),
    "both t5gemma": ("seq2seq-lm", {"encoder": HALF, "decoder": OTHER_HALF}),
    "both umt5": ("seq2seq-lm", T5),
}
UNREAD: Settings = {
    **named("encoder", "masked-lm", {"convbert": WIDTHS | {"embedding_size": 8}, "mpnet": PADDED}),
    **named(
        "decoder",
        "causal-lm",
        {
            "bloom": {"hidden_size": 16, "n_layer": 2, "n_head": 4},
            "gptj": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": POSITIONS, "rotary_dim": 4},
        },
    ),
    "both bigbird_pegasus": ("seq2seq-lm", BART | {"attention_type": "original_full"}),
}
"""Their maps are drawn."""


@lru_cache
def make(name: str) -> Checkpoint:
    """A random checkpoint of an entry, in evaluation mode with eager attention; shared, and only to be read."""
    return build(name, *(HOOKED | UNREAD)[name])


def build(name: str, kind: Kind, settings: dict[str, Any], *, eager: bool = True) -> Checkpoint:
    """A random checkpoint of the type that ``name`` ends with, up to a hyphen behind which a setting is told."""
    import torch
    import transformers

    auto: Any = {
        "masked-lm": transformers.AutoModelForMaskedLM,
        "causal-lm": transformers.AutoModelForCausalLM,
        "seq2seq-lm": transformers.AutoModelForSeq2SeqLM,
    }[kind]
    wanted = name.rpartition(" ")[2]
    type_ = wanted if wanted in transformers.CONFIG_MAPPING else wanted.rpartition("-")[0]
    tokenizer = tokenizer_of(kind)
    torch.manual_seed(0)
    size = {"vocab_size": len(tokenizer)}
    settings = {
        key: one | size if isinstance(one, dict) and "hidden_size" in one else one for key, one in settings.items()
    }
    alone = {"is_decoder": True} if kind == "causal-lm" and "encoder_layers" in settings else {}
    config = transformers.AutoConfig.for_model(type_, **alone, **settings, **size)
    model = auto.from_config(config, **({"attn_implementation": "eager"} if eager else {}))
    return drawn(name, kind, model)
