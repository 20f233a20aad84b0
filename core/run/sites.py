"""The blocks of each architecture: attention, norms and feed-forward network, by the module names of transformers.

A block is a few sub-layers, each with a residual connection and a norm. The position of the norm makes two families:

    post-norm  x ← norm(x + sub(x))     the original Transformer, BERT and its relatives, GPT, BART, XLNet
    pre-norm   x ← x + sub(norm(x))     GPT-2, T5, LLaMA, M2M-100; one more norm follows the last block

A Reformer has two streams; each sub-layer reads one and adds to the other:

    pre-norm   x1 ← x1 + attention(norm(x2)),  x2 ← x2 + feed-forward(norm(x1))

Data: a row for each bundled model type and for types with the same modules. Of any other type the attention modules are
discovered (`core.run.discover`), and its blocks are not shown.

Stored trees, the meaning of parameters and the counts of operations read the same rows: `Blueprint.modules`.

A name is a path below the base model, with ``{i}`` for the layer; ALBERT, whose layers share modules, counts groups,
too. A part of a joint projection has a suffix: ``c_attn:0/3``. Names that a model lacks under its
settings are ignored (a projection after small embeddings, the gate of a gated feed-forward).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

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
]
SubLayer = Literal["attention", "cross-attention", "feed-forward"]
PROJECTIONS = ("queries", "keys", "values")
ADAPTER = {".down": "adapter-down", ".activation": "adapter-bent", ".up": "adapter-up", "": "adapted"}
"""The modules of an adapter, below its own path."""


class AttentionNames(BaseModel, frozen=True, extra="forbid"):
    """The modules of one kind of attention; an empty name means none."""

    module: str
    """The module that computes scores and weights: its input has the mask, its output ends with the weights."""
    out: str
    """The projection of the joined heads; head h is the h-th of H equal parts of its input."""
    parts: str = "query key value"
    """The projections to queries, keys and values, below ``module``; empty where they are plain tensors (XLNet)."""
    further: dict[str, str] = {}
    """What other modules below ``module`` make, as far as a layer has them."""
    score: Score = "dot_product"
    """How scores are computed from queries and keys: see `core.attention.scores`."""
    scale: Literal["root", "one", "own"] = "root"
    """The factor of the dot product: d^-1/2, 1, or the module's ``scaling``."""
    mask: str = "attention_mask"
    """The module's argument with the mask."""
    heads: str = "num_attention_heads"
    """The configuration's field with the number of heads."""

    def modules(self) -> Iterator[tuple[str, str]]:
        """(path, part) of its modules: ``queries``, ``keys``, ``values``, ``weights``, ``projected`` ..."""
        for name, made in (*zip(self.parts.split(), PROJECTIONS, strict=False), *self.further.items()):
            yield from ((f"{self.module}.{name.partition(':')[0]}", part) for part in made.split())
        yield self.module, "weights"
        if self.out:
            yield self.out, "projected"


class Blueprint(BaseModel, frozen=True, extra="forbid"):
    """The blocks of one side of an architecture."""

    attention: AttentionNames
    layer: str = ""
    """The module of a whole layer; empty where there is none (XLM)."""
    norms: dict[SubLayer, str]
    """The norm of each sub-layer, in the order of the block; cross-attention is left out of models without it."""
    inner: tuple[str, ...]
    """The first projection of the feed-forward network, under its possible names."""
    outer: str
    """The second; its input is the activation."""
    embedding: dict[str, str]
    """The modules whose vectors are summed to the input embeddings: token, position, segment, language."""
    pre_norm: bool = False
    cross: AttentionNames | None = None
    after_embedding: dict[Literal["norm", "projection"], str] = {}
    gate: str = ""
    """The projection that is multiplied with the first one, after the activation."""
    activation: str = "hidden_act"
    """The configuration's field with the activation, or its name."""
    scale: str = ""
    """The setting that multiplies token embeddings by the root of the hidden size; ``always`` where it needs none."""
    final: str = ""
    """The norm after the last block."""
    tokens_first: bool = False
    """Whether its modules take and give tensors with tokens before rows."""
    streams: int = 1
    """2 where attention adds to one stream and the feed-forward part to another (Reformer)."""
    convolution: str = ""
    """A convolution beside the first block (DeBERTa version 2)."""
    adapters: bool = False
    """Whether an adapter stands beside each norm."""

    def modules(self) -> Iterator[tuple[str, str]]:
        """(path, part) of its modules, a joint projection once for each part.

        Parts are called ``embedding-token``, ``attention-queries``, ``cross-attention-norm``, ``feed-forward-outer``.
        """
        yield from ((path, f"embedding-{name}") for name, path in (self.embedding | self.after_embedding).items())
        for part, norm in self.norms.items():
            yield norm, f"{part}-norm"
            names = {"attention": self.attention, "cross-attention": self.cross}.get(part)
            yield from ((path, f"{part}-{name}") for path, name in (names.modules() if names else ()))
            if self.adapters:
                start = f"{norm.rpartition('.')[0]}.adapter"
                for path, name in ADAPTER.items():
                    yield start + path, f"{part}-{name}"
        yield from ((path, "feed-forward-inner") for path in self.inner)
        ends = {"feed-forward-gate": self.gate, "feed-forward-outer": self.outer, "end-final-norm": self.final}
        yield from ((path, part) for part, path in (ends | {"end-convolution": self.convolution}).items() if path)


Sides = dict[Literal["encoder", "decoder"], Blueprint]
ADAPTERS = "bert with adapters"
"""The type of `core.checkpoints.adapters.AdapterBert`, whose configuration is that of its base model."""


def _over(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """``base`` with ``changes``; nested tables are merged key by key."""
    return base | {
        key: {**base[key], **new} if key in base and new and isinstance(new, dict) else new
        for key, new in changes.items()
    }


def _blueprint(row: dict[str, Any], side: str) -> Blueprint:
    """One side of a row, with full names."""

    def path(name: str) -> str:
        return name and row.get("block", "") + name

    def names(relative: dict[str, str]) -> dict[str, str]:
        return relative | {"module": path(relative["module"]), "out": path(relative["out"])}

    fields = {key: value for key, value in row.items() if key not in ("types", "sides", "block")}
    fields |= {key: path(fields[key]) for key in ("outer", "gate") if key in fields}
    fields["inner"] = [path(name) for name in row["inner"]]
    crosses = side == "decoder" and "cross" in row
    fields["norms"] = {part: path(name) for part, name in row["norms"].items() if crosses or part != "cross-attention"}
    fields.pop("cross", None)
    if crosses:
        fields["cross"] = names(row["attention"] | row["cross"])
    fields["attention"] = names(row["attention"])
    return Blueprint.model_validate_json(json.dumps(fields).replace("{side}", side))


def _table() -> dict[str, Sides]:
    """The rows of ``sites.toml`` by model type; the file's first lines describe its format."""
    rows: dict[str, dict[str, Any]] = {}
    table: dict[str, Sides] = {}
    for key, stated in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items():
        rows[key] = row = _over(rows.get(stated.pop("like", ""), {}) | {"types": [key]}, stated)
        for type_ in row["types"]:
            table.setdefault(type_, {}).update({side: _blueprint(row, side) for side in row["sides"]})
    return table


TABLE = _table()
