"""What stands in a block and in which order, by architecture. Data: one entry a model type and side.

A block is a few sub-layers, each with a way past it and a norm. Where the norm stands makes two families:

    after   x ← norm(x + sub(x))     the original Transformer, BERT and its relatives, GPT, BART, XLNet
    before  x ← x + sub(norm(x))     GPT-2, T5, LLaMA, M2M-100, ModernBERT; one more norm follows the last block

In Gemma 2 and 3 what a sub-layer made has a norm, too: x ← x + norm(sub(norm(x))), in OLMo 2 that alone: x ← x +
norm(sub(x)).

In GPT-J and Phi both parts read the same norm, and what they make is added at once: x ← x + attention(norm(x)) +
feed-forward(norm(x)). In GPT-NeoX each has a norm of its own, and the configuration says whether they are added at
once.

A Reformer has two streams, of which each sub-layer reads one and adds to the other:

    before  x1 ← x1 + attention(norm(x2)),  x2 ← x2 + feed-forward(norm(x1))

Names are written as in `core.attention.architectures.layout`, which says where the attention is. Names that a model
lacks at its settings are left out (a projection after small embeddings, the gate of a gated feed-forward, positions of
DeBERTa). What one projection makes together with another is followed by its part, as there: ``Wi:0/2``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.attention.architectures.layout import ADAPTERS, Place, Stack
from core.attention.inside import hosts
from core.attention.inside.plans import (
    BERTS,
    GEMMA2,
    GPT2,
    LLAMA,
    NORMED,
    OLMO2,
    PHI3,
    PLACES,
    SIDES,
    WORDS,
    Blueprint,
    bart,
    bert,
    t5,
)
from core.errors import NoAttentionMatrix

_XLNET = Blueprint(
    before=False,
    subs=(("attend", "layer.{i}.rel_attn.layer_norm"), ("feed", "layer.{i}.ff.layer_norm")),
    inner=("layer.{i}.ff.layer_1",),
    outer="layer.{i}.ff.layer_2",
    embed=(("token", "word_embedding"),),
    activation="ff_activation",
)
_REFORMER = "encoder.layers.{i}"
_ALBERT = "encoder.albert_layer_groups.{group}.albert_layers.{inner}"
_GPT_EMBED = (("token", "tokens_embed"), ("position", "positions_embed"))

TABLE: dict[str, dict[str, Blueprint]] = {
    "bert": BERTS,
    ADAPTERS: {"encoder": bert("output.output")},
    "roberta": BERTS,
    "xlm-roberta": BERTS,
    "camembert": BERTS,
    "electra": BERTS,
    "longformer": BERTS,
    "bert-generation": BERTS,
    "modernbert": {
        "encoder": Blueprint(
            before=True,
            subs=(("attend", "layers.{i}.attn_norm"), ("feed", "layers.{i}.mlp_norm")),
            inner=("layers.{i}.mlp.Wi:1/2",),
            gate=("layers.{i}.mlp.Wi:0/2",),
            outer="layers.{i}.mlp.Wo",
            embed=(("token", "embeddings.tok_embeddings"),),
            after=(("norm", "embeddings.norm"),),
            activation="hidden_activation",
            final="final_norm",
        )
    },
    "big_bird": {"encoder": bert(scale="rescale_embeddings")},
    "deberta": {"encoder": bert(after=(("projection", "embeddings.embed_proj"), NORMED))},
    "deberta-v2": {"encoder": bert(after=(("projection", "embeddings.embed_proj"), NORMED), more="encoder.conv")},
    "albert": {
        "encoder": Blueprint(
            before=False,
            subs=(("attend", f"{_ALBERT}.attention.LayerNorm"), ("feed", f"{_ALBERT}.full_layer_layer_norm")),
            inner=(f"{_ALBERT}.ffn",),
            outer=f"{_ALBERT}.ffn_output",
            embed=BERTS["encoder"].embed,
            after=(NORMED, ("projection", "encoder.embedding_hidden_mapping_in")),
        )
    },
    "distilbert": {
        "encoder": Blueprint(
            before=False,
            subs=(
                ("attend", "transformer.layer.{i}.sa_layer_norm"),
                ("feed", "transformer.layer.{i}.output_layer_norm"),
            ),
            inner=("transformer.layer.{i}.ffn.lin1",),
            outer="transformer.layer.{i}.ffn.lin2",
            embed=(("token", WORDS), ("position", PLACES)),
            after=(NORMED,),
            activation="activation",
        )
    },
    "xlm": {
        "encoder": Blueprint(
            before=False,
            subs=(("attend", "layer_norm1.{i}"), ("feed", "layer_norm2.{i}")),
            inner=("ffns.{i}.lin1",),
            outer="ffns.{i}.lin2",
            embed=(("token", "embeddings"), ("position", "position_embeddings"), ("language", "lang_embeddings")),
            after=(("norm", "layer_norm_emb"),),
            activation="gelu_activation",
        )
    },
    "xlnet": {"encoder": _XLNET, "decoder": _XLNET},
    "openai-gpt": {"decoder": replace(GPT2, before=False, embed=_GPT_EMBED, activation="afn", final="")},
    "gpt2": {"decoder": GPT2},
    "gpt_neo": {"decoder": GPT2},
    "gptj": {
        "decoder": replace(
            GPT2,
            subs=(("attend", "h.{i}.ln_1"), ("feed", "h.{i}.ln_1")),
            inner=("h.{i}.mlp.fc_in",),
            outer="h.{i}.mlp.fc_out",
            embed=(("token", "wte"),),
            parallel=True,
        )
    },
    "gpt_neox": {
        "decoder": Blueprint(
            before=True,
            subs=(("attend", "layers.{i}.input_layernorm"), ("feed", "layers.{i}.post_attention_layernorm")),
            inner=("layers.{i}.mlp.dense_h_to_4h",),
            outer="layers.{i}.mlp.dense_4h_to_h",
            embed=(("token", "embed_in"),),
            final="final_layer_norm",
            settings=(("parallel", "use_parallel_residual"),),
        )
    },
    "ctrl": {
        "decoder": Blueprint(
            before=True,
            subs=(("attend", "h.{i}.layernorm1"), ("feed", "h.{i}.layernorm2")),
            inner=("h.{i}.ffn.0",),
            outer="h.{i}.ffn.2",
            embed=(("token", "w"), ("position", "pos_encoding")),
            activation="relu",
            scale="always",
            final="layernorm",
        )
    },
    "reformer": {
        "decoder": Blueprint(
            before=True,
            subs=(("attend", f"{_REFORMER}.attention.layer_norm"), ("feed", f"{_REFORMER}.feed_forward.layer_norm")),
            inner=(f"{_REFORMER}.feed_forward.dense.dense",),
            outer=f"{_REFORMER}.feed_forward.output.dense",
            embed=(("token", WORDS), ("position", PLACES)),
            final="encoder.layer_norm",
            streams=2,
        )
    },
    "opt": {
        "decoder": Blueprint(
            before=True,
            subs=(("attend", "layers.{i}.self_attn_layer_norm"), ("feed", "layers.{i}.final_layer_norm")),
            inner=("layers.{i}.fc1",),
            outer="layers.{i}.fc2",
            embed=(("token", "embed_tokens"), ("position", "embed_positions")),
            activation="activation_function",
            final="final_layer_norm",
            widen="project_in",
            narrow="project_out",
            settings=(("before", "do_layer_norm_before"),),
        )
    },
    "llama": {"decoder": LLAMA},
    "mistral": {"decoder": LLAMA},
    "qwen2": {"decoder": LLAMA},
    "qwen3": {"decoder": LLAMA},
    "gemma": {"decoder": replace(LLAMA, from_one=True)},
    "smollm3": {"decoder": LLAMA},
    "olmo2": {"decoder": OLMO2},
    "olmo3": {"decoder": OLMO2},
    "gemma2": {"decoder": GEMMA2},
    "gemma3_text": {"decoder": GEMMA2},
    "phi": {
        "decoder": Blueprint(
            before=True,
            subs=(("attend", "layers.{i}.input_layernorm"), ("feed", "layers.{i}.input_layernorm")),
            inner=("layers.{i}.mlp.fc1",),
            outer="layers.{i}.mlp.fc2",
            embed=(("token", "embed_tokens"),),
            final="final_layernorm",
            parallel=True,
        )
    },
    "phi3": {"decoder": PHI3},
    "t5": {side: t5(side) for side in SIDES},
    "mt5": {side: t5(side) for side in SIDES},
    "bart": {side: bart(side) for side in SIDES},
    "marian": {side: bart(side, normed=False, scale="scale_embedding") for side in SIDES},
    "mbart": {side: bart(side, before=True, final=True) for side in SIDES},
    "m2m_100": {side: bart(side, before=True, normed=False, final=True) for side in SIDES},
    **hosts.TABLE,
}


def of(place: Place) -> Blueprint:
    """The blueprint of the block that an attention belongs to.

    Raises:
        NoAttentionMatrix: the architecture has none.
    """
    found = TABLE.get(place.stack.type, {}).get(place.stack.kind)
    if found is None or (found.unless and getattr(place.stack.config, found.unless)):
        raise NoAttentionMatrix(
            f"The blocks of a model of the type “{place.stack.type[:40]}” cannot be shown step by step here, or not at "
            f"its settings. Models of {len(TABLE)} other types can, such as BERT, GPT-2, LLaMA, T5 and BART."
        )
    decided: dict[str, Any] = {field: bool(getattr(place.stack.config, name)) for field, name in found.settings}
    return replace(found, **decided)


def narrowing(model: Any, stack: Stack) -> str:
    """The whole path of the projection behind the last norm, or "" where a model has none."""
    plan = TABLE.get(stack.type, {}).get(stack.kind)
    if plan is None or not plan.narrow:
        return ""
    trunk = model.get_submodule(stack.prefix.rstrip("."))
    return "" if getattr(trunk, plan.narrow, None) is None else stack.prefix + plan.narrow
