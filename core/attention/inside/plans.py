"""How a block is written down in the tables of architectures, and what several of them begin with.

What the fields mean is told with the table of `core.attention.inside.blueprint`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

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
    unless: str = ""
    """The setting at which the block is of another build, which is not told here."""
    streams: int = 1
    """2 where attention adds to one stream and the feed-forward part to another (Reformer)."""
    more: str = ""
    """A convolution beside the first block (DeBERTa version 2)."""


WORDS = "embeddings.word_embeddings"
PLACES = "embeddings.position_embeddings"
SEGMENTS = "embeddings.token_type_embeddings"
NORMED: After = ("norm", "embeddings.LayerNorm")


def bert(put: str = "output", **more: Any) -> Blueprint:
    """As BERT has it; with the given fields in place of its own."""
    layer = "encoder.layer.{i}"
    found = Blueprint(
        before=False,
        subs=(
            ("attend", f"{layer}.attention.{put}.LayerNorm"),
            ("cross", f"{layer}.crossattention.output.LayerNorm"),
            ("feed", f"{layer}.{put}.LayerNorm"),
        ),
        inner=(f"{layer}.intermediate.dense",),
        outer=f"{layer}.{put}.dense",
        embed=(("token", WORDS), ("position", PLACES), ("segment", SEGMENTS)),
        after=(NORMED, ("projection", "embeddings_project")),
    )
    return replace(found, **more)


def bart(side: str, *, before: bool = False, normed: bool = True, final: bool = False, scale: str = "") -> Blueprint:
    """As BART has it, on one side."""
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


def t5(side: str) -> Blueprint:
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


SIDES: tuple[Literal["encoder", "decoder"], ...] = ("encoder", "decoder")
BERTS = {"encoder": bert(), "decoder": bert()}
LLAMA = Blueprint(
    before=True,
    subs=(("attend", "layers.{i}.input_layernorm"), ("feed", "layers.{i}.post_attention_layernorm")),
    inner=("layers.{i}.mlp.up_proj",),
    gate=("layers.{i}.mlp.gate_proj",),
    outer="layers.{i}.mlp.down_proj",
    embed=(("token", "embed_tokens"),),
    final="norm",
)
PHI3 = replace(LLAMA, inner=("layers.{i}.mlp.gate_up_proj:1/2",), gate=("layers.{i}.mlp.gate_up_proj:0/2",))
GEMMA2 = replace(
    LLAMA,
    subs=(("attend", "layers.{i}.input_layernorm"), ("feed", "layers.{i}.pre_feedforward_layernorm")),
    ends=(("attend", "layers.{i}.post_attention_layernorm"), ("feed", "layers.{i}.post_feedforward_layernorm")),
    activation="hidden_activation",
    from_one=True,
)
OLMO2 = replace(GEMMA2, subs=(("attend", ""), ("feed", "")), activation="hidden_act", from_one=False)
GPT2 = Blueprint(
    before=True,
    subs=(("attend", "h.{i}.ln_1"), ("cross", "h.{i}.ln_cross_attn"), ("feed", "h.{i}.ln_2")),
    inner=("h.{i}.mlp.c_fc",),
    outer="h.{i}.mlp.c_proj",
    embed=(("token", "wte"), ("position", "wpe")),
    activation="activation_function",
    final="ln_f",
)
