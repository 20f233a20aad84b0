r"""Patterns over rows of fixed length: Sparse Transformer's two, and the three masks that DALL-E lays over an image.

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

from collections.abc import Callable

import numpy as np

from core.attention.patterns import Mask, Pattern, Positions, causal
from core.errors import OutOfRange

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
