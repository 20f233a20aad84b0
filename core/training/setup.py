"""What a training from random weights depends on besides its text, and how many parameters its model has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.checkpoints.families import Kind
from core.errors import OutOfRange

Objective = Literal["next", "masked", "spans"]
Units = Literal["characters", "bytes", "bpe"]
KINDS: dict[Objective, Kind] = {"next": "causal-lm", "masked": "masked-lm", "spans": "seq2seq-lm"}
"""A decoder like GPT-2, an encoder like BERT, an encoder-decoder like T5."""
ENTRIES = 1_000
"""Of a BPE vocabulary, special tokens included."""
LAYERS, WIDTHS, HEADS, CONTEXTS = (1, 2, 3, 4, 6), (32, 64, 96, 128, 192), (1, 2, 4, 8), (32, 64, 128, 256)
BUCKETS = 32
"""Of T5's relative positions, in each of its stacks."""
RATES = (0.0003, 0.001, 0.003, 0.01)
LEARNING_RATE = 0.003
STEPS = 600
"""Of one training, and of each time that it goes on."""
TOKENS = 1_024
"""In one step: as many rows as hold them."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The model and its objective.

    Raises:
        OutOfRange: a field is none of the values offered, or the width is no multiple of the heads.
    """

    objective: Objective = "next"
    units: Units = "bpe"
    layers: int = 4
    """Of each stack."""
    heads: int = 4
    width: int = 128
    context: int = 64
    """Tokens in a row."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, offered in (("layers", LAYERS), ("heads", HEADS), ("width", WIDTHS), ("context", CONTEXTS)):
            if getattr(self, name) not in offered:
                raise OutOfRange(f"The {name} can be {', '.join(map(str, offered))}, not {getattr(self, name)}.")
        if self.width % self.heads:
            raise OutOfRange(f"A width of {self.width} cannot be split evenly among {self.heads} heads.")

    @property
    def kind(self) -> Kind:
        return KINDS[self.objective]


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement, in bits per byte."""

    step: int
    train: float
    """Mean loss of the steps since the last measurement; at step 0 as ``held_out``."""
    held_out: float
    seconds: float
    """Of processor time so far."""
    rate: float
    """The learning rate of the steps before it."""


def parameters(setup: Setup, entries: int) -> int:
    """How many parameters the model has over a vocabulary of ``entries``.

    Each matrix of the attention has d² weights, the feed-forward layer 8 d². Token embeddings are the output's matrix,
    too.
    """
    d, layers = setup.width, setup.layers
    embeddings = entries * d
    if setup.objective == "spans":  # no biases, norms of one vector, a second attention in the decoder
        return embeddings + layers * (12 * d * d + 2 * d + 16 * d * d + 3 * d) + 2 * (d + BUCKETS * setup.heads)
    layer = 12 * d * d + 13 * d
    if setup.objective == "next":
        return embeddings + setup.context * d + layers * layer + 2 * d
    head = d * d + d + 2 * d + entries  # a dense layer and a norm before the output, whose tokens have biases
    return embeddings + (setup.context + 2) * d + 2 * d + layers * layer + head
