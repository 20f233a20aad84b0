"""Where attention stands in each architecture, and what transformers calls its parts. Data: one row a model type.

Some have no attention matrix (:data:`INSTEAD`): FNet (Lee-Thorp et al. 2021) mixes tokens by a fixed transform;
state-space models such as Mamba (Gu & Dao 2023), RWKV (Peng et al. 2023) and xLSTM (Beck et al. 2024) carry a state of
fixed size from token to token.

Rows are for the architectures that come with the app, and for others that are built of the same parts. Of any other
architecture the model's own calls of attention are read (`core.attention.architectures.hooks`).

A name is written from the trunk of the model, with ``{i}`` for the layer; ALBERT, whose layers share modules, counts
groups, too. A projection that makes several things at once is followed by the part that is meant: ``c_attn:0/3``. A
Reformer's layers differ: those that hash have one projection for queries and keys, local ones have two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix

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


@dataclass(frozen=True, slots=True)
class AttentionNames:
    """The parts of one kind of attention."""

    module: str
    """The module that computes scores and weights: what goes in has the mask, what comes out ends with the weights."""
    out: str
    """The projection after the heads are joined; head h reads the h-th of H equal parts of its input."""
    parts: str = "query key value"
    """The projections to queries, keys and values, below ``module``; empty where they are plain tensors (XLNet)."""
    score: Score = "dot_product"
    """How scores are made of queries and keys: see `core.attention.architectures.scores`."""
    scale: Literal["root", "one", "own"] = "root"
    """What the product is multiplied by: d^-1/2, 1, or what the module's ``scaling`` says."""
    mask: str = "attention_mask"
    """What the module's argument with the mask is called."""
    heads: str = "num_attention_heads"
    """What the configuration calls the number of heads."""
    note: str = ""
    """What is unusual about queries and keys, as a sentence."""


Kinds = dict[MapKind, AttentionNames]
ADAPTERS = "bert with adapters"
"""The type of `core.checkpoints.adapters.AdapterBert`, whose configuration is that of its trunk."""
_ROTATED = "Queries and keys are shown after the rotation by their positions."
_APART = "Queries and keys of the content; the score has two more terms, for the distance."
_UNSCALED = "Nothing is divided by the root of the width: the product of query and key is the score itself"
_ALBERT = "encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention"


def _bert(name: str = "attention", put: str = "output", **more: Any) -> AttentionNames:
    """As BERT has it: under ``name``, put together by ``put``."""
    layer = f"encoder.layer.{{i}}.{name}"
    return AttentionNames(f"{layer}.self", f"{layer}.{put}.dense", **more)


def _bart(side: str, name: str) -> AttentionNames:
    own = f"{side}.layers.{{i}}.{name}"
    return AttentionNames(own, f"{own}.out_proj", "q_proj k_proj v_proj", heads=f"{side}_attention_heads")


def _t5(side: str, number: int, name: str) -> AttentionNames:
    """As T5 has it, on one side: the sub-layer of this number."""
    own = f"{side}.block.{{i}}.layer.{number}.{name}"
    bias = ", before a number for the distance is added." if name == "SelfAttention" else "."
    return AttentionNames(own, f"{own}.o", "q k v", "relative_bias", "one", "mask", note=_UNSCALED + bias)


_BERT: Kinds = {"encoder": _bert(), "decoder": _bert(), "cross": _bert("crossattention")}
_BART: Kinds = {
    "encoder": _bart("encoder", "self_attn"),
    "decoder": _bart("decoder", "self_attn"),
    "cross": _bart("decoder", "encoder_attn"),
}
_T5: Kinds = {
    "encoder": _t5("encoder", 0, "SelfAttention"),
    "decoder": _t5("decoder", 0, "SelfAttention"),
    "cross": _t5("decoder", 1, "EncDecAttention"),
}
_LLAMA: Kinds = {
    "decoder": AttentionNames(
        "layers.{i}.self_attn", "layers.{i}.self_attn.o_proj", "q_proj k_proj v_proj", "rope", note=_ROTATED
    )
}
_XLM: Kinds = {"encoder": AttentionNames("attentions.{i}", "attentions.{i}.out_lin", "q_lin k_lin v_lin", mask="mask")}
_XLNET = AttentionNames(
    "layer.{i}.rel_attn",
    "",
    "",
    "two_stream",
    note="Queries contain the bias u that meets the content; the score has more terms, for distance and segment.",
)
_GPT = AttentionNames("h.{i}.attn", "h.{i}.attn.c_proj", "c_attn:0/3 c_attn:1/3 c_attn:2/3")

TABLE: dict[str, Kinds] = {
    **dict.fromkeys(
        ("bert", "bert-generation", "camembert", "data2vec-text", "electra", "luke", "megatron-bert", "rembert"), _BERT
    ),
    **dict.fromkeys(("roberta", "tapas", "xlm-roberta"), _BERT),
    ADAPTERS: {"encoder": _bert(put="output.output")},
    "big_bird": {"encoder": _bert(score="block_sparse")},
    "longformer": {
        "encoder": _bert(
            score="sliding_window",
            note="Queries and keys of the window; the first token, which attends to all, has projections of its own.",
        )
    },
    "deberta-v2": {"encoder": _bert(parts="query_proj key_proj value_proj", score="disentangled", note=_APART)},
    "albert": {"encoder": AttentionNames(_ALBERT, f"{_ALBERT}.dense")},
    "distilbert": {
        "encoder": AttentionNames(
            "transformer.layer.{i}.attention", "transformer.layer.{i}.attention.out_lin", "q_lin k_lin v_lin"
        )
    },
    "xlm": _XLM,
    "flaubert": _XLM,
    "xlnet": {"encoder": _XLNET, "decoder": _XLNET},
    "openai-gpt": {"decoder": replace(_GPT, score="local")},
    "gpt2": {
        "decoder": replace(_GPT, scale="own"),
        "cross": AttentionNames(
            "h.{i}.crossattention",
            "h.{i}.crossattention.c_proj",
            "q_attn c_attn:0/2 c_attn:1/2",
            scale="own",
            mask="encoder_attention_mask",
        ),
    },
    "gpt_neo": {
        "decoder": AttentionNames(
            "h.{i}.attn.attention",
            "h.{i}.attn.attention.out_proj",
            "q_proj k_proj v_proj",
            "local",
            "one",
            note=_UNSCALED + ".",
        )
    },
    "ctrl": {"decoder": AttentionNames("h.{i}.multi_head_attention", "h.{i}.multi_head_attention.dense", "Wq Wk Wv")},
    "reformer": {
        "decoder": AttentionNames(
            "encoder.layers.{i}.attention.self_attention",
            "encoder.layers.{i}.attention.output.dense",
            "",
            "lsh",
            note="In layers that hash a key is its query brought to one length. Who meets whom is decided by buckets.",
        )
    },
    **dict.fromkeys(("llama", "cwm", "ministral", "mistral", "qwen2", "seed_oss"), _LLAMA),
    "xglm": {
        "decoder": AttentionNames("layers.{i}.self_attn", "layers.{i}.self_attn.out_proj", "q_proj k_proj v_proj")
    },
    **dict.fromkeys(("t5", "mt5"), _T5),
    **dict.fromkeys(("bart", "blenderbot", "m2m_100", "marian", "mbart", "mvp", "pegasus", "plbart"), _BART),
}


_STATE = "{} carries a state of a fixed size from token to token and never looks back."
INSTEAD = {
    "fnet": "FNet mixes the tokens by a Fourier transform, the same for every text.",
    "mamba": _STATE.format("Mamba"),
    "mamba2": _STATE.format("Mamba"),
    "falcon_mamba": _STATE.format("Mamba"),
    "rwkv": _STATE.format("RWKV"),
    "xlstm": _STATE.format("xLSTM"),
}


def refuse(model_type: str) -> None:
    """Raises :class:`core.errors.NoAttentionMatrix`, saying what there is instead, for a model without one."""
    if model_type in INSTEAD:
        raise NoAttentionMatrix(f"This model has no attention matrix: {INSTEAD[model_type]}")


@dataclass(frozen=True, slots=True)
class Stack:
    """The layers that read one text: a model has one, an encoder-decoder two."""

    kind: Literal["encoder", "decoder"]
    type: str
    """Of the model, as its configuration says."""
    config: Any
    prefix: str
    """Path of the trunk in the whole model, with a dot at the end, or empty."""


@dataclass(frozen=True, slots=True)
class AttentionLayer:
    """The attention of one layer."""

    kind: MapKind
    layer: int
    heads: int
    names: AttentionNames
    stack: Stack
    numbers: tuple[tuple[str, int], ...]
    """What stands for the braces of a name."""

    def path(self, name: str) -> str:
        """A name of the table as a path from the whole model."""
        return self.stack.prefix + name.format(**dict(self.numbers))

    @property
    def module(self) -> str:
        """Path of the module that computes scores and weights."""
        return self.path(self.names.module)


def stacks(checkpoint: Checkpoint) -> tuple[Stack, ...]:
    """What reads the text, encoder first."""
    model: Any = checkpoint.model
    config = model.config
    if config.model_type == "encoder-decoder":
        behind = f"decoder.{model.decoder.base_model_prefix}."
        return (
            Stack("encoder", config.encoder.model_type, config.encoder, "encoder."),
            Stack("decoder", config.decoder.model_type, config.decoder, behind),
        )
    if checkpoint.spec.offers("classifies texts"):
        return (Stack("encoder", ADAPTERS, config, "trunk."),)
    names = (model.base_model_prefix, "model")  # the first is another in a text model cut out of a larger one (Llama 4)
    prefix = next((f"{name}." for name in names if hasattr(model, name)), "")
    if getattr(config, "is_encoder_decoder", False):
        return (
            Stack("encoder", config.model_type, config, prefix),
            Stack("decoder", config.model_type, config, prefix),
        )
    return (Stack("decoder" if checkpoint.spec.offers("continues") else "encoder", config.model_type, config, prefix),)


def _kinds(stack: Stack, both: tuple[Stack, ...]) -> tuple[MapKind, ...]:
    return ("decoder", "cross") if stack.kind == "decoder" and len(both) > 1 else (stack.kind,)


def listed(checkpoint: Checkpoint) -> bool:
    """Whether the table has all kinds of attention of a checkpoint.

    Raises:
        NoAttentionMatrix: the architecture has no such matrix.
    """
    both = stacks(checkpoint)
    for stack in both:
        refuse(stack.type)
    return all(kind in TABLE.get(stack.type, {}) for stack in both for kind in _kinds(stack, both))


def listed_layers(checkpoint: Checkpoint) -> dict[MapKind, tuple[AttentionLayer, ...]]:
    """Every attention of a checkpoint whose architecture the table has, by kind and layer."""
    found: dict[MapKind, tuple[AttentionLayer, ...]] = {}
    both = stacks(checkpoint)
    for stack in both:
        for kind in _kinds(stack, both):
            names = TABLE[stack.type][kind]
            heads = int(getattr(stack.config, names.heads))
            found[kind] = tuple(
                AttentionLayer(kind, i, heads, names, stack, own)
                for i, own in enumerate(_numbers(checkpoint.model, stack, names))
            )
    return found


def _numbers(model: Any, stack: Stack, names: AttentionNames) -> list[tuple[tuple[str, int], ...]]:
    """For each layer what stands for the braces of its names."""
    if "{group}" in names.module:
        config = stack.config
        layers, groups, inner = config.num_hidden_layers, config.num_hidden_groups, config.inner_group_num
        return [
            (("group", int(layer / (layers / groups))), ("inner", part))
            for layer in range(layers)
            for part in range(inner)
        ]
    count = len(model.get_submodule(stack.prefix + names.module.partition(".{i}")[0]))
    return [(("i", i),) for i in range(count)]


def unread(checkpoint: Checkpoint) -> NoAttentionMatrix:
    """What to raise where it is not known how scores come about."""
    return NoAttentionMatrix(
        f"{checkpoint.spec.name} is of the type “{stacks(checkpoint)[0].type[:40]}”, whose queries, keys and heads "
        "cannot be read here. Models such as BERT, GPT-2, LLaMA, T5 and BART work."
    )
