"""LSH attention of a Reformer over a text: buckets, the sorted order, the pairs that attend, and the weight covered.

Everything comes from the model's own query-key vectors at one layer and head, and from rotations of a given seed.

    covered             Σ_j w_ij over the keys j that i attends to, w the full attention weights of the same vectors
    strongest_covered   1 where the key with the largest weight is among them
    expected            share of all causal pairs that attend: ``covered`` if hashing were independent of content

All three leave out the first two chunks, where nearly every pair attends in any order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Bools, Integers
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, OutOfRange
from core.language.text import clean
from core.language.tokens import label
from core.lazy import Tensor, torch
from core.run.odd import hashing
from core.sparse import reformer
from core.words import counted

BUCKETS = (4, 8, 16, 32, 64)
"""Numbers of buckets whose recall is measured."""
TOP = 8
"""Keys with the largest weights that hashing should find."""
LEAST = 160
"""Bytes that a text needs, more than the two chunks that the averages leave out."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """How much of full attention a number of hashing rounds covers; shares from 0 to 1."""

    rounds: int
    covered: float
    strongest_covered: float
    expected: float


@dataclass(frozen=True, slots=True)
class Recall:
    """How many of the true top keys hashing finds, against its work; shares from 0 to 1."""

    buckets: int
    rounds: int
    chunk: int
    recall: float
    """Share of the `TOP` keys with the largest weights that a query attends to, over the second half of the text."""
    work: float
    """Scores computed, two chunks for each query and round, as a share of the n² of full attention."""


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """One layer and head over a text."""

    labels: tuple[str, ...]
    """Each byte as a character or a code."""
    buckets: Integers  # (r, n)
    order: Integers  # (r, n'): sorted positions, padding (n and above) last
    same_bucket: Bools  # (n, n): query by key, over all rounds
    chunk: int
    count: int
    """Number of buckets."""
    rows: tuple[Rounds, ...]
    """By number of rounds."""


def prepare(checkpoint: Checkpoint, text: str, least: int = 1) -> tuple[int, ...]:
    """The bytes of a text as tokens.

    Raises:
        InputEmpty, InputTooLong: nothing to read, or more than the model has positions for.
        OutOfRange: fewer than ``least`` bytes.
    """
    limit = reformer.shape_of(checkpoint.model)[-1]
    ids = tuple(int(i) for i in checkpoint.tokenizer(clean(text, newlines=True), verbose=False)["input_ids"])
    if len(ids) > limit:
        raise InputTooLong(f"This text has {len(ids):,} bytes; {checkpoint.spec.name} reads {limit:,}. Shorten it.")
    if len(ids) < least:
        raise OutOfRange(f"This text has {len(ids):,} bytes; it needs at least {least:,}. Type a longer one.")
    return ids


def compute_buckets(
    checkpoint: Checkpoint, ids: tuple[int, ...], layer: int, head: int, rounds: int, seed: int
) -> Buckets:
    """Buckets of one LSH layer and head over a text of at least :data:`LEAST` bytes.

    Args:
        checkpoint: a Reformer that continues texts; it is only read.
        ids: from :func:`prepare`.
        layer: counted from 0, one with LSH attention.
        head: counted from 0.
        rounds: of hashing; the model runs with as many.
        seed: of the rotations.

    Raises:
        OutOfRange: no such layer or head.
    """
    model = checkpoint.model
    hashing_layers, heads, chunk, _ = reformer.shape_of(model)
    if layer not in hashing_layers or not 0 <= head < heads:
        raise OutOfRange(f"This model hashes in layers {_listed(hashing_layers)}, with {counted(heads, 'head')} each.")
    recorded: dict[int, reformer.Hashed] = {}
    reformer.states(model, torch.tensor([ids]), rounds=rounds, seed=seed, record=recorded)
    vectors, buckets = recorded[layer].vectors[head], recorded[layer].buckets[head]
    count = int(model.config.num_buckets)
    weights = reformer.full_weights(vectors)

    def sample_buckets(number: int) -> Tensor:
        """(number, n) buckets of these vectors in that many rounds with this seed."""
        rotation = hashing.rotations(heads, vectors.shape[-1], number, count, seed)[head : head + 1]
        return hashing.buckets_of(vectors[None, None], rotation)[0, 0]

    return Buckets(
        labels=tuple(label(checkpoint.tokenizer, i) for i in ids),
        buckets=buckets.numpy(),
        order=hashing.order_of(buckets, chunk).numpy(),
        same_bucket=reformer.attended(buckets, chunk).numpy(),
        chunk=chunk,
        count=count,
        rows=tuple(_row(weights, sample_buckets(number), chunk) for number in reformer.ROUNDS),
    )


def recalls(checkpoint: Checkpoint, ids: tuple[int, ...], layer: int, head: int, seed: int) -> tuple[Recall, ...]:
    """The recall of the model's own queries for each number of buckets and rounds.

    A chunk has twice the tokens of a mean bucket, as in the paper. Arguments as for :func:`compute_buckets`.
    """
    heads = reformer.shape_of(checkpoint.model)[1]
    recorded: dict[int, reformer.Hashed] = {}
    reformer.states(checkpoint.model, torch.tensor([ids]), seed=seed, record=recorded)
    vectors = recorded[layer].vectors[head]
    n = len(vectors)
    best = reformer.full_weights(vectors)[n // 2 :].topk(min(TOP, n // 2), dim=-1).indices
    result = []
    for count in BUCKETS:
        chunk = max(2, -(-2 * n // count))
        for rounds in reformer.ROUNDS:
            rotation = hashing.rotations(heads, vectors.shape[-1], rounds, count, seed)[head : head + 1]
            attended = reformer.attended(hashing.buckets_of(vectors[None, None], rotation)[0, 0], chunk)
            recall = float(attended[n // 2 :].gather(1, best).float().mean())
            result.append(Recall(count, rounds, chunk, recall, rounds * min(2 * chunk, n) / n))
    return tuple(result)


def _row(weights: Tensor, buckets: Tensor, chunk: int) -> Rounds:
    n = len(weights)
    same_bucket = reformer.attended(buckets, chunk)
    late = slice(min(2 * chunk, n - 1), n)
    best = weights.argmax(-1, keepdim=True)
    shares = same_bucket.sum(-1) / same_bucket.new_ones(n, dtype=weights.dtype).cumsum(0).sub(1).clamp(min=1)
    return Rounds(
        rounds=len(buckets),
        covered=float(reformer.covered_weight(weights, same_bucket)[late].mean()),
        strongest_covered=float(same_bucket.gather(1, best)[late].float().mean()),
        expected=float(shares[late].mean()),
    )


def shares(same_bucket: NDArray[np.bool_], cell: int) -> NDArray[np.float64]:
    """(n, n) pairs to (cells, cells): the share of each cell's pairs that share a bucket."""
    n = len(same_bucket)
    count = -(-n // cell)
    padded = np.zeros((count * cell, count * cell))
    padded[:n, :n] = same_bucket
    ones = np.zeros_like(padded)
    ones[:n, :n] = 1
    split = (count, cell, count, cell)
    return np.asarray(padded.reshape(split).sum((1, 3)) / np.maximum(1, ones.reshape(split).sum((1, 3))))


def _listed(layers: tuple[int, ...]) -> str:
    return " and ".join(str(layer + 1) for layer in layers)
