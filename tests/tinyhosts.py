"""Tiny random models of architectures that a host may add and the app does not ship.

Made as those of `tests.tinyfamilies`, every number drawn. ``HOOKED`` are read where their modules call for attention,
of ``RETURNED`` are the maps that their passes return, ``MAPLESS`` have none. Each maps a name, ``side type``, to how it
is made.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
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
    "decoder gemma3": (
        "causal-lm",
        {
            "text_config": WIDER | {"sliding_window": 5},
            "vision_config": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28},
            "mm_tokens_per_image": 4,
        },
    ),
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
STATE = {"hidden_size": 16, "num_hidden_layers": 2, "bos_token_id": 0, "eos_token_id": 0}
_GPT: dict[str, Any] = {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS, "rotary_dim": 4}
_ENDS = {"bos_token_id": 0, "eos_token_id": 0}
RETURNED: Settings = {
    "both fsmt": ("seq2seq-lm", BART | {"langs": ["en", "de"]}),
    "both bigbird_pegasus": ("seq2seq-lm", BART | {"attention_type": "original_full"}),
    "encoder mpnet": ("masked-lm", WIDTHS | {"max_position_embeddings": POSITIONS + 2}),
    "encoder deberta": (
        "masked-lm",
        WIDTHS | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 8},
    ),
    "encoder convbert": ("masked-lm", WIDTHS | {"embedding_size": 16}),
    "encoder nystromformer": ("masked-lm", WIDTHS | {"conv_kernel_size": 5}),
    "decoder bloom": ("causal-lm", {"hidden_size": 16, "n_layer": 2, "n_head": 4} | _ENDS),
    "decoder gptj": ("causal-lm", _GPT | _ENDS),
    "decoder codegen": ("causal-lm", _GPT | _ENDS),
    "decoder falcon": ("causal-lm", STATE | {"num_attention_heads": 4}),
    "decoder mpt": ("causal-lm", {"d_model": 16, "n_layers": 2, "n_heads": 4, "max_seq_len": POSITIONS}),
}
"""Their passes return maps, but not from which queries and keys."""
MAPLESS: Settings = {
    "encoder squeezebert": (
        "masked-lm",
        WIDTHS | {"embedding_size": 16} | {f"{part}_groups": 2 for part in ("q", "k", "v", "intermediate", "output")},
    ),
    "encoder fnet": ("masked-lm", WIDTHS),
    "encoder funnel": (
        "masked-lm",
        {"d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 24, "block_sizes": [1, 1], "num_decoder_layers": 1},
    ),
    "encoder yoso": ("masked-lm", WIDTHS),
    "decoder mamba": ("causal-lm", STATE | {"state_size": 4}),
    "decoder rwkv": ("causal-lm", STATE | {"attention_hidden_size": 16, "intermediate_size": 24, "context_length": 64}),
    "both led": (
        "seq2seq-lm",
        BART
        | {f"max_{side}_position_embeddings": POSITIONS for side in ("encoder", "decoder")}
        | {"attention_window": 4},
    ),
    "both longt5": ("seq2seq-lm", T5 | {"local_radius": 4}),
    "both pegasus_x": ("seq2seq-lm", BART | {"block_size": 4, "num_global_tokens": 2}),
    "both prophetnet": (
        "seq2seq-lm",
        {f"num_{side}_{of}": 2 for side in ("encoder", "decoder") for of in ("layers", "attention_heads")}
        | {"encoder_ffn_dim": 24, "decoder_ffn_dim": 24, "hidden_size": 16, "max_position_embeddings": POSITIONS}
        | {"num_buckets": 4, "relative_max_distance": 8}
        | {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1, "decoder_start_token_id": 1},
    ),
}
"""Without a matrix of attention, or what is returned is none."""


ALL = HOOKED | RETURNED | MAPLESS


@lru_cache
def make(name: str) -> Checkpoint:
    """A random checkpoint of an entry, in evaluation mode with eager attention; shared, and only to be read."""
    return build(name, *ALL[name])


def folder(name: str, root: Path) -> Path:
    """A ``save_pretrained`` folder with the model and its tokenizer."""
    checkpoint = make(name)
    checkpoint.model.save_pretrained(root)
    checkpoint.tokenizer.save_pretrained(root)
    return root


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
