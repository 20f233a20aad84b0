r"""Locality-sensitive hashing of attention (Reformer: Kitaev et al., 2020, arXiv 2001.04451), as transformers does it.

Queries and keys share one projection. A vector's bucket comes from a random rotation :math:`R` (d x b/2); vectors that
point alike fall into one bucket more often than not:

.. math:: h(x) = \arg\max\,[xR;\,-xR]

Positions are sorted by bucket, then by place, and cut into chunks of m. A query sees the keys of its own chunk and of
the one before, never itself unless nothing else is left, and never a later place. With several rounds each has its own
rotation; what any round sees is seen, and the rounds are joined by their weights. The rounds stand end to end: before
the first chunk of a round comes the last one of the round before, and before the very first chunk the very last.

transformers lets a query see both chunks whole, whatever the buckets in them.

Legend: H heads, n positions, d head width, r rounds, b buckets, m tokens of a chunk.

What the page of Reformer shows of a text: buckets, the sorted order, who meets whom, what is caught and found.

Everything comes from the model's own query-key vectors at one layer and head, and from rotations of a stated seed.

    caught   Σ_j w_ij over the keys j that i meets, w the weights of full attention with the same vectors
    found    1 where the key with the largest weight is among them
    pairs    the share of all causal pairs that are met: what caught would be if hashing were blind to content

The first two chunks of the text are left out of all three: there nearly everything is met in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, OutOfRange
from core.language.text import clean

if TYPE_CHECKING:
    from torch import Tensor


ITSELF = -1e5
"""Score of a token with itself, as in transformers: it counts only where everything else is forbidden."""


def rotations(heads: int, width: int, rounds: int, buckets: int, seed: int) -> Tensor:
    """(H, d, r, b/2) standard normal numbers, those that transformers draws with ``hash_seed``."""
    return torch.randn(heads, width, rounds, buckets // 2, generator=torch.Generator().manual_seed(seed))


def buckets_of(vectors: Tensor, rotation: Tensor) -> Tensor:
    """(R, H, n, d) vectors to (R, H, r, n) buckets, 0 to b - 1."""
    rotated = torch.einsum("bmtd,mdhr->bmhtr", vectors, rotation.to(vectors))
    return torch.cat([rotated, -rotated], dim=-1).argmax(-1)


def order_of(buckets: Tensor, chunk: int) -> Tensor:
    """(..., r, n) buckets to (..., r, n') positions sorted by bucket, then by place; n' is a whole number of chunks.

    Positions from n on are filling; it has a bucket of its own and comes last.
    """
    fill = -buckets.shape[-1] % chunk
    return torch.sort(pad(buckets, (0, fill), value=int(buckets.max()) + 1), dim=-1, stable=True).indices


def counts(buckets: Tensor, chunk: int) -> Tensor:
    """(..., r, n) buckets to (..., n, n): in how many rounds a query (row) meets a key before it.

    A text of one chunk is not hashed.
    """
    n = buckets.shape[-1]
    before = torch.ones(n, n).tril(-1)
    if n <= chunk:
        return before.expand(*buckets.shape[:-2], n, n)
    order = order_of(buckets, chunk).reshape(*buckets.shape[:-2], -1, chunk)  # (..., chunks, m)
    held = torch.zeros(*order.shape[:-1], n + -n % chunk)  # (..., chunks, n'): which positions a chunk holds
    held.scatter_(-1, order, 1.0)
    return (held.mT @ (held + held.roll(1, -2)))[..., :n, :n] * before


def seen(buckets: Tensor, chunk: int) -> Tensor:
    """(..., r, n) buckets to (..., n, n) True where a query (row) meets a key in some round; causal.

    Itself is left out, but for a position that meets nothing else, as the first.
    """
    return with_itself(counts(buckets, chunk)) > 0


def with_itself(met: Tensor) -> Tensor:
    """(..., n, n) counts of meetings, with one of itself for a position that meets nothing else."""
    return met + torch.diag_embed((~(met > 0).any(-1)).to(met))


def weights(vectors: Tensor, met: Tensor) -> Tensor:
    r"""(..., n, d) shared vectors and (..., n, n) meetings, :func:`with_itself`, to the weights of all rounds together.

    Rounds are joined by their sums, so that a key that is met m times counts m times:

    .. math:: a_{ij} = \frac{m_{ij}\,e^{s_{ij}}}{\sum_k m_{ik}\,e^{s_{ik}}}
    """
    logs = torch.arange(int(met.max()) + 1).log()  # few numbers: looked up, as logarithms of n² numbers take long
    return torch.softmax(_scores(vectors) + logs[met.long()], dim=-1)


def full_weights(vectors: Tensor) -> Tensor:
    """(n, d) shared query-key vectors of one head to (n, n) weights of full causal attention, itself last of all.

    Keys are brought to unit mean square and divided by the root of d.
    """
    n = len(vectors)
    scores = _scores(vectors).masked_fill(torch.eye(n, dtype=torch.bool), ITSELF)
    return torch.softmax(scores.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), -torch.inf), dim=-1)


def _scores(vectors: Tensor) -> Tensor:
    """(..., n, d) to (..., n, n)."""
    keys = vectors * torch.rsqrt(vectors.square().mean(-1, keepdim=True) + 1e-6) / vectors.shape[-1] ** 0.5
    scores: Tensor = vectors @ keys.mT
    return scores


def caught(weights: Tensor, met: Tensor) -> Tensor:
    """(n,) share of each position's full attention weight (n, n) on keys that it meets."""
    return (weights * met).sum(-1)


LEAST = 160
"""Bytes that a text needs, so that something is left to leave out."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """What so many rounds of hashing see; shares from 0 to 1."""

    rounds: int
    caught: float
    found: float
    pairs: float


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """One layer and head over a text."""

    labels: tuple[str, ...]
    """Each byte as a character or a code."""
    buckets: NDArray[np.int64]  # (r, n)
    order: NDArray[np.int64]  # (r, n'): sorted positions, filling (n and above) last
    met: NDArray[np.bool_]  # (n, n): query by key, over all rounds
    chunk: int
    count: int
    """Buckets that there are."""
    rows: tuple[Rounds, ...]
    """By number of rounds."""


def prepare(checkpoint: Checkpoint, text: str, least: int = 1) -> tuple[int, ...]:
    """The bytes of a text as tokens.

    Raises:
        InputEmpty, InputTooLong: nothing to read, or more than the model has positions for.
        OutOfRange: fewer than ``least`` bytes.
    """
    from core.efficiency.reformer import shape_of

    limit = shape_of(checkpoint.model)[-1]
    ids = tuple(int(i) for i in checkpoint.tokenizer(clean(text, newlines=True), verbose=False)["input_ids"])
    if len(ids) > limit:
        raise InputTooLong(f"This text has {len(ids):,} bytes; {checkpoint.spec.name} reads {limit:,}. Shorten it.")
    if len(ids) < least:
        raise OutOfRange(f"This text has {len(ids):,} bytes; {least:,} are needed to show something. Write more.")
    return ids


def look(checkpoint: Checkpoint, ids: tuple[int, ...], layer: int, head: int, rounds: int, seed: int) -> Buckets:
    """Buckets of one hashing layer and head over a text of at least :data:`LEAST` bytes.

    Args:
        checkpoint: a Reformer that continues texts; it is only read.
        ids: from :func:`prepare`.
        layer: counted from 0, a hashing one.
        head: counted from 0.
        rounds: of hashing; the model runs with as many.
        seed: of the rotations.

    Raises:
        OutOfRange: no such layer or head.
    """
    import torch

    from core.efficiency import hashing, reformer
    from core.language.tokens import label

    model = checkpoint.model
    hashing_layers, heads, chunk, _ = reformer.shape_of(model)
    if layer not in hashing_layers or not 0 <= head < heads:
        raise OutOfRange(f"This model hashes in layers {_listed(hashing_layers)}, with {heads} heads each.")
    keep: dict[int, reformer.Hashed] = {}
    reformer.states(model, torch.tensor([ids]), rounds=rounds, seed=seed, keep=keep)
    vectors, buckets = keep[layer].vectors[head], keep[layer].buckets[head]
    count = int(model.config.num_buckets)
    weights = hashing.full_weights(vectors)

    def drawn(number: int) -> Tensor:
        """(number, n) buckets that so many rounds with this seed give these vectors."""
        rotation = hashing.rotations(heads, vectors.shape[-1], number, count, seed)[head : head + 1]
        return hashing.buckets_of(vectors[None, None], rotation)[0, 0]

    return Buckets(
        labels=tuple(label(checkpoint.tokenizer, i) for i in ids),
        buckets=buckets.numpy(),
        order=hashing.order_of(buckets, chunk).numpy(),
        met=hashing.seen(buckets, chunk).numpy(),
        chunk=chunk,
        count=count,
        rows=tuple(_row(weights, drawn(number), chunk) for number in reformer.ROUNDS),
    )


def _row(weights: Tensor, buckets: Tensor, chunk: int) -> Rounds:
    from core.efficiency import hashing

    n = len(weights)
    met = hashing.seen(buckets, chunk)
    late = slice(min(2 * chunk, n - 1), n)
    best = weights.argmax(-1, keepdim=True)
    places = met.sum(-1) / met.new_ones(n, dtype=weights.dtype).cumsum(0).sub(1).clamp(min=1)
    return Rounds(
        rounds=len(buckets),
        caught=float(hashing.caught(weights, met)[late].mean()),
        found=float(met.gather(1, best)[late].float().mean()),
        pairs=float(places[late].mean()),
    )


def shares(met: NDArray[np.bool_], cell: int) -> NDArray[np.float64]:
    """(n, n) pairs to (cells, cells): the share of each cell's pairs that are met."""
    n = len(met)
    count = -(-n // cell)
    padded = np.zeros((count * cell, count * cell))
    padded[:n, :n] = met
    whole = np.zeros_like(padded)
    whole[:n, :n] = 1
    split = (count, cell, count, cell)
    return np.asarray(padded.reshape(split).sum((1, 3)) / np.maximum(1, whole.reshape(split).sum((1, 3))))


def scores(n: int, chunk: int, rounds: int) -> int:
    """Scores of one hashing head over n tokens in whole chunks: each meets two chunks in every round."""
    return n * n if n <= chunk else rounds * (-(-n // chunk)) * chunk * 2 * chunk


def _listed(layers: tuple[int, ...]) -> str:
    return " and ".join(str(layer + 1) for layer in layers)
