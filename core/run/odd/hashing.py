r"""The buckets of a Reformer, and which keys its queries attend to (Kitaev et al., 2020, arXiv 2001.04451).

Queries and keys share one projection. A random rotation :math:`R` (d x b/2) assigns a vector to a bucket; similar
vectors are likely to share one:

.. math:: h(x) = \arg\max\,[xR;\,-xR]

Positions are sorted by bucket, then by position, and split into chunks of m. A query attends to the keys of its own
chunk and of the previous one, to itself only if it attends to nothing else, and never to a later position. Every
hashing round has its own rotation; a query attends to a key if they share chunks in any round, and the rounds are
combined by their weights. The rounds are concatenated, so the previous chunk of a round's first chunk is the last chunk
of the round before, and that of the very first chunk is the very last one.

transformers lets a query attend to both whole chunks, whatever the buckets in them.

Legend: R rows, n tokens, H heads, d head dimension, r rounds, b buckets, m tokens of a chunk.
"""

from __future__ import annotations

from core.lazy import Tensor, functional, torch

SEED = 0
"""Of the rotations; equal in every layer, as in transformers."""


def rotations(heads: int, width: int, rounds: int, buckets: int, seed: int) -> Tensor:
    """(H, d, r, b/2) standard normal numbers, equal to those that transformers samples with ``hash_seed``."""
    return torch.randn(heads, width, rounds, buckets // 2, generator=torch.Generator().manual_seed(seed))


def buckets_of(vectors: Tensor, rotation: Tensor) -> Tensor:
    """(R, H, n, d) vectors to (R, H, r, n) buckets, 0 to b - 1."""
    rotated = torch.einsum("bmtd,mdhr->bmhtr", vectors, rotation.to(vectors))
    return torch.cat([rotated, -rotated], dim=-1).argmax(-1)


def order_of(buckets: Tensor, chunk: int) -> Tensor:
    """(..., r, n) buckets to (..., r, n') positions sorted by bucket, then by position; n' is a multiple of m.

    Positions from n on are padding, which has a bucket of its own and comes last.
    """
    fill = -buckets.shape[-1] % chunk
    return torch.sort(functional.pad(buckets, (0, fill), value=int(buckets.max()) + 1), dim=-1, stable=True).indices


def count_shared_rounds(buckets: Tensor, chunk: int) -> Tensor:
    """(..., r, n) buckets to (..., n, n): the number of rounds in which a query (row) attends to an earlier key.

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


def with_itself(same_bucket: Tensor) -> Tensor:
    """(..., n, n) counts of shared rounds, with 1 on the diagonal of a position that attends to no other."""
    return same_bucket + torch.diag_embed((~(same_bucket > 0).any(-1)).to(same_bucket))


def local_mask(n: int, chunk: int) -> Tensor:
    """(n, n) True where local attention is allowed: own and previous chunk, causal; all of a text of one chunk."""
    chunks = torch.arange(n) // (chunk if n > chunk else n)
    distance = chunks[:, None] - chunks[None, :]
    return ((distance == 0) | (distance == 1)) & torch.ones(n, n, dtype=torch.bool).tril()
