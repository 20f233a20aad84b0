r"""Reformer's attention as scores (Kitaev et al. 2020, arXiv 2001.04451), in layers that hash and in local ones.

A layer that hashes has one projection; a key is its query brought to unit mean square. A key that is met in
:math:`m_{ij}` rounds counts so many times, which is the same as a term of its logarithm:

.. math:: a_{ij} = \mathrm{softmax}_j\Big(\frac{q_i \cdot \hat q_j}{\sqrt d} + \ln m_{ij}\Big), \qquad
    \hat q_j = \frac{q_j}{\sqrt{\tfrac1d \sum_k q_{jk}^2}}

over the keys that are met; a token meets itself only where it meets nothing else. Rotations are those of the model's
own pass here (`core.sparse.reformer`). A local layer has :math:`q_i \cdot k_j / \sqrt d` over the own chunk and the
one before.

Legend: H heads, n tokens, d width of a head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

EPSILON = 1e-6
"""What transformers adds to the mean square."""


@dataclass(frozen=True, slots=True)
class HashedAttention:
    """One layer's attention."""

    query: Tensor  # (H, n, d)
    key: Tensor  # (H, n, d)
    value: Tensor  # (H, n, d)
    terms: dict[str, Tensor]  # (H, n, n) each; "rounds" is 0 where a key is not met
    allowed: Tensor  # (H or 1, n, n) True where a key is met
    factor: float


def projections(own: Any) -> tuple[str, ...]:
    """The names of a layer's projections."""
    return ("query_key", "value") if hashes(own) else ("query", "key", "value")


def hashes(own: Any) -> bool:
    """Whether the attention hashes; else it is local."""
    return hasattr(own, "query_key")


def attention(own: Any, projected: Mapping[str, Tensor]) -> HashedAttention:
    """The attention of one text.

    Args:
        own: the attention's module.
        projected: (H, n, d) what each of its :func:`projections` gave.
    """
    import torch

    from core.sparse.reformer import near

    value = projected["value"]
    n, width = value.shape[1:]
    factor = width**-0.5
    if hashes(own):
        query = projected["query_key"]
        key = query * torch.rsqrt(query.square().mean(-1, keepdim=True) + EPSILON)
        times, seen = _rounds(own, query)
        terms = {"content": query @ key.transpose(-1, -2) * factor}
        if bool((times > 1).any()):
            terms["rounds"] = times.clamp(min=1).log()
        return HashedAttention(query, key, value, terms, seen, factor)
    query, key = projected["query"], projected["key"]
    seen = near(n, int(own.chunk_length))[None]
    return HashedAttention(query, key, value, {"content": query @ key.transpose(-1, -2) * factor}, seen, factor)


def _rounds(own: Any, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """(H, n, n) in how many rounds a query meets a key, and where it meets it at all."""

    from core.sparse.hashing import buckets_of, counts, rotations, with_itself
    from core.sparse.reformer import SEED

    heads, _, width = vectors.shape
    rotation = rotations(heads, width, int(own.config.num_hashes), int(own.config.num_buckets), SEED)
    buckets, chunk = buckets_of(vectors[None], rotation)[0], int(own.chunk_length)
    times = counts(buckets, chunk)
    return times, with_itself(times) > 0
