"""A network as a visitor sets it: numbers in boxes, and a style for what has no box.

The parameters of one layer with width d, a heads of d_h numbers of which g have keys and values of their own, and a
feed-forward block of f:

    attention        2 · d · a · d_h  +  2 · d · g · d_h        4 d² in the standard case
    feed-forward     2 · d · f, with a gate 3 · d · f           8 d² in the standard case
    norms            2 · 2 d, without a bias 2 · d

and biases where the style has them. Outside the layers stand V words with E numbers each, E · d to widen them where E
is not d, and the rows of positions and segments. Experts and latent attention change the summands of a layer:

    experts          X · 3 · d · i  +  S · 3 · d · i  +  X · d
    latent           d · c + c + c · a · (d_h + d_r)  +  d · (k + d_r) + k + k · a · (d_h + d_v)  +  a · d_v · d

with X experts of width i, S more that every token uses, and a row of the router for each; latents of c numbers for
queries (without one d · a · (d_h + d_r) instead) and of k for keys and values, d_r numbers of a query and of the one
key that are turned, and values of d_v (DeepSeek-AI 2024, section 2.1).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from core.costs.shape import Kind
from core.errors import OutOfRange

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
    """One family's ways; ``data/styles.toml`` has them all."""

    name: str
    classes: tuple[str, ...] = ()
    """How the names of its classes begin."""
    scheme: Positions = "learned"
    attention_bias: Literal["all", "none", "queries", "output", "no keys"] = "all"
    """``queries``: on queries, keys and values alone; ``output``: on the last matrix alone."""
    ffn_bias: bool = True
    norm_bias: bool = True
    norms: int = 2
    """Norms of a layer, without the one before cross-attention."""
    word_norm: bool = False
    """A norm right behind the word vectors, on each side."""
    final_norm: bool = False
    """A norm behind the last layer, on each side."""
    head_norm: bool = False
    """Norms of queries and of keys inside each head."""
    head_bias: bool = False
    """A bias on the matrix that writes words."""
    offset: int = 0
    """Rows of the position table that no position uses."""
    further: Literal["", "global", "distance", "disentangled", "sinks"] = ""
    """More matrices of attention. ``global``: queries, keys and values a second time (Longformer). ``distance``: one
    for distances, three biases and two vectors for segments (XLNet). ``disentangled``: one that makes keys of
    distances, one that makes queries of them (DeBERTa).
    ``sinks``: a score for each head that belongs to no token (gpt-oss)."""
    distance_norm: bool = False
    """A norm on the table of distances."""
    convolution: bool = False
    """A convolution over three tokens, with a norm, beside the first layer (DeBERTa-v2)."""
    mask_vector: bool = False
    """A vector for a word that is not to be seen (XLNet)."""
    two_streams: bool = False
    """Two vectors for each token, side by side behind the last layer (Reformer)."""
    own_words: bool = False
    """Each of two sides has word vectors of its own."""
    centered: bool = False
    """The norms subtract the mean, though they have no bias."""


_DATA = tomllib.loads((Path(__file__).parent / "data" / "styles.toml").read_text(encoding="utf-8"))
STYLES = {key: Style(**row | {"classes": tuple(row.get("classes", ()))}) for key, row in _DATA["styles"].items()}


def style_of(architecture: str) -> str:
    """The style of a class: the one that has the longest beginning of its name, or BERT's."""
    fitting = [
        (len(begin), key) for key, one in STYLES.items() for begin in one.classes if architecture.startswith(begin)
    ]
    return max(fitting, default=(0, "bert"))[1]


def meaning(architecture: str) -> str:
    """What the boxes stand for where a class has no such thing under that name; empty for most."""
    return next((text for begin, text in _DATA["meanings"].items() if architecture.startswith(begin)), "")


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that the editor sets. ``decoder_layers`` counts only where there are two sides."""

    kind: Kind
    layers: int
    decoder_layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    """0 stands for width / heads."""
    ffn: int
    gated: bool
    vocabulary: int
    embedding: int
    """0 stands for the width."""
    positions: int
    scheme: Positions
    segments: int
    tied: bool
    shared: bool
    head: Head
    style: str
    adapter: int = 0
    """Numbers inside an adapter, two to a layer; 0 without any."""
    experts: int = 0
    """Feed-forward blocks to choose from in a layer; 0 where there is just the one."""
    active: int = 2
    """How many of them a token uses."""
    common: int = 0
    """Experts beside them that every token uses."""
    inner: int = 0
    """Feed-forward width of one expert; 0 stands for the layer's."""
    dense: int = 0
    """The first layers, which have one feed-forward block and no experts."""
    latent: int = 0
    """Numbers from which the keys and values of all heads are made; 0 where each is made from the token's vector."""
    query_latent: int = 0
    """The same for queries, where keys and values have a latent."""
    turned: int = 0
    """With a latent: numbers of a query, and of the one key, that carry the position."""
    value: int = 0
    """With a latent: numbers of a value; 0 stands for those of a head."""
    axial: int = 0
    """Rows of the first of two crossed tables; positions must be a multiple."""
    hashed: int = 0
    """Layers, the last ones, whose queries are their keys."""

    @property
    def dim(self) -> int:
        """Numbers of one head."""
        return self.head_dim or self.width // self.heads

    @property
    def word_width(self) -> int:
        """Numbers of a word's vector."""
        return self.embedding or self.width

    @property
    def expert_width(self) -> int:
        """Feed-forward width of one expert."""
        return self.inner or self.ffn

    @property
    def value_dim(self) -> int:
        """Numbers of a value in one head."""
        return (self.latent and self.value) or self.dim

    @property
    def kept(self) -> int:
        """Numbers that a token leaves in the cache of one layer."""
        return self.latent + self.turned if self.latent else 2 * self.kv_heads * self.dim

    def changed(self, **values: Any) -> Configuration:
        """With other values, checked. Raises :class:`OutOfRange`."""
        new = replace(self, **values)
        check(new)
        return new


def check(one: Configuration) -> None:
    """Raise :class:`core.errors.OutOfRange` with a sentence when the numbers do not make a network."""
    if min(one.layers, one.width, one.heads, one.kv_heads, one.ffn, one.vocabulary) < 1:
        raise OutOfRange("Layers, hidden size, heads, feed-forward size and vocabulary must be at least 1.")
    if not one.head_dim and one.width % one.heads:
        low = one.width - one.width % one.heads
        fits = " or ".join(f"{value:,}" for value in (low, low + one.heads) if value)
        raise OutOfRange(
            f"A hidden size of {one.width:,} cannot be divided among {one.heads} heads. {fits} would do, or a head "
            "dimension of your own."
        )
    if not one.latent and one.heads % one.kv_heads:
        fits = ", ".join(str(n) for n in range(1, one.heads + 1) if one.heads % n == 0)
        raise OutOfRange(
            f"{one.heads} query heads cannot share {one.kv_heads} key-value heads equally. These would do: {fits}."
        )
    if one.kind == "encoder-decoder" and one.decoder_layers < 1:
        raise OutOfRange("An encoder-decoder needs at least one decoder layer.")
    depth = min(one.layers, one.decoder_layers) if one.kind == "encoder-decoder" else one.layers
    if one.experts and not 1 <= one.active <= one.experts:
        raise OutOfRange(f"A token cannot use {one.active:,} of {one.experts:,} experts: choose 1 to {one.experts:,}.")
    if one.experts and one.dense > depth:
        raise OutOfRange(f"{one.dense:,} layers without experts are more than the {depth:,} layers there are.")
    if one.hashed > depth:
        raise OutOfRange(f"{one.hashed:,} hashed layers are more than the {depth:,} layers there are.")
    if one.shared and (0 < one.hashed < depth or (one.experts and 0 < one.dense < depth)):
        raise OutOfRange(
            "Layers with shared parameters cannot be of two kinds: switch sharing off, or make all layers alike."
        )
    if one.scheme == "axial":
        _check_axial(one)


def _check_axial(one: Configuration) -> None:
    if not one.axial or one.positions % one.axial or not one.positions:
        raise OutOfRange(
            f"{one.positions:,} positions are no multiple of {one.axial:,} rows of the first axial table. The "
            "product of both tables' rows is the number of positions."
        )
    if one.word_width < 4:
        raise OutOfRange("Two axial tables divide an embedding one to three, so it needs at least 4 dimensions.")
