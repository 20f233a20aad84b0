"""Where attention stands in each architecture, and what transformers calls its parts. Data: one entry a model type.

Whoever looks inside an attention, or switches a head of it off, finds the modules through :func:`places`. A name is
written from the trunk of the model, with ``{i}`` for the layer; ALBERT, whose layers share modules, counts groups, too.
A projection that makes several things at once is followed by the part that is meant: ``c_attn:0/3``, or
``in_proj:0/3h`` where each head's part is cut for itself, ``qkv_proj:0/3g`` where heads share keys and values, whose
parts are then narrower than that of the queries, or ``query_key_value:0/3b`` where heads that share a key stand in a
bundle: their queries, the key, the value (Falcon), or ``qkv_proj:0/3m`` where each quarter is cut for itself (CodeGen).

A Reformer's layers differ: those that hash have one projection for queries and keys, local ones have two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from core.attention.architectures import hosts, older
from core.attention.architectures.attends import (
    BART,
    BERT,
    LLAMA,
    QWEN3,
    T5,
    TURNED,
    UNSCALED,
    Attends,
    bert,
)
from core.attention.architectures.without import refuse
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import NoAttentionMatrix

Numbers = list[tuple[tuple[str, int | str], ...]]
"""For each layer what stands for the braces of its names."""
ADAPTERS = "bert with adapters"
"""The type of `core.checkpoints.adapters.AdapterBert`, whose configuration is that of its trunk."""
_WITHIN = {"opt": "decoder."}
"""The part of a trunk that holds all of it, and that the head's model calls in its place."""
_APART = "Queries and keys of the content; the score has two more terms, for the distance."
_ALBERT = "encoder.albert_layer_groups.{group}.albert_layers.{inner}.attention"
_XLNET = Attends(
    "layer.{i}.rel_attn",
    "",
    "",
    "two-stream",
    note="Queries contain the bias u that meets the content; the score has more terms, for distance and segment.",
)

TABLE: dict[str, dict[str, Attends]] = {
    "bert": BERT,
    ADAPTERS: {"encoder": bert(put="output.output")},
    "roberta": BERT,
    "xlm-roberta": BERT,
    "camembert": BERT,
    "electra": BERT,
    "bert-generation": BERT,
    "modernbert": {
        "encoder": Attends("layers.{i}.attn", "layers.{i}.attn.Wo", "Wqkv:0/3 Wqkv:1/3 Wqkv:2/3", "turned", note=TURNED)
    },
    "big_bird": {"encoder": bert(score="blocks")},
    "longformer": {
        "encoder": bert(
            score="windowed",
            note="Queries and keys of the window; the first token, which sees all, has projections of its own.",
        )
    },
    "deberta": {"encoder": bert(parts="in_proj:0/3h in_proj:1/3h in_proj:2/3h", score="disentangled", note=_APART)},
    "deberta-v2": {"encoder": bert(parts="query_proj key_proj value_proj", score="disentangled", note=_APART)},
    "albert": {"encoder": Attends(_ALBERT, f"{_ALBERT}.dense")},
    "distilbert": {
        "encoder": Attends(
            "transformer.layer.{i}.attention", "transformer.layer.{i}.attention.out_lin", "q_lin k_lin v_lin"
        )
    },
    "xlm": {"encoder": Attends("attentions.{i}", "attentions.{i}.out_lin", "q_lin k_lin v_lin", mask="mask")},
    "xlnet": {"encoder": _XLNET, "decoder": _XLNET},
    "openai-gpt": {"decoder": Attends("h.{i}.attn", "h.{i}.attn.c_proj", "c_attn:0/3 c_attn:1/3 c_attn:2/3", "causal")},
    "gpt2": {
        "decoder": Attends("h.{i}.attn", "h.{i}.attn.c_proj", "c_attn:0/3 c_attn:1/3 c_attn:2/3", scale="own"),
        "cross": Attends(
            "h.{i}.crossattention",
            "h.{i}.crossattention.c_proj",
            "q_attn c_attn:0/2 c_attn:1/2",
            scale="own",
            mask="encoder_attention_mask",
        ),
    },
    "gpt_neo": {
        "decoder": Attends(
            "h.{i}.attn.attention",
            "h.{i}.attn.attention.out_proj",
            "q_proj k_proj v_proj",
            "local",
            "one",
            note=UNSCALED + ".",
        )
    },
    "gptj": {"decoder": Attends("h.{i}.attn", "h.{i}.attn.out_proj", "q_proj k_proj v_proj", "paired", note=TURNED)},
    "gpt_neox": {
        "decoder": Attends(
            "layers.{i}.attention",
            "layers.{i}.attention.dense",
            "query_key_value:0/3h query_key_value:1/3h query_key_value:2/3h",
            "turned",
            note=TURNED,
        )
    },
    "ctrl": {"decoder": Attends("h.{i}.multi_head_attention", "h.{i}.multi_head_attention.dense", "Wq Wk Wv")},
    "reformer": {
        "decoder": Attends(
            "encoder.layers.{i}.attention.self_attention",
            "encoder.layers.{i}.attention.output.dense",
            "",
            "hashed",
            note="In layers that hash a key is its query brought to one length. Who meets whom is decided by buckets.",
        )
    },
    "opt": {"decoder": Attends("layers.{i}.self_attn", "layers.{i}.self_attn.out_proj", "q_proj k_proj v_proj")},
    "llama": {"decoder": LLAMA},
    "mistral": {"decoder": LLAMA},
    "qwen2": {"decoder": LLAMA},
    "qwen3": {"decoder": QWEN3},
    "gemma": {"decoder": LLAMA},
    "smollm3": {"decoder": replace(LLAMA, note=f"{TURNED[:-1]}, in the layers that turn them.")},
    "olmo2": {"decoder": QWEN3},
    "olmo3": {"decoder": QWEN3},
    "gemma2": {"decoder": replace(LLAMA, score="capped", scale="own")},
    "gemma3_text": {"decoder": replace(QWEN3, scale="own")},
    "phi": {"decoder": replace(LLAMA, out="layers.{i}.self_attn.dense", norms="q_layernorm k_layernorm")},
    "phi3": {"decoder": replace(LLAMA, parts="qkv_proj:0/3g qkv_proj:1/3g qkv_proj:2/3g")},
    "t5": T5,
    "mt5": T5,
    "bart": BART,
    "mbart": BART,
    "marian": BART,
    "m2m_100": BART,
} | hosts.TABLE


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
class Place:
    """The attention of one layer."""

    kind: MapKind
    layer: int
    heads: int
    names: Attends
    stack: Stack
    numbers: tuple[tuple[str, int | str], ...]
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
    if checkpoint.spec.kind == "adapters":
        return (Stack("encoder", ADAPTERS, config, "trunk."),)
    names = (model.base_model_prefix, "model")  # the first is another in a text model cut out of a larger one (Llama 4)
    prefix = next((f"{name}." for name in names if hasattr(model, name)), "") + _WITHIN.get(config.model_type, "")
    if getattr(config, "is_encoder_decoder", False):
        summed = getattr(config, "encoder_attention_type", "") == "transient-global"
        type_ = hosts.SUMMARIES if summed else config.model_type
        return tuple(Stack(kind, type_, config, prefix) for kind in ("encoder", "decoder"))  # type: ignore[arg-type]
    return (Stack("decoder" if checkpoint.spec.kind == "causal-lm" else "encoder", config.model_type, config, prefix),)


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


def unknown(checkpoint: Checkpoint, stack: Stack) -> NoAttentionMatrix:
    """What to raise where it is not known how scores come about."""
    return NoAttentionMatrix(
        f"{checkpoint.spec.name} is of the type “{stack.type[:40]}”, whose attention cannot be looked into here. "
        f"Models of {len(TABLE)} other types can, such as BERT, GPT-2, LLaMA, T5 and BART."
    )


def places(checkpoint: Checkpoint) -> dict[MapKind, tuple[Place, ...]]:
    """Every attention of a checkpoint, by kind and layer.

    Of an architecture without an entry it is found out by a pass (`core.attention.architectures.asked`).

    Raises:
        NoAttentionMatrix: the architecture has no such matrix, or it is not known how it is made.
    """
    from core.attention.architectures import asked

    if not listed(checkpoint):
        return asked.places(checkpoint)
    found: dict[MapKind, tuple[Place, ...]] = {}
    both = stacks(checkpoint)
    for stack in both:
        for kind in _kinds(stack, both):
            names = TABLE[stack.type][kind]
            numbers = _numbers(checkpoint.model, stack, names)
            heads = _heads(checkpoint.model, stack, names, numbers)
            found[kind] = tuple(Place(kind, i, heads, names, stack, own) for i, own in enumerate(numbers))
    return found


def _heads(model: Any, stack: Stack, names: Attends, numbers: Numbers) -> int:
    """As many as the configuration says; ConvBERT's modules have fewer than that and know it."""
    if not names.heads.startswith("."):
        return int(getattr(stack.config, names.heads))
    own = model.get_submodule(stack.prefix + names.module.format(**dict(numbers[0])))
    return int(getattr(own, names.heads[1:]))


def _numbers(model: Any, stack: Stack, names: Attends) -> Numbers:
    """For each layer what stands for the braces of its names."""
    if "{group}" in names.module:
        config = stack.config
        layers, groups, inner = config.num_hidden_layers, config.num_hidden_groups, config.inner_group_num
        return [
            (("group", int(layer / (layers / groups))), ("inner", part))
            for layer in range(layers)
            for part in range(inner)
        ]
    if "{at}" in names.module:
        return [(("at", path),) for path in older.of_tokens(stack.config)]
    listed = model.get_submodule(stack.prefix + names.module.partition(".{i}")[0])
    return [(("i", i),) for i in range(len(listed))]
