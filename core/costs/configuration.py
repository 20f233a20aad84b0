"""A network as a visitor configures it: values for the controls, and a style for what has no control.

Parameters of one layer, with hidden size d, a query heads and g key-value heads of dimension d_h, feed-forward size f:

    attention        2 · d · a · d_h  +  2 · d · g · d_h        4 d² in the standard case
    feed-forward     2 · d · f, with a gate 3 · d · f           8 d² in the standard case
    norms            2 · 2 d, without a bias 2 · d

plus biases where the style has them. Outside the layers: token embeddings V · E, a projection E · d where E is not d,
and the rows of positions and segments. Experts and latent attention change the summands of a layer:

    experts          X · 3 · d · i  +  S · 3 · d · i  +  X · d
    latent           d · c + c + c · a · (d_h + d_r)  +  d · (k + d_r) + k + k · a · (d_h + d_v)  +  a · d_v · d

with X routed experts of size i, S shared experts, and a row of the router for each routed one; a latent of dimension c
for queries (without one d · a · (d_h + d_r) instead) and of k for keys and values, d_r dimensions of a query and of the
single key that are rotated, and values of dimension d_v (DeepSeek-AI 2024, section 2.1).

The editor begins with a published size. Its values come from the stored shape and tree, the head and the style from the
class. A test compares the counts of all sizes with attention layers, to the last parameter.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from core import anatomy
from core.anatomy.node import ModuleNode
from core.anatomy.store import size_of
from core.costs.remarks import no_editor
from core.costs.shape import Shape, StackKind, shape_of
from core.errors import OutOfRange
from core.words import counted

Positions = Literal["learned", "rotary", "relative", "distances", "axial", "fixed"]
POSITIONS: dict[str, str] = {
    "learned": "learned, absolute",
    "rotary": "rotary (RoPE)",
    "relative": "relative bias (T5)",
    "distances": "relative embeddings (DeBERTa)",
    "axial": "axial (Reformer)",
    "fixed": "sinusoidal, ALiBi or none",
}
Head = Literal["none", "pooler", "words", "masked", "masked-pooler", "pretraining", "replaced"]
HEADS: dict[str, str] = {
    "none": "none",
    "pooler": "pooler",
    "words": "language modeling",
    "masked": "masked language modeling",
    "masked-pooler": "masked language modeling, pooler",
    "pretraining": "masked language modeling, next sentence",
    "replaced": "replaced-token detection",
}


@dataclass(frozen=True, slots=True)
class Style:
    """The common properties of a family of architectures; ``data/styles.toml`` has all styles."""

    name: str
    classes: tuple[str, ...] = ()
    """Prefixes of the names of its classes."""
    scheme: Positions = "learned"
    attention_bias: Literal["all", "none", "queries", "output", "no keys"] = "all"
    """``queries``: on the projections of queries, keys and values; ``output``: on the output projection alone."""
    ffn_bias: bool = True
    norm_bias: bool = True
    norms: int = 2
    """Norms of a layer, without the one before cross-attention."""
    word_norm: bool = False
    """A norm after the token embeddings, in each stack."""
    final_norm: bool = False
    """A norm after the last layer, in each stack."""
    head_norm: bool = False
    """Norms of queries and of keys inside each head."""
    head_bias: bool = False
    """A bias on the output projection."""
    offset: int = 0
    """Rows of the position table that no position uses."""
    further: Literal["", "global", "distance", "disentangled", "sinks"] = ""
    """Further matrices of attention. ``global``: second projections of queries, keys and values (Longformer).
    ``distance``: a projection of distances, three biases and two vectors for segments (XLNet). ``disentangled``:
    projections of distances to keys and to queries (DeBERTa). ``sinks``: a learned score per head that belongs to no
    token (gpt-oss)."""
    distance_norm: bool = False
    """A norm on the relative embeddings."""
    convolution: bool = False
    """A convolution over three tokens, with a norm, beside the first layer (DeBERTa-v2)."""
    mask_vector: bool = False
    """A learned vector for the query stream of a predicted token (XLNet)."""
    two_streams: bool = False
    """Two hidden states per token, concatenated after the last layer (Reformer)."""
    own_words: bool = False
    """Encoder and decoder have token embeddings of their own."""
    centered: bool = False
    """The norms subtract the mean although they have no bias."""


_DATA = tomllib.loads((Path(__file__).parent / "data" / "styles.toml").read_text(encoding="utf-8"))
STYLES = {key: Style(**row | {"classes": tuple(row.get("classes", ()))}) for key, row in _DATA["styles"].items()}


def style_of(architecture: str) -> str:
    """The style of a class: the one with the longest matching prefix, or BERT's."""
    fitting = [
        (len(begin), key) for key, style in STYLES.items() for begin in style.classes if architecture.startswith(begin)
    ]
    return max(fitting, default=(0, "bert"))[1]


def meaning(architecture: str) -> str:
    """The meaning of the values, if a class has no component of that name; usually empty."""
    return next((text for begin, text in _DATA["meanings"].items() if architecture.startswith(begin)), "")


@dataclass(frozen=True, slots=True)
class Configuration:
    """All values of the editor. ``decoder_layers`` applies to encoder-decoders alone. Names of fields are in links."""

    kind: StackKind
    layers: int
    decoder_layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    """0: width / heads."""
    ffn: int
    gated: bool
    vocabulary: int
    embedding: int
    """Dimension of the token embeddings; 0: the hidden size."""
    positions: int
    scheme: Positions
    segments: int
    tied: bool
    shared: bool
    head: Head
    style: str
    adapter: int = 0
    """Bottleneck dimension of the adapters, two per layer; 0 without adapters."""
    experts: int = 0
    """Routed experts of a layer; 0 where it has one feed-forward block."""
    active: int = 2
    """Experts that a token is routed to."""
    common: int = 0
    """Shared experts, which every token uses."""
    inner: int = 0
    """Feed-forward size of one expert; 0: the layer's."""
    dense: int = 0
    """How many of the first layers have one feed-forward block instead of experts."""
    latent: int = 0
    """Dimension of the key-value latent (MLA); 0 without latent attention."""
    query_latent: int = 0
    """Dimension of the query latent; 0 where queries are projected from the hidden state."""
    rope_dim: int = 0
    """With a latent: dimensions of a query, and of the single key, that are rotated (RoPE)."""
    value: int = 0
    """With a latent: dimension of a value; 0: that of a head."""
    axial: int = 0
    """Rows of the first of two axial position tables; positions must be a multiple."""
    hashed: int = 0
    """How many of the last layers share the projection of queries and keys (LSH attention)."""

    @property
    def depths(self) -> tuple[int, ...]:
        """The layers of each stack, the encoder first."""
        return (self.layers, self.decoder_layers) if self.kind == "encoder-decoder" else (self.layers,)

    @property
    def dim(self) -> int:
        """Dimension of one head."""
        return self.head_dim or self.width // self.heads

    @property
    def word_width(self) -> int:
        """Dimension of a token embedding."""
        return self.embedding or self.width

    @property
    def expert_width(self) -> int:
        """Feed-forward size of one expert."""
        return self.inner or self.ffn

    @property
    def value_dim(self) -> int:
        """Dimension of a value in one head."""
        return (self.latent and self.value) or self.dim

    @property
    def cached(self) -> int:
        """Values that one token adds to the cache of one layer."""
        return self.latent + self.rope_dim if self.latent else 2 * self.kv_heads * self.dim

    def changed(self, **values: Any) -> Configuration:
        """A checked copy with other values. Raises :class:`OutOfRange`."""
        new = replace(self, **values)
        check(new)
        return new


def check(config: Configuration) -> None:
    """Raise :class:`core.errors.OutOfRange`, with a sentence, where the values are not consistent."""
    if min(config.layers, config.width, config.heads, config.kv_heads, config.ffn, config.vocabulary) < 1:
        raise OutOfRange("Layers, hidden size, heads, feed-forward size and vocabulary must be at least 1.")
    if not config.head_dim and config.width % config.heads:
        low = config.width - config.width % config.heads
        fits = " or ".join(f"{value:,}" for value in (low, low + config.heads) if value)
        raise OutOfRange(
            f"A hidden size of {config.width:,} cannot be divided among {config.heads} heads. {fits} works, or a "
            "head dimension of your own."
        )
    if not config.latent and config.heads % config.kv_heads:
        fits = ", ".join(str(n) for n in range(1, config.heads + 1) if config.heads % n == 0)
        raise OutOfRange(
            f"{config.heads} query heads cannot share {config.kv_heads} key-value heads equally. "
            f"Numbers that work: {fits}."
        )
    depth = min(config.depths)
    if depth < 1:
        raise OutOfRange("An encoder-decoder needs at least one decoder layer.")
    if config.experts and not 1 <= config.active <= config.experts:
        raise OutOfRange(
            f"A token cannot use {config.active:,} of {config.experts:,} experts: choose 1 to {config.experts:,}."
        )
    if config.experts and config.dense > depth:
        raise OutOfRange(
            f"Without experts: {counted(config.dense, 'layer')}, more than the {counted(depth, 'layer')} of the model."
        )
    if config.hashed > depth:
        raise OutOfRange(
            f"With hashing: {counted(config.hashed, 'layer')}, more than the {counted(depth, 'layer')} of the model."
        )
    if config.shared and (0 < config.hashed < depth or (config.experts and 0 < config.dense < depth)):
        raise OutOfRange(
            "Layers with shared parameters cannot be of two kinds: switch sharing off, or make all layers alike."
        )
    if config.scheme == "axial":
        _check_axial(config)


def _check_axial(config: Configuration) -> None:
    if not config.axial or config.positions % config.axial or not config.positions:
        raise OutOfRange(
            f"{config.positions:,} positions are not a multiple of {config.axial:,} rows of the first axial table. The "
            "product of both tables' rows is the number of positions."
        )
    if config.word_width < 4:
        raise OutOfRange("Two axial tables divide an embedding one to three, so it needs at least 4 dimensions.")


def start(slug: str, size: str | None = None) -> Configuration:
    """The configuration of a published size.

    Raises :class:`core.errors.OutOfRange` for a network that is not one stack of attention layers over one embedding
    matrix, and what the catalogue raises for unknown names.
    """
    chosen, shape = size_of(slug, size), shape_of(slug, size)
    refusal = no_editor(slug, chosen.name)
    if refusal or shape is None:
        raise OutOfRange(refusal)
    root = anatomy.tree(slug, chosen.name)
    style = style_of(chosen.architecture)
    if style == "deberta-3" and _named(root, "conv"):
        style = "deberta-2"
    scheme = STYLES[style].scheme
    if scheme == "learned" and not _rows(root, _POSITIONS):
        scheme = "fixed"
    stack, first = shape.main, shape.stacks[0]
    plain = stack.width == stack.heads * stack.head_dim
    values: dict[str, Any] = {
        "kind": shape.kind,
        "layers": first.layers,
        "decoder_layers": stack.layers if shape.two_sided else 0,
        "width": stack.width,
        "heads": stack.heads,
        "kv_heads": stack.kv_heads,
        "head_dim": 0 if plain else stack.head_dim,
        "ffn": stack.ffn,
        "gated": stack.gated,
        "vocabulary": shape.vocabulary,
        "embedding": 0 if shape.embedding == stack.width else shape.embedding,
        "positions": shape.positions,
        "scheme": scheme,
        "segments": _rows(root, _SEGMENTS),
        "tied": shape.tied and not chosen.architecture.startswith("Untied"),
        "shared": shape.uses > 1,
        "head": _head(chosen.architecture, shape.kind, root),
        "style": style,
        "rope_dim": stack.head_dim // 2,
        "adapter": _width(root, "adapter", "down"),
    }
    values |= _experts(root, shape) | _latent(root, shape) | _special(root, style)
    if chosen.architecture.startswith("DallE"):
        words = _rows(root, ("text_token", "image_token"))
        positions = _rows(root, ("text_padding", "text_position", "image_row", "image_column"))
        values |= {"vocabulary": words, "positions": positions, "scheme": "learned", "tied": False}
    return Configuration(**values)


_POSITIONS = ("position_embeddings", "embed_positions", "wpe", "positions_embed")
_SEGMENTS = ("token_type_embeddings", "lang_embeddings", "task_type_embeddings")


def _named(root: ModuleNode, name: str) -> ModuleNode | None:
    """The first module of that name that has parameters, of its own or in its children."""
    return next((node for _, node, _ in root.walk() if node.name == name and node.parameters), None)


def _rows(root: ModuleNode, names: tuple[str, ...]) -> int:
    """Rows of all tables of these names; a name that the encoder and the decoder have counts once."""
    return sum({n.name: n.tensors[0][1][0] for _, n, _ in root.walk() if n.name in names and n.own}.values())


def _width(root: ModuleNode, parent: str, child: str) -> int:
    """Output features of a linear layer; 0 where the tree has none of that name."""
    node = _named(root, parent)
    below = None if node is None else _named(node, child)
    return 0 if below is None else below.tensors[0][1][0]


def _experts(root: ModuleNode, shape: Shape) -> dict[str, Any]:
    """The values of a mixture of experts."""
    experts = _named(root, "experts")
    if not shape.experts or experts is None:
        return {}
    inner = dict(experts.tensors)["down_proj"][-1]
    having = sum(copies for _, node, copies in root.walk() if node.name == "experts" and node.own)
    dense = next(
        (node for _, node, _ in root.walk() if node.name == "up_proj" and node.tensors[0][1][0] != inner), None
    )
    return {
        "experts": shape.experts,
        "active": shape.active,
        "common": _width(root, "shared_experts", "up_proj") // inner,
        "inner": inner,
        "dense": shape.main.layers - having,
        "ffn": dense.tensors[0][1][0] if dense else inner * shape.active,
    }


def _latent(root: ModuleNode, shape: Shape) -> dict[str, Any]:
    """The values of latent attention."""
    norm, query = _named(root, "kv_a_layernorm"), _named(root, "q_a_layernorm")
    if norm is None:
        return {}
    latent, stack = norm.own, shape.main
    rope_dim = stack.cached - latent
    dim = stack.head_dim - rope_dim
    return {
        "latent": latent,
        "query_latent": 0 if query is None else query.own,
        "rope_dim": rope_dim,
        "head_dim": dim,
        "value": 0 if stack.value_dim == dim else stack.value_dim,
    }


def _special(root: ModuleNode, style: str) -> dict[str, Any]:
    """Values of one family alone: DeBERTa's relative embeddings, Reformer's axial tables and hashed layers."""
    if style.startswith("deberta"):
        return {"positions": _rows(root, ("rel_embeddings",)) // 2}
    if style == "reformer":
        crossed = _named(root, "weights")
        hashed = sum(copies for _, node, copies in root.walk() if node.name == "query_key")
        return {
            "axial": crossed.tensors[0][1][0] if crossed else 0,
            "hashed": hashed,
        }
    return {}


def _head(architecture: str, kind: str, root: ModuleNode) -> Head:
    pooler = any(node.name == "pooler" for _, node, _ in root.walk())
    if architecture.startswith("EncoderDecoder"):
        return "masked-pooler" if pooler else "masked"
    if kind != "encoder":
        return "words"
    if architecture.startswith("Electra"):
        return "replaced" if architecture.endswith("ForPreTraining") else "none"
    if architecture.endswith("ForPreTraining"):
        return "pretraining" if pooler else "masked"
    if architecture.endswith("ForMaskedLM"):
        return "masked-pooler" if pooler else "masked"
    if pooler:
        return "pooler"
    return "none" if not architecture.endswith("LMHeadModel") else "words"
