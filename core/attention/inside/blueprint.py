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

from dataclasses import dataclass, replace
from typing import Any, Literal

from core.attention.architectures.layout import ADAPTERS, Place, Stack
from core.errors import NoAttentionMatrix

Sub = Literal["attend", "cross", "feed"]
After = tuple[Literal["norm", "projection"], str]


@dataclass(frozen=True, slots=True)
class Blueprint:
    """One side of an architecture."""

    before: bool
    """Whether norms stand with their sub-layers, and not behind the sum."""
    subs: tuple[tuple[Sub, str], ...]
    """The sub-layers in order, each with its norm, or "" for none (OLMo 2); what a model has not (``cross`` without an
    encoder) is left out."""
    inner: tuple[str, ...]
    """The first projection of the feed-forward part, under the names that it may have."""
    outer: str
    """The second; what it reads is the activation."""
    embed: tuple[tuple[str, str], ...]
    """What the embedding is the sum of: (what it tells, module)."""
    after: tuple[After, ...] = ()
    """What follows the sum."""
    gate: tuple[str, ...] = ()
    """The projection that is multiplied with the first one, after the activation."""
    activation: str = "hidden_act"
    """What the configuration calls the activation."""
    scale: str = ""
    """The setting that multiplies vectors of tokens by the root of the width; ``always`` where it needs none."""
    final: str = ""
    """The norm after the last block."""
    from_one: bool = False
    """Whether the factors of the norms are counted from one: what is learnt is added to it (Gemma)."""
    parallel: bool = False
    """Whether attention and feed-forward part both read what came in, by one norm or two, and are added together."""
    ends: tuple[tuple[Sub, str], ...] = ()
    """Norms of what sub-layers made, before it is added (Gemma 2, OLMo 2)."""
    widen: str = ""
    """A projection of the tokens' vectors to the width of the blocks, before the sum (OPT)."""
    narrow: str = ""
    """A projection behind the last norm, to the width that the head reads (OPT)."""
    settings: tuple[tuple[str, str], ...] = ()
    """(Field of this entry, setting that decides it), where models of a type differ."""
    streams: int = 1
    """2 where attention adds to one stream and the feed-forward part to another (Reformer)."""
    more: str = ""
    """A convolution beside the first block (DeBERTa version 2)."""


_WORDS = "embeddings.word_embeddings"
_PLACES = "embeddings.position_embeddings"
_SEGMENTS = "embeddings.token_type_embeddings"
_NORMED: After = ("norm", "embeddings.LayerNorm")


def _bert(put: str = "output", **more: Any) -> Blueprint:
    layer = "encoder.layer.{i}"
    return Blueprint(
        before=False,
        subs=(
            ("attend", f"{layer}.attention.{put}.LayerNorm"),
            ("cross", f"{layer}.crossattention.output.LayerNorm"),
            ("feed", f"{layer}.{put}.LayerNorm"),
        ),
        inner=(f"{layer}.intermediate.dense",),
        outer=f"{layer}.{put}.dense",
        embed=(("token", _WORDS), ("position", _PLACES), ("segment", _SEGMENTS)),
        **{"after": (_NORMED, ("projection", "embeddings_project")), **more},
    )


def _bart(side: str, *, before: bool = False, normed: bool = True, final: bool = False, scale: str = "") -> Blueprint:
    layer = f"{side}.layers.{{i}}"
    cross: tuple[tuple[Sub, str], ...] = (("cross", f"{layer}.encoder_attn_layer_norm"),) if side == "decoder" else ()
    return Blueprint(
        before=before,
        subs=(("attend", f"{layer}.self_attn_layer_norm"), *cross, ("feed", f"{layer}.final_layer_norm")),
        inner=(f"{layer}.fc1",),
        outer=f"{layer}.fc2",
        embed=(("token", f"{side}.embed_tokens"), ("position", f"{side}.embed_positions")),
        after=(("norm", f"{side}.layernorm_embedding"),) if normed else (),
        activation="activation_function",
        scale=scale,
        final=f"{side}.layer_norm" if final else "",
    )


def _t5(side: str) -> Blueprint:
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


_SIDES: tuple[Literal["encoder", "decoder"], ...] = ("encoder", "decoder")
_BERTS = {"encoder": _bert(), "decoder": _bert()}
_XLNET = Blueprint(
    before=False,
    subs=(("attend", "layer.{i}.rel_attn.layer_norm"), ("feed", "layer.{i}.ff.layer_norm")),
    inner=("layer.{i}.ff.layer_1",),
    outer="layer.{i}.ff.layer_2",
    embed=(("token", "word_embedding"),),
    activation="ff_activation",
)
_LLAMA = Blueprint(
    before=True,
    subs=(("attend", "layers.{i}.input_layernorm"), ("feed", "layers.{i}.post_attention_layernorm")),
    inner=("layers.{i}.mlp.up_proj",),
    gate=("layers.{i}.mlp.gate_proj",),
    outer="layers.{i}.mlp.down_proj",
    embed=(("token", "embed_tokens"),),
    final="norm",
)
_PHI3 = replace(
    _LLAMA, inner=("layers.{i}.mlp.gate_up_proj:1/2",), gate=("layers.{i}.mlp.gate_up_proj:0/2",)
)  # fmt: skip
_GEMMA2 = replace(
    _LLAMA,
    subs=(("attend", "layers.{i}.input_layernorm"), ("feed", "layers.{i}.pre_feedforward_layernorm")),
    ends=(("attend", "layers.{i}.post_attention_layernorm"), ("feed", "layers.{i}.post_feedforward_layernorm")),
    activation="hidden_activation",
    from_one=True,
)
_OLMO2 = replace(_GEMMA2, subs=(("attend", ""), ("feed", "")), activation="hidden_act", from_one=False)
_REFORMER = "encoder.layers.{i}"
_ALBERT = "encoder.albert_layer_groups.{group}.albert_layers.{inner}"
_GPT2 = Blueprint(
    before=True,
    subs=(("attend", "h.{i}.ln_1"), ("cross", "h.{i}.ln_cross_attn"), ("feed", "h.{i}.ln_2")),
    inner=("h.{i}.mlp.c_fc",),
    outer="h.{i}.mlp.c_proj",
    embed=(("token", "wte"), ("position", "wpe")),
    activation="activation_function",
    final="ln_f",
)

_GPT_EMBED = (("token", "tokens_embed"), ("position", "positions_embed"))

TABLE: dict[str, dict[str, Blueprint]] = {
    "bert": _BERTS,
    ADAPTERS: {"encoder": _bert("output.output")},
    "roberta": _BERTS,
    "xlm-roberta": _BERTS,
    "camembert": _BERTS,
    "electra": _BERTS,
    "longformer": _BERTS,
    "bert-generation": _BERTS,
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
    "big_bird": {"encoder": _bert(scale="rescale_embeddings")},
    "deberta": {"encoder": _bert(after=(("projection", "embeddings.embed_proj"), _NORMED))},
    "deberta-v2": {"encoder": _bert(after=(("projection", "embeddings.embed_proj"), _NORMED), more="encoder.conv")},
    "albert": {
        "encoder": Blueprint(
            before=False,
            subs=(("attend", f"{_ALBERT}.attention.LayerNorm"), ("feed", f"{_ALBERT}.full_layer_layer_norm")),
            inner=(f"{_ALBERT}.ffn",),
            outer=f"{_ALBERT}.ffn_output",
            embed=_BERTS["encoder"].embed,
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
            embed=(("token", _WORDS), ("position", _PLACES)),
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
    "xlnet": {"encoder": _XLNET, "decoder": _XLNET},
    "openai-gpt": {"decoder": replace(_GPT2, before=False, embed=_GPT_EMBED, activation="afn", final="")},
    "gpt2": {"decoder": _GPT2},
    "gpt_neo": {"decoder": _GPT2},
    "gptj": {
        "decoder": replace(
            _GPT2,
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
            embed=(("token", _WORDS), ("position", _PLACES)),
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
    "llama": {"decoder": _LLAMA},
    "mistral": {"decoder": _LLAMA},
    "qwen2": {"decoder": _LLAMA},
    "qwen3": {"decoder": _LLAMA},
    "gemma": {"decoder": replace(_LLAMA, from_one=True)},
    "smollm3": {"decoder": _LLAMA},
    "olmo2": {"decoder": _OLMO2},
    "olmo3": {"decoder": _OLMO2},
    "gemma2": {"decoder": _GEMMA2},
    "gemma3_text": {"decoder": _GEMMA2},
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
    "phi3": {"decoder": _PHI3},
    "t5": {side: _t5(side) for side in _SIDES},
    "mt5": {side: _t5(side) for side in _SIDES},
    "bart": {side: _bart(side) for side in _SIDES},
    "marian": {side: _bart(side, normed=False, scale="scale_embedding") for side in _SIDES},
    "mbart": {side: _bart(side, before=True, final=True) for side in _SIDES},
    "m2m_100": {side: _bart(side, before=True, normed=False, final=True) for side in _SIDES},
}


def of(place: Place) -> Blueprint:
    """The blueprint of the block that an attention belongs to.

    Raises:
        NoAttentionMatrix: the architecture has none.
    """
    found = TABLE.get(place.stack.type, {}).get(place.stack.kind)
    if found is None:
        raise NoAttentionMatrix(
            f"The blocks of a model of the type “{place.stack.type[:40]}” cannot be shown step by step here. Models of "
            f"these types can: {', '.join(sorted(TABLE))}."
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
