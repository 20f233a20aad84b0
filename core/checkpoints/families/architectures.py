"""What follows from a configuration: the kind of a model, its page, its positions, and the traits of its architecture.

The mappings of transformers (``MODEL_FOR_..._MAPPING_NAMES``) decide the kind. Their module imports torch, and pages
that only read stay light: ``mappings.json`` is a copy, which ``python -m lab mappings`` writes and a test compares.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from core.checkpoints.families import FAMILIES, Branch, Kind
from core.lazy import Tensor
from core.run.model import Config, Model

Trait = Literal[
    "learned positions",
    "fixed positions",
    "relative positions",
    "rotary positions",
    "shared layers",
    "disentangled attention",
    "languages",
    "memory",
    "hashing",
    "window",
    "blocks",
    "two streams",
    "sentence order",
    "language tokens",
    "unscaled attention",
    "state in modules",
    "padding in states",
]
"""Traits of architectures. ``languages``: language embeddings; ``memory``: of earlier segments; ``hashing``: attention
within buckets; ``window``: attention to neighbors and a few global tokens; ``blocks``: attention between some blocks of
tokens; ``sentence order``: its head for pairs predicts their order; ``language tokens``: source and output start with a
language token; ``unscaled attention``: scores are not divided by the root of d; ``state in modules``: a part of its
cache is stored in the shared modules; ``padding in states``: the states of a text's tokens depend on the padding after
them, which its convolution, pooling or Fourier transform does not mask."""


class _Rows(BaseModel, frozen=True, extra="forbid"):
    """``architectures.toml``, whose comments explain the lists."""

    efficient: frozenset[str]
    padded_positions: frozenset[str]
    ahead: frozenset[str]
    traits: dict[str, frozenset[Trait]]


_ROWS = _Rows.model_validate(tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")))


def traits_of(architecture: str | None) -> frozenset[Trait]:
    """The traits of an architecture (`architecture_of`); none before a download."""
    return _ROWS.traits.get(architecture or "", frozenset())


@lru_cache(maxsize=1)
def tables() -> dict[Kind, dict[str, str]]:
    """For each kind, the mapping of transformers from model type to class name."""
    return {family.kind: mappings()[family.table] for family in FAMILIES.values() if family.table}


@lru_cache(maxsize=1)
def mappings() -> dict[str, Any]:
    """All mappings of transformers from model type to class name, or to several, by their names there."""
    named: dict[str, Any] = json.loads(Path(__file__).with_name("mappings.json").read_text(encoding="utf-8"))
    return named


MAPPING = re.compile(r"MODEL_(?:FOR_(\w+)_)?MAPPING_NAMES")


def purpose_of(class_name: str) -> str | None:
    """What transformers lists a class for, in its own words, ``sequence classification``.

    Empty for a model without a head; None where no mapping has the class.
    """
    for name, mapping in mappings().items():
        if class_name in mapping.values() and (match := MAPPING.fullmatch(name)):
            return (match[1] or "").replace("_", " ").lower()
    return None


def kind_of(config: Mapping[str, Any]) -> Kind | None:
    """The kind of the model of a ``config.json``; None where it has no language-model head."""
    architectures = config.get("architectures")
    if not isinstance(architectures, list) or not architectures:
        return None
    name = architectures[0]
    if config.get("attn_type", "bi") == "bi":  # XLNet's class is a causal model with attn_type "uni"
        for family in FAMILIES.values():
            if name in family.classes:
                return family.kind
    return next((kind for kind, table in tables().items() if name in table.values()), None)


def classes_of(config: Mapping[str, Any]) -> list[str]:
    """transformers' classes of any kind for this model type."""
    kind = config.get("model_type")
    return list(dict.fromkeys(table[kind] for table in tables().values() if kind in table))


def architecture_of(config: Mapping[str, Any]) -> str | None:
    """The model type; ``transformer-xl`` for XLNet's class with causal attention."""
    model_type = config.get("model_type")
    if model_type == "xlnet" and config.get("attn_type", "bi") == "uni":
        return "transformer-xl"
    return model_type if isinstance(model_type, str) else None


def has(config: Config, trait: Trait) -> bool:
    """Whether the architecture of a loaded model's configuration has this trait; see `CheckpointSpec.offers`."""
    return trait in traits_in(config)


def traits_in(config: Config) -> frozenset[Trait]:
    """The traits of the architecture of a loaded model's configuration."""
    return traits_of(architecture_of({name: getattr(config, name, None) for name in ("model_type", "attn_type")}))


def branch_of(kind: Kind, config: Mapping[str, Any]) -> Branch:
    """The page that offers a model of this kind and type."""
    return "efficient" if config.get("model_type") in _ROWS.efficient else FAMILIES[kind].branch


def positions_of(config: Mapping[str, Any]) -> int | None:
    """The longest input in tokens; None where the architecture has no limit (relative positions)."""
    for name in ("max_position_embeddings", "n_positions", "n_ctx", "max_encoder_position_embeddings"):
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            if config.get("model_type") in _ROWS.padded_positions:
                pad = config.get("pad_token_id")
                value -= (pad if isinstance(pad, int) else 1) + 1
            return value - int(config.get("model_type") in _ROWS.ahead)
    return None


_HEADS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("bert", "mobilebert", "squeezebert", "big_bird"), lambda m: m.cls.predictions),
    **dict.fromkeys(
        ("roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "roberta-prelayernorm", "mpnet", "longformer"),
        lambda m: m.lm_head,
    ),
    **dict.fromkeys(("electra", "convbert"), lambda m: lambda h: m.generator_lm_head(m.generator_predictions(h))),
    "albert": lambda m: m.predictions,
    "distilbert": lambda m: lambda h: m.vocab_projector(m.vocab_layer_norm(m.activation(m.vocab_transform(h)))),
    "deberta-v2": lambda m: m.cls if m.legacy else lambda h: m.lm_predictions(h, m.get_input_embeddings()),
    "xlm": lambda m: lambda h: m.pred_layer(h)[0],
    "modernbert": lambda m: lambda h: m.decoder(m.head(h)),
}


def word_head(model: Model) -> Callable[[Tensor], Tensor] | None:
    """The function from last hidden states (..., d) to logits (..., V), where the head reads each position alone.

    None for other architectures, whose forward pass projects every position.
    """
    find = _HEADS.get(model.config.model_type)
    return find(model) if find else None
