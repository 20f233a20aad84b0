"""How attention is written down in the tables of architectures: which modules make it, and how scores come about.

What several tables begin with stands here, too: BERT's parts, LLaMA's, BART's and T5's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Score = Literal[
    "plain",
    "biased",
    "causal",
    "local",
    "turned",
    "paired",
    "disentangled",
    "two-stream",
    "windowed",
    "blocks",
    "hashed",
    "capped",
    "placed",
    "sloped",
    "neighbours",
    "long",
    "particular",
    "asked",
]
Scale = Literal["root", "one", "own"]
Order = Literal["row token width", "token row width", "row width token"]


@dataclass(frozen=True, slots=True)
class Attends:
    """The parts of one kind of attention."""

    module: str
    """The module that computes scores and weights: what goes in has the mask, what comes out ends with the weights."""
    out: str
    """The projection after the heads are joined; head h reads the h-th of H equal parts of its input."""
    parts: str = "query key value"
    """The projections to queries, keys and values, below ``module``; empty where they are plain tensors (XLNet)."""
    score: Score = "plain"
    """How scores are made of queries and keys: see `core.attention.architectures.scores`."""
    scale: Scale = "root"
    """What the product is multiplied by: d^-1/2, 1, or what the module's ``scaling`` says."""
    mask: str = "attention_mask"
    """What the module's argument with the mask is called."""
    heads: str = "num_attention_heads"
    """What the configuration calls the number of heads; after a dot, what the module itself calls it."""
    note: str = ""
    """What is unusual about queries and keys, as a sentence."""
    norms: str = ""
    """The norms of queries and keys, below ``module``; a model that lacks them at its settings has none."""
    order: Order = "row token width"
    """The axes of what projections read and give: FSMT has tokens first, SqueezeBERT's convolutions have them last."""
    share: int = 1
    """How many times the heads' width ``out`` reads; the heads come first (ConvBERT's convolutions stand behind)."""


def bert(name: str = "attention", put: str = "output", **more: Any) -> Attends:
    """As BERT has it: under ``name``, put together by ``put``."""
    layer = f"encoder.layer.{{i}}.{name}"
    return Attends(f"{layer}.self", f"{layer}.{put}.dense", **more)


BERT = {"encoder": bert(), "decoder": bert(), "cross": bert("crossattention")}
TURNED = "Queries and keys are shown after the turn by their positions."
LLAMA = Attends("layers.{i}.self_attn", "layers.{i}.self_attn.o_proj", "q_proj k_proj v_proj", "turned", note=TURNED)
QWEN3 = replace(
    LLAMA, norms="q_norm k_norm", note="Queries and keys are shown after their norms and the turn by their positions."
)
UNSCALED = "Nothing is divided by the root of the width: the product of query and key is the score itself"


def bart(side: str, name: str, heads: str) -> Attends:
    """As BART has it, on one side."""
    own = f"{side}.layers.{{i}}.{name}"
    return Attends(own, f"{own}.out_proj", "q_proj k_proj v_proj", heads=heads)


BART = {
    "encoder": bart("encoder", "self_attn", "encoder_attention_heads"),
    "decoder": bart("decoder", "self_attn", "decoder_attention_heads"),
    "cross": bart("decoder", "encoder_attn", "decoder_attention_heads"),
}


def t5(side: str, place: int, name: str) -> Attends:
    """As T5 has it, on one side: the sub-layer number ``place``."""
    own = f"{side}.block.{{i}}.layer.{place}.{name}"
    bias = ", before a number for the distance is added." if name == "SelfAttention" else "."
    return Attends(own, f"{own}.o", "q k v", "biased", "one", "mask", note=UNSCALED + bias)


T5 = {
    "encoder": t5("encoder", 0, "SelfAttention"),
    "decoder": t5("decoder", 0, "SelfAttention"),
    "cross": t5("decoder", 1, "EncDecAttention"),
}
