"""The blocks of each architecture: its attention, its norms and its feed-forward part, by the names of transformers.

A block is a few sub-layers, each with a residual connection and a norm. Where the norm stands makes two families:

    post-norm  x ← norm(x + sub(x))     the original Transformer, BERT and its relatives, GPT, BART, XLNet
    pre-norm   x ← x + sub(norm(x))     GPT-2, T5, LLaMA, M2M-100; one more norm follows the last block

A Reformer has two streams, of which each sub-layer reads one and adds to the other:

    pre-norm   x1 ← x1 + attention(norm(x2)),  x2 ← x2 + feed-forward(norm(x1))

Data: a row for each model type that comes with the app, and for types with the same parts. Of any other type the
model's own attention calls are read (`core.attention.architectures.hooks`), and its blocks are not shown.

A name is a path below the base model, with ``{i}`` for the layer; ALBERT, whose layers share modules, counts groups,
too. A projection that computes several tensors at once is followed by the part that is meant: ``c_attn:0/3``. Names
that a model lacks at its settings are left out (a projection after small embeddings, the gate of a gated feed-forward).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

Score = Literal[
    "dot_product",
    "relative_bias",
    "local",
    "rope",
    "disentangled",
    "two_stream",
    "sliding_window",
    "block_sparse",
    "lsh",
    "hooked",
]
SubLayer = Literal["attention", "cross-attention", "feed-forward"]


@dataclass(frozen=True, slots=True)
class AttentionNames:
    """The modules of one kind of attention."""

    module: str
    """The module that computes scores and weights: its input has the mask, its output ends with the weights."""
    out: str
    """The projection of the joined heads; head h is the h-th of H equal parts of its input."""
    parts: str = "query key value"
    """The projections to queries, keys and values, below ``module``; empty where they are plain tensors (XLNet)."""
    score: Score = "dot_product"
    """How scores are computed from queries and keys: see `core.attention.architectures.scores`."""
    scale: Literal["root", "one", "own"] = "root"
    """What the product is multiplied by: d^-1/2, 1, or the module's ``scaling``."""
    mask: str = "attention_mask"
    """The module's argument with the mask."""
    heads: str = "num_attention_heads"
    """The configuration's field with the number of heads."""


@dataclass(frozen=True, slots=True)
class Blueprint:
    """The blocks of one side of an architecture."""

    attention: AttentionNames
    norms: dict[SubLayer, str]
    """The norm of each sub-layer, in the order of the block; cross-attention is left out of models without it."""
    inner: tuple[str, ...]
    """The first projection of the feed-forward part, under the names that it may have."""
    outer: str
    """The second; its input is the activation."""
    embedding: dict[str, str]
    """The modules whose vectors are summed to the input embeddings: token, position, segment, language."""
    pre_norm: bool = False
    cross: AttentionNames | None = None
    after_embedding: dict[Literal["norm", "projection"], str] = field(default_factory=dict)
    gate: str = ""
    """The projection that is multiplied with the first one, after the activation."""
    activation: str = "hidden_act"
    """The configuration's field with the activation, or its name."""
    scale: str = ""
    """The setting that multiplies token embeddings by the root of the hidden size; ``always`` where it needs none."""
    final: str = ""
    """The norm after the last block."""
    streams: int = 1
    """2 where attention adds to one stream and the feed-forward part to another (Reformer)."""
    convolution: str = ""
    """A convolution beside the first block (DeBERTa version 2)."""


Sides = dict[Literal["encoder", "decoder"], Blueprint]
ADAPTERS = "bert with adapters"
"""The type of `core.checkpoints.adapters.AdapterBert`, whose configuration is that of its base model."""
_BERT_EMBEDDING = {
    "token": "embeddings.word_embeddings",
    "position": "embeddings.position_embeddings",
    "segment": "embeddings.token_type_embeddings",
}
_BERT_NORM = "embeddings.LayerNorm"


def _bert(out: str = "output", **attention: Any) -> Blueprint:
    """As BERT has it; ``out`` joins the heads and ends the block."""
    layer = "encoder.layer.{i}"

    def names(module: str, out: str) -> AttentionNames:
        return AttentionNames(f"{layer}.{module}.self", f"{layer}.{module}.{out}.dense", **attention)

    return Blueprint(
        attention=names("attention", out),
        cross=names("crossattention", "output"),
        norms={
            "attention": f"{layer}.attention.{out}.LayerNorm",
            "cross-attention": f"{layer}.crossattention.output.LayerNorm",
            "feed-forward": f"{layer}.{out}.LayerNorm",
        },
        inner=(f"{layer}.intermediate.dense",),
        outer=f"{layer}.{out}.dense",
        embedding=_BERT_EMBEDDING,
        after_embedding={"norm": _BERT_NORM, "projection": "embeddings_project"},
    )


def _bart(side: str, *, pre_norm: bool = False) -> Blueprint:
    """As BART has it; or with norms before, and then one behind the last block in place of the embedding's."""
    layer = f"{side}.layers.{{i}}"

    def names(module: str) -> AttentionNames:
        own = f"{layer}.{module}"
        return AttentionNames(own, f"{own}.out_proj", "q_proj k_proj v_proj", heads=f"{side}_attention_heads")

    return Blueprint(
        attention=names("self_attn"),
        cross=names("encoder_attn"),
        norms={
            "attention": f"{layer}.self_attn_layer_norm",
            "cross-attention": f"{layer}.encoder_attn_layer_norm",
            "feed-forward": f"{layer}.final_layer_norm",
        },
        inner=(f"{layer}.fc1",),
        outer=f"{layer}.fc2",
        embedding={"token": f"{side}.embed_tokens", "position": f"{side}.embed_positions"},
        pre_norm=pre_norm,
        after_embedding={} if pre_norm else {"norm": f"{side}.layernorm_embedding"},
        activation="activation_function",
        final=f"{side}.layer_norm" if pre_norm else "",
    )


def _t5(side: str) -> Blueprint:
    """As T5 has it, on one side."""
    layer, last = f"{side}.block.{{i}}.layer", 2 if side == "decoder" else 1
    feed = f"{layer}.{last}.DenseReluDense"

    def names(module: str) -> AttentionNames:
        own = f"{layer}.{module}"
        return AttentionNames(own, f"{own}.o", "q k v", "relative_bias", "one", "mask")

    return Blueprint(
        attention=names("0.SelfAttention"),
        cross=names("1.EncDecAttention"),
        norms={
            "attention": f"{layer}.0.layer_norm",
            "cross-attention": f"{layer}.1.layer_norm",
            "feed-forward": f"{layer}.{last}.layer_norm",
        },
        inner=(f"{feed}.wi", f"{feed}.wi_1"),
        outer=f"{feed}.wo",
        embedding={"token": f"{side}.embed_tokens"},
        pre_norm=True,
        gate=f"{feed}.wi_0",
        activation="dense_act_fn",
        final=f"{side}.final_layer_norm",
    )


_BERT: Sides = {"encoder": _bert(), "decoder": _bert()}
_PRE_NORM_BART: Sides = {"encoder": _bart("encoder", pre_norm=True), "decoder": _bart("decoder", pre_norm=True)}
_T5: Sides = {"encoder": _t5("encoder"), "decoder": _t5("decoder")}
_LLAMA_DECODER = Blueprint(
    attention=AttentionNames("layers.{i}.self_attn", "layers.{i}.self_attn.o_proj", "q_proj k_proj v_proj", "rope"),
    norms={"attention": "layers.{i}.input_layernorm", "feed-forward": "layers.{i}.post_attention_layernorm"},
    inner=("layers.{i}.mlp.up_proj",),
    outer="layers.{i}.mlp.down_proj",
    embedding={"token": "embed_tokens"},
    pre_norm=True,
    gate="layers.{i}.mlp.gate_proj",
    final="norm",
)
_GPT2 = Blueprint(
    attention=AttentionNames("h.{i}.attn", "h.{i}.attn.c_proj", "c_attn:0/3 c_attn:1/3 c_attn:2/3", scale="own"),
    norms={"attention": "h.{i}.ln_1", "feed-forward": "h.{i}.ln_2"},
    inner=("h.{i}.mlp.c_fc",),
    outer="h.{i}.mlp.c_proj",
    embedding={"token": "wte", "position": "wpe"},
    pre_norm=True,
    activation="activation_function",
    final="ln_f",
)
_XLNET = Blueprint(
    attention=AttentionNames("layer.{i}.rel_attn", "", "", "two_stream"),
    norms={"attention": "layer.{i}.rel_attn.layer_norm", "feed-forward": "layer.{i}.ff.layer_norm"},
    inner=("layer.{i}.ff.layer_1",),
    outer="layer.{i}.ff.layer_2",
    embedding={"token": "word_embedding"},
    activation="ff_activation",
)
_LLAMA: Sides = {"decoder": _LLAMA_DECODER}
_REFORMER = "encoder.layers.{i}"
_ALBERT = "encoder.albert_layer_groups.{group}.albert_layers.{inner}"

TABLE: dict[str, Sides] = {
    **dict.fromkeys(("bert", "camembert", "electra", "roberta", "xlm-roberta"), _BERT),
    ADAPTERS: {"encoder": _bert("output.output")},
    "big_bird": {"encoder": replace(_bert(score="block_sparse"), scale="rescale_embeddings")},
    "longformer": {"encoder": _bert(score="sliding_window")},
    "deberta-v2": {
        "encoder": replace(
            _bert(parts="query_proj key_proj value_proj", score="disentangled"),
            after_embedding={"projection": "embeddings.embed_proj", "norm": _BERT_NORM},
            convolution="encoder.conv",
        )
    },
    "albert": {
        "encoder": Blueprint(
            attention=AttentionNames(f"{_ALBERT}.attention", f"{_ALBERT}.attention.dense"),
            norms={"attention": f"{_ALBERT}.attention.LayerNorm", "feed-forward": f"{_ALBERT}.full_layer_layer_norm"},
            inner=(f"{_ALBERT}.ffn",),
            outer=f"{_ALBERT}.ffn_output",
            embedding=_BERT_EMBEDDING,
            after_embedding={"norm": _BERT_NORM, "projection": "encoder.embedding_hidden_mapping_in"},
        )
    },
    "distilbert": {
        "encoder": Blueprint(
            attention=AttentionNames(
                "transformer.layer.{i}.attention", "transformer.layer.{i}.attention.out_lin", "q_lin k_lin v_lin"
            ),
            norms={
                "attention": "transformer.layer.{i}.sa_layer_norm",
                "feed-forward": "transformer.layer.{i}.output_layer_norm",
            },
            inner=("transformer.layer.{i}.ffn.lin1",),
            outer="transformer.layer.{i}.ffn.lin2",
            embedding={name: _BERT_EMBEDDING[name] for name in ("token", "position")},
            after_embedding={"norm": _BERT_NORM},
            activation="activation",
        )
    },
    "xlm": {
        "encoder": Blueprint(
            attention=AttentionNames("attentions.{i}", "attentions.{i}.out_lin", "q_lin k_lin v_lin", mask="mask"),
            norms={"attention": "layer_norm1.{i}", "feed-forward": "layer_norm2.{i}"},
            inner=("ffns.{i}.lin1",),
            outer="ffns.{i}.lin2",
            embedding={"token": "embeddings", "position": "position_embeddings", "language": "lang_embeddings"},
            after_embedding={"norm": "layer_norm_emb"},
            activation="gelu_activation",
        )
    },
    "xlnet": {"encoder": _XLNET, "decoder": _XLNET},
    "openai-gpt": {
        "decoder": replace(
            _GPT2,
            attention=replace(_GPT2.attention, score="local", scale="root"),
            embedding={"token": "tokens_embed", "position": "positions_embed"},
            pre_norm=False,
            activation="afn",
            final="",
        )
    },
    "gpt2": {"decoder": _GPT2},
    "gpt_neo": {
        "decoder": replace(
            _GPT2,
            attention=AttentionNames(
                "h.{i}.attn.attention", "h.{i}.attn.attention.out_proj", "q_proj k_proj v_proj", "local", "one"
            ),
        )
    },
    "ctrl": {
        "decoder": Blueprint(
            attention=AttentionNames("h.{i}.multi_head_attention", "h.{i}.multi_head_attention.dense", "Wq Wk Wv"),
            norms={"attention": "h.{i}.layernorm1", "feed-forward": "h.{i}.layernorm2"},
            inner=("h.{i}.ffn.0",),
            outer="h.{i}.ffn.2",
            embedding={"token": "w", "position": "pos_encoding"},
            pre_norm=True,
            activation="relu",
            scale="always",
            final="layernorm",
        )
    },
    "reformer": {
        "decoder": Blueprint(
            attention=AttentionNames(
                f"{_REFORMER}.attention.self_attention", f"{_REFORMER}.attention.output.dense", "", "lsh"
            ),
            norms={
                "attention": f"{_REFORMER}.attention.layer_norm",
                "feed-forward": f"{_REFORMER}.feed_forward.layer_norm",
            },
            inner=(f"{_REFORMER}.feed_forward.dense.dense",),
            outer=f"{_REFORMER}.feed_forward.output.dense",
            embedding={name: _BERT_EMBEDDING[name] for name in ("token", "position")},
            pre_norm=True,
            final="encoder.layer_norm",
            streams=2,
        )
    },
    **dict.fromkeys(("llama", "mistral", "qwen2"), _LLAMA),
    **dict.fromkeys(("t5", "mt5"), _T5),
    "bart": {"encoder": _bart("encoder"), "decoder": _bart("decoder")},
    **dict.fromkeys(("m2m_100", "pegasus"), _PRE_NORM_BART),
}
