"""Attention as data: which tokens looked at which, in every layer and head.

    A = softmax(Q Kᵀ / √d_k)        rows are queries, columns keys; every row sums to one.

Legend: L layers, H heads, Q query tokens, K key tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

MapKind = Literal["encoder", "decoder", "cross"]


@dataclass(frozen=True, slots=True, eq=False)
class AttentionMap:
    """One kind of attention. ``weights`` has shape (L, H, Q, K), float32, read-only; masked entries are 0."""

    kind: MapKind
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    weights: NDArray[np.float32]  # (L, H, Q, K)

    def __post_init__(self) -> None:
        assert self.weights.ndim == 4, self.weights.shape
        assert self.weights.shape[2:] == (len(self.query_tokens), len(self.key_tokens)), self.weights.shape

    @property
    def layers(self) -> int:
        """Number of layers, L."""
        return int(self.weights.shape[0])

    @property
    def heads(self) -> int:
        """Number of heads in a layer, H."""
        return int(self.weights.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class AttentionTrace:
    """Everything a checkpoint attended to over one text: one to three maps."""

    checkpoint: str
    encoder: AttentionMap | None = None
    decoder: AttentionMap | None = None
    cross: AttentionMap | None = None

    @property
    def maps(self) -> tuple[AttentionMap, ...]:
        """The maps that exist, in the order encoder, decoder, cross."""
        return tuple(m for m in (self.encoder, self.decoder, self.cross) if m is not None)
