"""The layout of a size as far as its costs need it. Small frozen data; no torch here.

A network is one stack of layers (an encoder or a decoder) or two. In one layer, a heads compare vectors of d_k numbers
and carry home d_v numbers each; g of the a heads have keys and values of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Side = Literal["encoder", "decoder"]
Kind = Literal["encoder", "decoder", "encoder-decoder"]


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers of one side. A network without attention has ``heads`` 0."""

    side: Side
    layers: int
    """Layers that a token passes, shared ones counted each time."""
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    """Numbers of a query or key in one head."""
    value_dim: int
    """Numbers of a value in one head."""
    ffn: int
    """Width of the feed-forward block, of all the experts together that one token uses."""
    gated: bool
    cross: bool
    """Whether the layers also look at the other side."""
    spans: tuple[int, ...]
    """Keys that a token can see at most, for each layer; 0 where it can see all there are."""
    kept: int
    """Numbers that one token leaves in the cache of one layer: keys and values, or the latent that stands for both."""
    constant: int = 0
    """Numbers that one layer keeps for a text of any length (a state space's state)."""
    memory: int = 0
    """Keys of earlier segments that stand before the text (Transformer-XL)."""

    @property
    def query_width(self) -> int:
        """Numbers of all queries of a token."""
        return self.heads * self.head_dim

    def keys(self, length: int) -> list[int]:
        """How many keys a token looks at in each layer when the text has ``length`` tokens."""
        seen = length + self.memory
        return [min(seen, span) if span else seen for span in self.spans]


@dataclass(frozen=True, slots=True)
class Shape:
    """A size: its stacks (the encoder first), and what lies outside them."""

    kind: Kind
    stacks: tuple[Stack, ...]
    vocabulary: int
    embedding: int
    """Numbers of a word's vector before it is widened, where it is; else the width."""
    positions: int
    """Rows of the position table, or the longest text of a model without one; 0 where nothing says."""
    segments: int
    tied: bool
    experts: int = 0
    """Experts of a layer, 0 without any."""
    active: int = 0
    """Experts that one token uses."""
    uses: float = 1
    """How often each stored layer is applied (ALBERT: 12)."""

    def stack(self, side: Side) -> Stack | None:
        """The stack of that side, or None."""
        return next((stack for stack in self.stacks if stack.side == side), None)

    @property
    def main(self) -> Stack:
        """The stack that writes, or the only one."""
        return self.stacks[-1]


def usual_length(shape: Shape) -> int:
    """A length to begin with: the largest power of two that the positions allow, at most 2,048; 512 without any."""
    most = shape.positions or 512
    return min(2048, 1 << (most.bit_length() - 1))
