"""Attention weights as data, for every layer and head.

    A = softmax(Q Kᵀ / √d_k)        rows are queries, columns keys; every row sums to one, or ``note`` says why not.

A weight of zero has two meanings: it was computed and rounds to zero, or it was never computed, because the key is
later, outside a window, or in another bucket. ``allowed`` separates the two.

Legend: L layers, H heads, Q query tokens, K key tokens, d head dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.arrays import Bools, Floats
from core.content import content
from core.errors import OutOfRange

MapKind = Literal["encoder", "decoder", "cross", "query"]
Array = TypeVar("Array", bound=NDArray[Any])


def map_note(name: str, **values: str | int) -> str:
    """A note on a map: a part of ``assets/content/attention/all.md``."""
    return content("attention", "all").part(f"Map: {name}", **values)


def frozen(values: Array) -> Array:
    """The same array, made read-only, since visitors share results."""
    values.setflags(write=False)
    return values


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """One kind of attention; all arrays are read-only."""

    kind: MapKind
    """``query`` is the second stream of a two-stream model, which does not attend to its own token."""
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    weights: Floats  # (L, H, Q, K)
    """0 where no weight is computed."""
    allowed: Bools | None = None
    """The attention mask, broadcastable to ``weights``: True where a weight is computed; None for everywhere."""
    second: int | None = None
    """The first token of the second segment, if any."""
    label: str = ""
    """A name that is more precise than ``kind``; may be empty."""
    note: str = ""
    """A sentence on unusual rows and columns, or on rows that do not sum to one; may be empty."""
    queries: Floats | None = None  # (L, H, Q, d)
    """The query vectors as in the score (rotated by RoPE, not scaled), if captured."""
    keys: Floats | None = None  # (L, H, K, d)
    special_queries: tuple[int, ...] = ()
    """The positions of special tokens (`core.language.tokens.special_positions`) among the queries."""
    special_keys: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        assert self.weights.ndim == 4, self.weights.shape
        assert self.weights.shape[2:] == (len(self.query_tokens), len(self.key_tokens)), self.weights.shape
        if self.allowed is not None:
            assert np.broadcast_shapes(self.allowed.shape, self.weights.shape) == self.weights.shape, self.allowed.shape
        for vectors, count in ((self.queries, self.weights.shape[2]), (self.keys, self.weights.shape[3])):
            assert vectors is None or vectors.shape[:3] == (*self.weights.shape[:2], count), vectors.shape

    @property
    def causal(self) -> bool:
        """Whether it is a decoder's self-attention."""
        return self.kind == "decoder"

    @property
    def bidirectional(self) -> bool:
        """Whether it is an encoder's self-attention."""
        return self.kind == "encoder"

    @property
    def crosses(self) -> bool:
        """Whether generated tokens attend to those of another text."""
        return self.kind == "cross"

    @property
    def layers(self) -> int:
        """Number of layers, L."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """Number of heads in a layer, H."""
        return int(self.weights.shape[1])

    def computed(self, layer: int, head: int) -> Bools:
        """The attention mask (Q, K) of a head; layer and head from 0."""
        shape = self.weights.shape
        if self.allowed is None:
            return np.ones(shape[2:], dtype=np.bool_)
        computed: Bools = np.broadcast_to(self.allowed, shape)[layer, head]
        return computed


def check_head(attention_map: AttentionMap, layer: int | None = None, head: int | None = None) -> None:
    """Raise :class:`OutOfRange` for a layer or head (from 0) that the map does not have."""
    for name, number, size in (("layer", layer, attention_map.layers), ("head", head, attention_map.heads)):
        if number is not None and not 0 <= number < size:
            raise OutOfRange(f"There is no {name} {number + 1}; this model has {size} here.")


@dataclass(frozen=True, slots=True, eq=False)
class AttentionTrace:
    """The attention of a checkpoint over one text: one to three maps."""

    checkpoint: str
    encoder: AttentionMap | None = None
    decoder: AttentionMap | None = None
    cross: AttentionMap | None = None
    query: AttentionMap | None = None

    @property
    def maps(self) -> tuple[AttentionMap, ...]:
        """The maps that exist, in the order encoder, decoder, cross, query."""
        return tuple(m for m in (self.encoder, self.decoder, self.cross, self.query) if m is not None)

    def of_kind(self, kind: MapKind) -> AttentionMap:
        """The map of that kind, which must exist."""
        return next(attention_map for attention_map in self.maps if attention_map.kind == kind)

    @property
    def own(self) -> AttentionMap:
        """The self-attention over the input text: the encoder's, or a decoder-only model's."""
        attention_map = self.encoder or self.decoder
        assert attention_map is not None
        return attention_map
