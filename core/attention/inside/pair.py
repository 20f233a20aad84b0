"""One query and one key of a live head: the numbers of each step from the two vectors to the head's output.

Legend: n keys, d head dimension. Of vectors the first :data:`FIRST` numbers are kept, and what the rest adds to a sum.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.attention.layers import one_prediction
from core.attention.scores import KEPT, attention_layers, scores_of
from core.attention.trace import MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language.makers import inputs
from core.language.types import labels
from core.lazy import torch
from core.run.run import Site, run

FIRST = 4


@dataclass(frozen=True, slots=True)
class PairSteps:
    """What becomes of a query and its keys in one head."""

    tokens: tuple[str, ...]
    """Labels of the n tokens."""
    query: int
    key: int
    heads: int
    rotated: bool
    """Whether queries and keys are rotated by their position (RoPE)."""
    dimension: int
    query_numbers: tuple[float, ...]
    key_numbers: tuple[float, ...]
    """The first numbers of the two vectors."""
    product: float
    """The dot product over all d dimensions, unscaled."""
    scores: tuple[float, ...]
    """(n) of this query, scaled and masked."""
    weights: tuple[float, ...]
    """(n) as the model computed them."""
    values: tuple[float, ...]
    """(n) the first number of each token's value."""
    output: tuple[float, ...]
    """The first numbers of the head's output for this query."""


def pair_steps(checkpoint: Checkpoint, text: str, layer: int, head: int, query: str, key: str) -> PairSteps:
    """The steps of a pair of tokens, given by their labels, in a head of self-attention; layer and head from 0.

    Raises:
        OutOfRange: there is no such layer, head or token.
        NoAttentionMatrix, InputEmpty, InputTooLong: in sentences.
    """
    by_kind = attention_layers(checkpoint)
    kind: MapKind = "encoder" if "encoder" in by_kind else "decoder"
    read = inputs(checkpoint, text)
    tokens = labels(read.tokens)
    if not (0 <= layer < len(by_kind[kind]) and {query, key} <= {*tokens}):
        raise OutOfRange(f"{checkpoint.spec.name} has no such layer, or the text no such token.")
    row, column = tokens.index(query), tokens.index(key)
    keep = {Site(kind, layer, name) for name in KEPT} | {Site(kind, layer, "terms")}
    recorded = run(checkpoint.model, read.tensors, keep=keep, edits=one_prediction(checkpoint))
    scores = scores_of(recorded, kind, layer)
    if not 0 <= head < len(scores.query):
        raise OutOfRange(f"{checkpoint.spec.name} has {len(scores.query)} heads in a layer.")
    with torch.inference_mode():
        q, k = scores.query[head, row], scores.key[head, column]
        output = scores.weights[head, row] @ scores.value[head]
        return PairSteps(
            tokens,
            row,
            column,
            len(scores.query),
            scores.before_rope is not None,
            q.shape[-1],
            tuple(q[:FIRST].tolist()),
            tuple(k[:FIRST].tolist()),
            float(q @ k),
            tuple(scores.score[head, row].tolist()),
            tuple(scores.weights[head, row].tolist()),
            tuple(scores.value[head, :, 0].tolist()),
            tuple(output[:FIRST].tolist()),
        )
