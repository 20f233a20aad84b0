"""What stands in a block of architectures that a host may add: none of them ships with the app.

The same table as that of `core.attention.inside.blueprint`, which holds both. Architectures that stand in the table of
attention alone (`core.attention.architectures.hosts`) have blocks of another build: experts, norms within, factors
beside the sum.
"""

from __future__ import annotations

from dataclasses import replace

from core.attention.architectures.hosts import SUMMARIES
from core.attention.inside.plans import (
    BERTS,
    GPT2,
    LLAMA,
    NORMED,
    OLMO2,
    PHI3,
    PLACES,
    SEGMENTS,
    SIDES,
    WORDS,
    Blueprint,
    bart,
    bert,
    t5,
)

_LAYER = "encoder.layer.{i}"
_BEFORE = bert(before=True, after=())
_ROFORMER = bert(embed=(("token", WORDS), ("segment", SEGMENTS)))
_NEOX = Blueprint(
    before=True,
    subs=(("attend", "layers.{i}.input_layernorm"), ("feed", "layers.{i}.post_attention_layernorm")),
    inner=("layers.{i}.mlp.dense_h_to_4h",),
    outer="layers.{i}.mlp.dense_4h_to_h",
    embed=(("token", "embed_tokens"),),
    final="final_layernorm",
)
_XGLM = Blueprint(
    before=True,
    subs=(("attend", "layers.{i}.self_attn_layer_norm"), ("feed", "layers.{i}.final_layer_norm")),
    inner=("layers.{i}.fc1",),
    outer="layers.{i}.fc2",
    embed=(("token", "embed_tokens"), ("position", "embed_positions")),
    activation="activation_function",
    final="layer_norm",
)
_PEGASUS: dict[str, Blueprint] = {side: bart(side, before=True, normed=False, final=True) for side in SIDES}
_UNGATED = replace(LLAMA, gate=())

TABLE: dict[str, dict[str, Blueprint]] = {
    # encoders
    "data2vec-text": BERTS,
    "eurobert": {"encoder": LLAMA},
    "megatron-bert": {
        side: replace(
            _BEFORE,
            subs=(("attend", f"{_LAYER}.attention.ln"), ("feed", f"{_LAYER}.ln")),
            final="encoder.ln",
        )
        for side in SIDES
    },
    "mpnet": {
        "encoder": bert(
            subs=(("attend", f"{_LAYER}.attention.LayerNorm"), ("feed", f"{_LAYER}.output.LayerNorm")),
            embed=(("token", WORDS), ("position", PLACES)),
        )
    },
    "rembert": {side: bert(after=(NORMED, ("projection", "encoder.embedding_hidden_mapping_in"))) for side in SIDES},
    "roberta-prelayernorm": {
        side: replace(
            _BEFORE,
            subs=(("attend", f"{_LAYER}.attention.LayerNorm"), ("feed", f"{_LAYER}.intermediate.LayerNorm")),
            after=(NORMED,),
            final="LayerNorm",
        )
        for side in SIDES
    },
    "roformer": {"encoder": _ROFORMER, "decoder": _ROFORMER},
    "xlm-roberta-xl": {
        side: replace(
            _BEFORE,
            subs=(("attend", f"{_LAYER}.attention.self_attn_layer_norm"), ("feed", f"{_LAYER}.LayerNorm")),
            final="encoder.LayerNorm",
        )
        for side in SIDES
    },
    # decoders
    "arcee": {"decoder": _UNGATED},
    "biogpt": {"decoder": replace(_XGLM, activation="hidden_act")},
    "bloom": {
        "decoder": replace(
            _NEOX,
            subs=(("attend", "h.{i}.input_layernorm"), ("feed", "h.{i}.post_attention_layernorm")),
            inner=("h.{i}.mlp.dense_h_to_4h",),
            outer="h.{i}.mlp.dense_4h_to_h",
            embed=(("token", "word_embeddings"),),
            after=(("norm", "word_embeddings_layernorm"),),
            final="ln_f",
            unless="apply_residual_connection_post_layernorm",
        )
    },
    "cwm": {"decoder": LLAMA},
    "ernie4_5": {"decoder": LLAMA},
    "exaone4": {"decoder": OLMO2},
    "glm": {"decoder": PHI3},
    "gpt_bigcode": {"decoder": GPT2},
    "helium": {"decoder": LLAMA},
    "ministral": {"decoder": LLAMA},
    "mpt": {
        "decoder": replace(
            GPT2,
            subs=(("attend", "blocks.{i}.norm_1"), ("feed", "blocks.{i}.norm_2")),
            inner=("blocks.{i}.ffn.up_proj",),
            outer="blocks.{i}.ffn.down_proj",
            embed=(("token", "wte"),),
            final="norm_f",
        )
    },
    "olmo": {"decoder": LLAMA},
    "persimmon": {"decoder": _NEOX},
    "seed_oss": {"decoder": LLAMA},
    "starcoder2": {"decoder": replace(_UNGATED, inner=("layers.{i}.mlp.c_fc",), outer="layers.{i}.mlp.c_proj")},
    "xglm": {"decoder": _XGLM},
    # encoder-decoders
    "bigbird_pegasus": {
        "decoder": replace(bart("decoder", before=True, normed=False), final="decoder.layernorm_embedding")
    },
    "blenderbot": _PEGASUS,
    "led": {"decoder": bart("decoder")},
    "longt5": {"decoder": t5("decoder")},
    SUMMARIES: {"decoder": t5("decoder")},
    "mvp": {side: bart(side) for side in SIDES},
    "pegasus": _PEGASUS,
    "pegasus_x": {"decoder": _PEGASUS["decoder"]},
    "plbart": {side: bart(side) for side in SIDES},
    "umt5": {side: t5(side) for side in SIDES},
}
