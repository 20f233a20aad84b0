r"""Attention patterns: which query attends to which key, as predicates that can be combined.

A pattern is a function of two integer arrays (query positions i, key positions j) that broadcast against each other; it
is True where a score is computed. From one predicate follow the mask (:func:`mask`), the exact number of scores
(:func:`count`) and the picture, so that they cannot disagree.

    full            every pair                                       n²           scores for n tokens
    causal          j ≤ i                                            n (n + 1) / 2
    window(l, r)    i − l ≤ j ≤ i + r                                about (l + r + 1) n
    blocks(p, b)    the pattern p between blocks of b tokens         linear in n where p is
    global_at(S)    j in S, or i in S                                |S| (2n − |S|)
    random          r keys drawn for each query from a seed          r n
    prefix(p)       j < p, or j ≤ i                                  n (n + 1) / 2 + p (p − 1) / 2
    padding(real)   j < real                                         n real
    dilated(r, d)   |i − j| ≤ r d, and d divides it                  about (2r + 1) n
    segments(s, m)  from m before the query's segment to the query   about (m + (s + 1) / 2) n
    strided(l)      0 ≤ i − j ≤ l, or l divides i − j                Child et al. 2019, arXiv 1904.10509
    fixed(l, c)     ⌊j / l⌋ = ⌊i / l⌋, or j mod l ≥ l − c; causal
    row(t, s)       i − j ≤ s                                        Ramesh et al. 2021, arXiv 2102.12092,
    column(t, s)    s divides i − j                                  appendix B.1 and the caption of figure 11
    convolution(k)  |i − j − a s| ≤ h for an a from 0 to h = (k − 1) / 2

The last three are causal and hold between image tokens, which follow t text tokens row by row of s tokens. Text attends
to text causally; an image token attends to all of the text, the text never to the image. In the paper's words a row
mask reaches to "the one in the same column of the previous row", s back, across the edge of the image; the convolution
wraps around the edge likewise. The column mask is drawn there in two ways, one of them over the transposed image, so
that its keys are adjacent. The allowed pairs are those above: any others would let a token attend to a later one.

Child et al. give their patterns as two heads each, the two terms of the disjunctions above; a head with both is their
merged head. Whether the first part of ``strided`` ends at l (as in notes on the paper) or before it (as in the authors'
code, openai/sparse_attention) changes nothing once both are joined: l divides l.

The two streams of a factorization order are XLNet's (Yang et al. 2019, arXiv 1906.08237; `core.language.permuted`).
Ranks say when a token is predicted (0: known from the start). The query stream, which predicts a token, attends to what
is known and what was predicted before; the content stream, which contains the token, attends to itself, too.

numpy alone, since pages that only read draw patterns, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from core.errors import OutOfRange
from core.turns import turns

Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]
Pattern = Callable[[Positions, Positions], Mask]

_CHUNK_CELLS = 1_000_000  # cells of one slab in count(): 8 MB of differences for any length, some milliseconds


def full(query: Positions, key: Positions) -> Mask:
    """Every query attends to every key."""
    return np.ones(np.broadcast(query, key).shape, dtype=np.bool_)


def causal(query: Positions, key: Positions) -> Mask:
    """A query attends to itself and what comes before it."""
    return key <= query


def anticausal(query: Positions, key: Positions) -> Mask:
    """A query attends to itself and what comes after it: a text read from right to left."""
    return key >= query


def prefix(length: int) -> Pattern:
    """All queries attend to the first ``length`` keys; beyond them a query attends to itself and what comes before it.

    A prefix of 0 is :func:`causal`, one as long as the text :func:`full`.
    """
    return lambda query, key: (key < length) | (key <= query)


def padding(real: int) -> Pattern:
    """No query attends to a key from ``real`` on: those tokens are padding.

    Their rows are computed but not used.
    """
    return lambda query, key: full(query, key) & (key < real)


def segments(size: int, memory: int) -> Pattern:
    """A text in segments of ``size``: a query attends to its own segment up to itself, and ``memory`` keys before it.

    Without memory nothing crosses a segment's border; with as much as the text is long, it is :func:`causal`.
    """
    return lambda query, key: (key >= query // size * size - memory) & (key <= query)


def dilated(each: int, gap: int) -> Pattern:
    """A window with gaps: a query attends to itself and ``each`` keys on either side, every ``gap``-th one.

    With a gap of 1 it is :func:`window`.
    """
    return lambda query, key: (np.abs(query - key) <= each * gap) & ((query - key) % gap == 0)


def window(left: int, right: int | None = None) -> Pattern:
    """A query attends to ``left`` keys before it, itself, and ``right`` after it (as many as before by default)."""
    after = left if right is None else right
    return lambda query, key: (key >= query - left) & (key <= query + after)


def global_at(positions: Iterable[int]) -> Pattern:
    """The given positions attend to everything, and everything attends to them."""
    chosen = np.asarray(sorted(set(positions)), dtype=np.int64)
    return lambda query, key: np.isin(query, chosen) | np.isin(key, chosen)


def random(n: int, each: int, seed: int | tuple[int, ...], without: Pattern | None = None) -> Pattern:
    """Each of ``n`` queries attends to ``each`` keys sampled without replacement, the same for the same seed.

    Args:
        n: number of positions; the pattern answers for positions 0 … n − 1 only.
        each: keys sampled for each query (fewer where fewer remain).
        seed: seed of numpy's PCG64 generator; a tuple such as (seed, layer, head) gives independent draws.
        without: keys that this pattern allows are excluded from the sample.
    """
    everything = np.arange(n, dtype=np.int64)
    generator = np.random.Generator(np.random.PCG64(seed))
    sampled = np.zeros((n, -(-n // 8)), dtype=np.uint8)  # eight keys in each byte
    for query in range(n):
        turns.step()
        keys = everything if without is None else everything[~without(everything[query : query + 1], everything)]
        # The first keys of a permutation: those for r are the first r of those for r + 1, so that a larger number
        # only adds keys.
        chosen = np.zeros(n, dtype=np.bool_)
        chosen[generator.permutation(keys)[:each]] = True
        sampled[query] = np.packbits(chosen)
    return lambda query, key: (sampled[query, key >> 3] >> (7 - (key & 7)).astype(np.uint8) & 1).astype(np.bool_)


def blocks(pattern: Pattern, size: int) -> Pattern:
    """``pattern`` between blocks of ``size`` neighboring tokens instead of between tokens."""
    return lambda query, key: pattern(query // size, key // size)


def union(*patterns: Pattern) -> Pattern:
    """A pair is allowed when any of the patterns allows it; no pattern at all allows nothing."""
    return lambda query, key: reduce(np.logical_or, (p(query, key) for p in patterns), ~full(query, key))


def mask(pattern: Pattern, n: int, keys: int | None = None) -> Mask:
    """The pattern as a matrix of shape (n, keys), square where no number of keys is given: rows are queries."""
    query, key = np.arange(n, dtype=np.int64), np.arange(n if keys is None else keys, dtype=np.int64)
    return pattern(query[:, None], key[None, :])


def count(pattern: Pattern, n: int) -> int:
    """How many scores the pattern computes for ``n`` tokens, pair by pair (in slabs: no n × n array is kept)."""
    positions = np.arange(n, dtype=np.int64)
    rows = max(1, _CHUNK_CELLS // max(n, 1))
    total = 0
    for start in range(0, n, rows):
        turns.step()
        total += int(pattern(positions[start : start + rows, None], positions[None, :]).sum())
    return total


def ranks(order: Sequence[int], length: int) -> Positions:
    """(length,) ranks of a text whose positions ``order`` are predicted one after the other, all others being known."""
    out = np.zeros(length, dtype=np.int64)
    out[list(order)] = np.arange(1, len(order) + 1)
    return out


def perm_mask(rank: Positions) -> Mask:
    """(..., L, L) transformers' ``perm_mask``: True at [i, j] where i does not attend to j. Its rows are those of the
    query stream; transformers lets the content stream attend to itself all the same.
    """
    query, key = rank[..., :, None], rank[..., None, :]
    return np.asarray((key > 0) & (key >= query), dtype=np.bool_)


def query_stream(order: Sequence[int], n: int) -> Pattern:
    """A token that is predicted attends to the known ones and those predicted before it; never to itself.

    Args:
        order: positions in the order of prediction; those of the ``n`` positions that are not in it are known.
    """
    rank = ranks(order, n)
    return lambda query, key: (rank[key] == 0) | (rank[key] < rank[query])


def content_stream(order: Sequence[int], n: int) -> Pattern:
    """As :func:`query_stream`, and every token attends to itself."""
    return union(query_stream(order, n), window(0))


def random_order(n: int, seed: int) -> tuple[int, ...]:
    """An order of all ``n`` positions; seed 0 is from left to right, the others are sampled with numpy's PCG64."""
    if seed == 0:
        return tuple(range(n))
    return tuple(np.random.Generator(np.random.PCG64(seed)).permutation(n).tolist())


def strided(stride: int) -> Pattern:
    """A query attends to the ``stride`` keys before it, itself, and every ``stride``-th one before."""
    return lambda query, key: (key <= query) & ((query - key <= stride) | ((query - key) % stride == 0))


def fixed(stride: int, summary: int) -> Pattern:
    """A query attends to its own block of ``stride`` up to itself, and the last ``summary`` keys of every block before.

    Raises:
        OutOfRange: the summary has no token, or more than a block.
    """
    if not 1 <= summary <= stride:
        raise OutOfRange(f"A block of {stride} has from 1 to {max(stride, 1)} summary tokens, not {summary}.")
    return lambda query, key: (key <= query) & ((key // stride == query // stride) | (key % stride >= stride - summary))


def row(text: int, side: int) -> Pattern:
    """An image token attends to the image back to its own position one row up."""
    return _image(text, lambda back: back <= side)


def column(text: int, side: int) -> Pattern:
    """An image token attends to its own position in all rows above."""
    return _image(text, lambda back: back % side == 0)


def convolution(text: int, side: int, kernel: int) -> Pattern:
    """An image token attends to a square of ``kernel`` x ``kernel`` around it, as far as it is generated.

    Raises:
        OutOfRange: the kernel's side is even.
    """
    if kernel % 2 == 0:
        raise OutOfRange(f"The side of a kernel is an odd number, not {kernel}.")
    half = kernel // 2

    def in_square(back: Positions) -> Mask:
        return reduce(np.logical_or, (np.abs(back - above * side) <= half for above in range(half + 1)))

    return _image(text, in_square)


def _image(text: int, allowed: Callable[[Positions], Mask]) -> Pattern:
    """Causal between text tokens, all of the text for image tokens, ``near`` of the distance between image tokens."""
    return lambda query, key: (key <= query) & ((key < text) | allowed(query - key))
