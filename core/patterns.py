r"""Attention patterns: which query may look at which key, as predicates that can be combined.

A pattern is a function of two integer arrays (query positions, key positions) that broadcast against each other; it
returns True where a score is computed. From one predicate follow the mask (:func:`mask`), the exact number of scores
(:func:`count`) and the picture, so that they cannot disagree.

    full            every pair                                       n²           scores for n tokens
    causal          key ≤ query                                      n (n + 1) / 2
    window(l, r)    query − l ≤ key ≤ query + r                      about (l + r + 1) n
    blocks(p, b)    the pattern p between blocks of b tokens         linear in n where p is
    global_at(S)    key in S, or query in S                          |S| (2n − |S|)
    random          r keys drawn for each query from a seed          r n
    prefix(p)       key < p, or key ≤ query                          n (n + 1) / 2 + p (p − 1) / 2
    padding(real)   key < real                                       n real
    dilated(r, d)   |query − key| ≤ r d, and d divides it            about (2r + 1) n
    segments(s, m)  from m before the query's segment to the query   about (m + (s + 1) / 2) n

numpy alone: pages that only read draw patterns too.

Patterns of a factorisation order: XLNet's two streams as predicates (Yang et al. 2019, arXiv 1906.08237).

The rule is that of :mod:`core.language.permuted`, where it is explained: ranks say when a token is found (0: known from
the start). The query stream, which has to find a token, sees what is known and what was found before; the content
stream, which knows the token, sees itself, too.

Patterns over rows of fixed length: Sparse Transformer's two, and the three masks that DALL-E lays over an image.

With :math:`d = i - j` for a query i and a key j, all of them causal (:math:`d \ge 0`):

    strided(l)        d ≤ l, or l divides d                                 Child et al. 2019, arXiv 1904.10509
    fixed(l, c)       ⌊j / l⌋ = ⌊i / l⌋, or j mod l ≥ l − c
    row(t, s)         d ≤ s                                                 Ramesh et al. 2021, arXiv 2102.12092,
    column(t, s)      s divides d                                           appendix B.1 and the caption of figure 11
    convolution(k)    |d − a s| ≤ h for an a from 0 to h = (k − 1) / 2

The last three hold between image tokens, whose positions are counted from the end of t text tokens, row by row of s
tokens. Text sees text causally; an image token sees all of the text, the text never the image.

In the paper's words a row mask reaches to "the one in the same column of the previous row", s back, across the edge of
the image; the convolution wraps around the edge likewise. The column mask is drawn there in two ways, one of them over
the transposed image, so that its keys lie side by side; which pairs are allowed is what is written here: anything else
would let a token look at one that comes later.

Child et al. give their patterns as two heads each, the two parts that "or" joins above; a head that has both is their
merged one. Whether the first part of ``strided`` ends at l (as in notes on the paper) or before it (as in the authors'
code, openai/sparse_attention) changes nothing once both are joined: l divides l.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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


def anticausal(query: Positions, key: Positions) -> Mask:
    """A query sees itself and what comes after it: a text read from right to left."""
    return np.asarray(key >= query)


def prefix(length: int) -> Pattern:
    """Everyone sees the first ``length`` keys; beyond them a query sees itself and what comes before it.

    A prefix of 0 is :func:`causal`, one as long as the text :func:`full`.

    Raises:
        OutOfRange: when the length is negative.
    """
    if length < 0:
        raise OutOfRange(f"A prefix has zero or more tokens, not {length}.")

    def allows(query: Positions, key: Positions) -> Mask:
        return np.asarray((key < length) | (key <= query))

    return allows


def padding(real: int) -> Pattern:
    """Nobody sees a key from ``real`` on: there stand the tokens that only fill a batch up.

    The rows of those tokens are computed, and nobody reads them.

    Raises:
        OutOfRange: when the number is negative.
    """
    if real < 0:
        raise OutOfRange(f"A text has zero or more tokens, not {real}.")

    def allows(query: Positions, key: Positions) -> Mask:
        return np.broadcast_to(np.asarray(key < real), np.broadcast(query, key).shape)

    return allows


def segments(size: int, memory: int) -> Pattern:
    """A text read in segments of ``size``: a query sees its own segment up to itself, and ``memory`` keys before it.

    Without memory nothing crosses a segment's border; with as much as the text is long, it is :func:`causal`.

    Raises:
        OutOfRange: when a segment holds no token, or the memory is negative.
    """
    if size < 1 or memory < 0:
        raise OutOfRange(f"Segments hold one token or more and memories none or more, not {size} and {memory}.")

    def allows(query: Positions, key: Positions) -> Mask:
        return np.asarray((key >= query // size * size - memory) & (key <= query))

    return allows


def dilated(each: int, gap: int) -> Pattern:
    """A window with gaps: a query sees itself and ``each`` keys on either side, every ``gap``-th one.

    With a gap of 1 it is :func:`window`.

    Raises:
        OutOfRange: when the number of keys is negative or the gap is not positive.
    """
    if each < 0 or gap < 1:
        raise OutOfRange(f"A dilated window has zero or more keys a side and steps of 1 or more, not {each} and {gap}.")

    def allows(query: Positions, key: Positions) -> Mask:
        apart = np.abs(query - key)
        return np.asarray((apart <= each * gap) & (apart % gap == 0))

    return allows


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
    """``pattern`` between blocks of ``size`` neighboring tokens instead of between tokens.

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


def without(pattern: Pattern, *others: Pattern) -> Pattern:
    """A pair is allowed when ``pattern`` allows it and none of the others does."""
    taken = union(*others)

    def allows(query: Positions, key: Positions) -> Mask:
        return pattern(query, key) & ~taken(query, key)

    return allows


def mask(pattern: Pattern, n: int, keys: int | None = None) -> Mask:
    """The pattern as a matrix of shape (n, keys), square where no number of keys is given: rows are queries."""
    query, key = np.arange(n, dtype=np.int64), np.arange(n if keys is None else keys, dtype=np.int64)
    return pattern(query[:, None], key[None, :])


def count(pattern: Pattern, n: int) -> int:
    """How many scores the pattern computes for ``n`` tokens, pair by pair (in slabs: no n × n array is kept)."""
    positions = np.arange(n, dtype=np.int64)
    rows = max(1, _CHUNK_CELLS // max(n, 1))
    return sum(
        int(pattern(positions[start : start + rows, None], positions[None, :]).sum()) for start in range(0, n, rows)
    )


def ranks(order: Sequence[int], length: int) -> Positions:
    """(length,) ranks of a text whose places ``order`` are found one after the other, all others being known."""
    out = np.zeros(length, dtype=np.int64)
    out[list(order)] = np.arange(1, len(order) + 1)
    return out


def blind(rank: Positions) -> Mask:
    """(..., L, L) transformers' ``perm_mask``: True at [i, j] where i cannot see j. Its rows are those of the query
    stream; transformers lets the content stream see itself all the same.
    """
    query, key = rank[..., :, None], rank[..., None, :]
    return np.asarray((key > 0) & (key >= query), dtype=np.bool_)


def query_stream(order: Sequence[int], n: int) -> Pattern:
    """A token that is found sees the known ones and those found before it; never itself.

    Args:
        order: places in the order in which they are found; those of the ``n`` places that are not in it are known.
    """
    seen = ~blind(ranks(order, n))

    def allows(query: Positions, key: Positions) -> Mask:
        return np.asarray(seen[query, key])

    return allows


def content_stream(order: Sequence[int], n: int) -> Pattern:
    """As :func:`query_stream`, and every token sees itself."""
    return union(query_stream(order, n), window(0))


def drawn(n: int, seed: int) -> tuple[int, ...]:
    """An order of all ``n`` places; seed 0 is from left to right, the others are drawn with numpy's PCG64."""
    if seed == 0:
        return tuple(range(n))
    return tuple(np.random.Generator(np.random.PCG64(seed)).permutation(n).tolist())


_Near = Callable[[Positions], Mask]


def strided(stride: int) -> Pattern:
    """A query sees the ``stride`` keys before it, itself, and every ``stride``-th one before.

    Raises:
        OutOfRange: when the stride is not positive.
    """
    if stride < 1:
        raise OutOfRange(f"A stride is 1 or more, not {stride}.")

    def allows(query: Positions, key: Positions) -> Mask:
        back = query - key
        return np.asarray((back >= 0) & ((back <= stride) | (back % stride == 0)))

    return allows


def fixed(stride: int, summary: int) -> Pattern:
    """A query sees its own block of ``stride`` up to itself, and the last ``summary`` keys of every block before.

    Raises:
        OutOfRange: when the stride is not positive, or the summary is none or longer than a block.
    """
    if stride < 1 or not 1 <= summary <= stride:
        raise OutOfRange(f"A block of {stride} has from 1 to {max(stride, 1)} tokens that sum it up, not {summary}.")

    def allows(query: Positions, key: Positions) -> Mask:
        own = key // stride == query // stride
        return np.asarray((key <= query) & (own | (key % stride >= stride - summary)))

    return allows


def row(text: int, side: int) -> Pattern:
    """An image token sees the image back to its own place one row up."""
    return _image(text, side, lambda back: back <= side)


def column(text: int, side: int) -> Pattern:
    """An image token sees its own place in all rows above."""
    return _image(text, side, lambda back: back % side == 0)


def convolution(text: int, side: int, kernel: int) -> Pattern:
    """An image token sees a square of ``kernel`` x ``kernel`` around it, as far as it is written.

    Raises:
        OutOfRange: when the kernel has no middle.
    """
    if kernel < 1 or kernel % 2 == 0:
        raise OutOfRange(f"A kernel has a middle: its side is an odd number, not {kernel}.")
    half = kernel // 2

    def near(back: Positions) -> Mask:
        seen = np.zeros(back.shape, dtype=np.bool_)
        for above in range(half + 1):
            seen |= np.abs(back - above * side) <= half
        return seen

    return _image(text, side, near)


def _image(text: int, side: int, near: _Near) -> Pattern:
    """Causal between text tokens, all of the text for image tokens, ``near`` of the distance between image tokens."""
    if text < 0 or side < 1:
        raise OutOfRange(f"An image has a side of 1 or more after zero or more text tokens, not {side} after {text}.")

    def allows(query: Positions, key: Positions) -> Mask:
        return np.asarray(causal(query, key) & ((key < text) | near(query - key)))

    return allows
