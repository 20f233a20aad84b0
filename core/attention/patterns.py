"""Attention patterns: which query may look at which key, as predicates that can be combined.

A pattern is a function of two integer arrays (query positions, key positions) that broadcast against each other; it
returns True where a score is computed. From one predicate follow the mask (:func:`mask`), the exact number of scores
(:func:`count`) and the picture, so that they cannot disagree.

    full            every pair                                       n²           scores for n tokens
    causal          key ≤ query                                      n (n + 1) / 2
    window(l, r)    query − l ≤ key ≤ query + r                      about (l + r + 1) n
    blocks(p, b)    the pattern p between blocks of b tokens         linear in n where p is
    global_at(S)    key in S, or query in S                          |S| (2n − |S|)
    random          r keys drawn for each query from a seed          r n

numpy alone: pages that only read draw patterns too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from core.errors import OutOfRange

Positions = NDArray[np.int64]
Mask = NDArray[np.bool_]
Pattern = Callable[[Positions, Positions], Mask]

_CHUNK_CELLS = 4_000_000  # cells of one slab in count(): 4 MB of booleans, whatever the length


def full(query: Positions, key: Positions) -> Mask:
    """Every query sees every key."""
    return np.ones(np.broadcast(query, key).shape, dtype=bool)


def causal(query: Positions, key: Positions) -> Mask:
    """A query sees itself and what comes before it."""
    return np.asarray(key <= query)


def window(left: int, right: int | None = None) -> Pattern:
    """A query sees ``left`` keys before it, itself, and ``right`` after it (as many as before when not given).

    Raises:
        OutOfRange: when a width is negative.
    """
    after = left if right is None else right
    if left < 0 or after < 0:
        raise OutOfRange(f"A window reaches zero or more tokens to each side, not {left} and {after}.")

    def allows(query: Positions, key: Positions) -> Mask:
        return np.asarray((key >= query - left) & (key <= query + after))

    return allows


def global_at(positions: Iterable[int]) -> Pattern:
    """The given positions see everything and are seen by everything."""
    chosen = np.asarray(sorted(set(positions)), dtype=np.int64)

    def allows(query: Positions, key: Positions) -> Mask:
        return np.asarray(np.isin(query, chosen) | np.isin(key, chosen))

    return allows


def random(n: int, each: int, seed: int | tuple[int, ...], without: Pattern | None = None) -> Pattern:
    """Each of ``n`` queries sees ``each`` keys drawn without replacement, the same for the same seed.

    Args:
        n: number of positions; the pattern answers for positions 0 … n − 1 only.
        each: keys drawn for one query (fewer where fewer are left).
        seed: seed of numpy's PCG64 generator; a tuple such as (seed, layer, head) gives independent draws.
        without: keys that this pattern allows are left out of the draw.

    Raises:
        OutOfRange: when a number is negative.
    """
    if n < 0 or each < 0:
        raise OutOfRange(f"A random pattern needs counts of zero or more, not {n} positions and {each} keys.")
    everything = np.arange(n, dtype=np.int64)
    taken = np.zeros((n, n), dtype=bool) if without is None else mask(without, n)
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = np.zeros((n, n), dtype=bool)
    for row in range(n):
        free = everything[~taken[row]]
        # A permutation of the free keys, cut: the first r keys for r + 1 are those for r, so that turning the number
        # up only adds.
        drawn[row, generator.permutation(free)[:each]] = True

    def allows(query: Positions, key: Positions) -> Mask:
        return np.asarray(drawn[query, key])

    return allows


def blocks(pattern: Pattern, size: int) -> Pattern:
    """``pattern`` between blocks of ``size`` neighbouring tokens instead of between tokens.

    Raises:
        OutOfRange: when the size is not positive.
    """
    if size < 1:
        raise OutOfRange(f"A block holds at least one token, not {size}.")

    def allows(query: Positions, key: Positions) -> Mask:
        return pattern(query // size, key // size)

    return allows


def union(*patterns: Pattern) -> Pattern:
    """A pair is allowed when any of the patterns allows it; no pattern at all allows nothing."""

    def allows(query: Positions, key: Positions) -> Mask:
        seen = np.zeros(np.broadcast(query, key).shape, dtype=bool)
        for pattern in patterns:
            seen |= pattern(query, key)
        return seen

    return allows


def both(*patterns: Pattern) -> Pattern:
    """A pair is allowed when all of the patterns allow it."""

    def allows(query: Positions, key: Positions) -> Mask:
        seen = np.ones(np.broadcast(query, key).shape, dtype=bool)
        for pattern in patterns:
            seen &= pattern(query, key)
        return seen

    return allows


def mask(pattern: Pattern, n: int) -> Mask:
    """The pattern as a matrix of shape (n, n): rows are queries, columns keys."""
    positions = np.arange(n, dtype=np.int64)
    return pattern(positions[:, None], positions[None, :])


def count(pattern: Pattern, n: int) -> int:
    """How many scores the pattern computes for ``n`` tokens, pair by pair (in slabs: no n × n array is kept)."""
    positions = np.arange(n, dtype=np.int64)
    rows = max(1, _CHUNK_CELLS // max(n, 1))
    return sum(
        int(pattern(positions[start : start + rows, None], positions[None, :]).sum()) for start in range(0, n, rows)
    )
