"""What stands in a block and in which order, by architecture. Data: one row a model type and side.

A block is a few sub-layers, each with a way past it and a norm. Where the norm stands makes two families:

    after   x ← norm(x + sub(x))     the original Transformer, BERT and its relatives, GPT, BART, XLNet
    before  x ← x + sub(norm(x))     GPT-2, T5, LLaMA, M2M-100; one more norm follows the last block

A Reformer has two streams, of which each sub-layer reads one and adds to the other:

    before  x1 ← x1 + attention(norm(x2)),  x2 ← x2 + feed-forward(norm(x1))

Rows are for the architectures that come with the app, and for others that are built of the same parts. Names are
written as in `core.attention.architectures.layout`, which says where the attention is. Names that a model lacks at its
settings are left out (a projection after small embeddings, the gate of a gated feed-forward, positions of DeBERTa).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from core.attention.architectures.layout import ADAPTERS, AttentionLayer
from core.errors import NoAttentionMatrix

Sub = Literal["attend", "cross", "feed"]


@dataclass(frozen=True, slots=True)
class Blueprint:
    """One side of an architecture."""

    before: bool
    """Whether norms stand with their sub-layers, and not behind the sum."""
    subs: tuple[tuple[Sub, str], ...]
    """The sub-layers in order, each with its norm; what a model has not (``cross`` without an encoder) is left out."""
    inner: tuple[str, ...]
    """The first projection of the feed-forward part, under the names that it may have."""
    outer: str
    """The second; what it reads is the activation."""
    embed: tuple[tuple[str, str], ...]
    """What the embedding is the sum of: (what it tells, module)."""
    after: tuple[tuple[Literal["norm", "projection"], str], ...] = ()
    """What follows the sum."""
    gate: tuple[str, ...] = ()
    """The projection that is multiplied with the first one, after the activation."""
    activation: str = "hidden_act"
    """What the configuration calls the activation."""
    scale: str = ""
    """The setting that multiplies vectors of tokens by the root of the width; ``always`` where it needs none."""
    final: str = ""
    """The norm after the last block."""
    streams: int = 1
    """2 where attention adds to one stream and the feed-forward part to another (Reformer)."""
    more: str = ""
    """A convolution beside the first block (DeBERTa version 2)."""


Sides = dict[Literal["encoder", "decoder"], Blueprint]
_WORDS = "embeddings.word_embeddings"
_POSITIONS = "embeddings.position_embeddings"
_NORMED: tuple[Literal["norm"], str] = ("norm", "embeddings.LayerNorm")
_LAYER = "encoder.layer.{i}"


def _bert(put: str = "output", **more: Any) -> Blueprint:
    """As BERT has it; with the given fields in place of its own."""
    found = Blueprint(
        before=False,
        subs=(
            ("attend", f"{_LAYER}.attention.{put}.LayerNorm"),
            ("cross", f"{_LAYER}.crossattention.output.LayerNorm"),
            ("feed", f"{_LAYER}.{put}.LayerNorm"),
        ),
        inner=(f"{_LAYER}.intermediate.dense",),
        outer=f"{_LAYER}.{put}.dense",
        embed=(("token", _WORDS), ("position", _POSITIONS), ("segment", "embeddings.token_type_embeddings")),
        after=(_NORMED, ("projection", "embeddings_project")),
    )
    return replace(found, **more)


def _both(of: Blueprint) -> Sides:
    return {"encoder": of, "decoder": of}


def _bart(*, before: bool = False) -> Sides:
    """As BART has it; or with norms before, and then one behind the last block in place of the embedding's."""

    def side(name: str) -> Blueprint:
        layer = f"{name}.layers.{{i}}"
        cross: tuple[tuple[Sub, str], ...] = (("cross", f"{layer}.encoder_attn_layer_norm"),)
        return Blueprint(
            before=before,
            subs=(
                ("attend", f"{layer}.self_attn_layer_norm"),
                *(cross if name == "decoder" else ()),
                ("feed", f"{layer}.final_layer_norm"),
            ),
            inner=(f"{layer}.fc1",),
            outer=f"{layer}.fc2",
            embed=(("token", f"{name}.embed_tokens"), ("position", f"{name}.embed_positions")),
            after=() if before else (("norm", f"{name}.layernorm_embedding"),),
            activation="activation_function",
            final=f"{name}.layer_norm" if before else "",
        )

    return {"encoder": side("encoder"), "decoder": side("decoder")}


def _t5(side: str) -> Blueprint:
    """As T5 has it, on one side."""
    layer, last = f"{side}.block.{{i}}.layer", 2 if side == "decoder" else 1
    cross: tuple[tuple[Sub, str], ...] = (("cross", f"{layer}.1.layer_norm"),) if side == "decoder" else ()
    feed = f"{layer}.{last}.DenseReluDense"
    return Blueprint(
        before=True,
        subs=(("attend", f"{layer}.0.layer_norm"), *cross, ("feed", f"{layer}.{last}.layer_norm")),
        inner=(f"{feed}.wi", f"{feed}.wi_1"),
        outer=f"{feed}.wo",
        gate=(f"{feed}.wi_0",),
        embed=(("token", f"{side}.embed_tokens"),),
        activation="dense_act_fn",
        final=f"{side}.final_layer_norm",
    )


_BERT = _both(_bert())
_T5: Sides = {"encoder": _t5("encoder"), "decoder": _t5("decoder")}
_LLAMA: Sides = {
    "decoder": Blueprint(
        before=True,
        subs=(("attend", "layers.{i}.input_layernorm"), ("feed", "layers.{i}.post_attention_layernorm")),
        inner=("layers.{i}.mlp.up_proj",),
        gate=("layers.{i}.mlp.gate_proj",),
        outer="layers.{i}.mlp.down_proj",
        embed=(("token", "embed_tokens"),),
        final="norm",
    )
}
_GPT2 = Blueprint(
    before=True,
    subs=(("attend", "h.{i}.ln_1"), ("cross", "h.{i}.ln_cross_attn"), ("feed", "h.{i}.ln_2")),
    inner=("h.{i}.mlp.c_fc",),
    outer="h.{i}.mlp.c_proj",
    embed=(("token", "wte"), ("position", "wpe")),
    activation="activation_function",
    final="ln_f",
)
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

TABLE: dict[str, Sides] = {
    **dict.fromkeys(
        ("bert", "bert-generation", "camembert", "data2vec-text", "electra", "longformer", "roberta", "xlm-roberta"),
        _BERT,
    ),
    ADAPTERS: {"encoder": _bert("output.output")},
    "big_bird": {"encoder": _bert(scale="rescale_embeddings")},
    "deberta-v2": {"encoder": _bert(after=(("projection", "embeddings.embed_proj"), _NORMED), more="encoder.conv")},
    "albert": {
        "encoder": Blueprint(
            before=False,
            subs=(("attend", f"{_ALBERT}.attention.LayerNorm"), ("feed", f"{_ALBERT}.full_layer_layer_norm")),
            inner=(f"{_ALBERT}.ffn",),
            outer=f"{_ALBERT}.ffn_output",
            embed=_BERT["encoder"].embed,
            after=(_NORMED, ("projection", "encoder.embedding_hidden_mapping_in")),
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
            embed=(("token", _WORDS), ("position", _POSITIONS)),
            after=(_NORMED,),
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
    "xlnet": _both(_XLNET),
    "openai-gpt": {"decoder": replace(_GPT2, before=False, embed=_GPT_EMBED, activation="afn", final="")},
    "gpt2": {"decoder": _GPT2},
    "gpt_neo": {"decoder": _GPT2},
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
            embed=(("token", _WORDS), ("position", _POSITIONS)),
            final="encoder.layer_norm",
            streams=2,
        )
    },
    **dict.fromkeys(("llama", "cwm", "ministral", "mistral", "qwen2", "seed_oss"), _LLAMA),
    **dict.fromkeys(("t5", "mt5"), _T5),
    **dict.fromkeys(("bart", "mvp", "plbart"), _bart()),
    **dict.fromkeys(("blenderbot", "m2m_100", "pegasus"), _bart(before=True)),
}


def blueprint_of(layer: AttentionLayer) -> Blueprint:
    """The blueprint of the block that an attention belongs to.

    Raises:
        NoAttentionMatrix: the architecture has none.
    """
    found = TABLE.get(layer.stack.type, {}).get(layer.stack.kind)
    if found is None:
        raise NoAttentionMatrix(
            f"The blocks of a model of the type “{layer.stack.type[:40]}” cannot be shown step by step here. Models "
            "such as BERT, GPT-2, LLaMA, T5 and BART can."
        )
    return found
