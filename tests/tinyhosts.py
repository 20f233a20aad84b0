"""Tiny random models of architectures that a host may add and the app does not ship.

Made as those of `tests.tinyfamilies`, every number drawn. ``HOOKED`` are read where their modules call for attention,
``UNREAD`` are not. Each maps a name, ``side type``, to how it is made.
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
IN_TURN = WIDER | {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 1}
HALF = IN_TURN | {"query_pre_attn_scalar": 7, "attn_logit_softcapping": 2.0}
OTHER_HALF = HALF | {"num_hidden_layers": 3, "layer_types": ["full_attention", *HALF["layer_types"]]}

HOOKED: Settings = {
    "encoder nomic_bert": ("masked-lm", WIDTHS),
    "encoder modernbert": (
        "masked-lm",
        WIDTHS
        | {"num_hidden_layers": 4, "local_attention": 6, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3},
    ),
    "decoder gemma2": ("causal-lm", HALF),
    "decoder gpt_oss": ("causal-lm", SHARED | {"head_dim": 6} | IN_TURN | EXPERTS),
    "decoder phi3": ("causal-lm", SHARED | {"hidden_size": 32, "sliding_window": 5, "partial_rotary_factor": 0.5}),
    "decoder qwen3": (
        "causal-lm",
        WIDER | {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    ),
    "both t5gemma": ("seq2seq-lm", {"encoder": HALF, "decoder": OTHER_HALF}),
    "both umt5": ("seq2seq-lm", T5),
    "both mbart": ("seq2seq-lm", BART),
    "both marian": ("seq2seq-lm", BART | {"scale_embedding": True}),
}
UNREAD: Settings = {
    "both fsmt": ("seq2seq-lm", BART | {"langs": ["en", "de"]}),
    "encoder mpnet": ("masked-lm", WIDTHS | {"max_position_embeddings": POSITIONS + 2}),
    "decoder bloom": ("causal-lm", {"hidden_size": 16, "n_layer": 2, "n_head": 4}),
    "decoder gptj": ("causal-lm", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": POSITIONS, "rotary_dim": 4}),
}
"""A sentence says so."""


@lru_cache
def make(name: str) -> Checkpoint:
    """A random checkpoint of an entry, in evaluation mode with eager attention; shared, and only to be read."""
    return build(name, *(HOOKED | UNREAD)[name])


def build(name: str, kind: Kind, settings: dict[str, Any], *, eager: bool = True) -> Checkpoint:
    """A random checkpoint of the type that ``name`` ends with."""
    import torch
    import transformers

    auto: Any = {
        "masked-lm": transformers.AutoModelForMaskedLM,
        "causal-lm": transformers.AutoModelForCausalLM,
        "seq2seq-lm": transformers.AutoModelForSeq2SeqLM,
    }[kind]
    torch.manual_seed(0)
    size = dict.fromkeys(("vocab_size", "src_vocab_size", "tgt_vocab_size"), len(tokenizer_of(kind)))
    settings = {
        key: part | size if isinstance(part, dict) and "hidden_size" in part else part for key, part in settings.items()
    }
    alone = {"is_decoder": True} if kind == "causal-lm" and "encoder_layers" in settings else {}
    config = transformers.AutoConfig.for_model(name.rpartition(" ")[2], **alone, **settings, **size)
    return drawn(name, kind, auto.from_config(config, **({"attn_implementation": "eager"} if eager else {})))
