r"""How a place becomes numbers: five ways, as formulas.

**Sinusoids** (Vaswani et al. 2017, section 3.5), for place t and pair k of a vector of w numbers:

.. math:: P[t]_{2k} = \sin(t\,\omega_k), \quad P[t]_{2k+1} = \cos(t\,\omega_k), \quad \omega_k = 10000^{-2k/w}

so that :math:`P[s] \cdot P[t] = \sum_k \cos((s - t)\,\omega_k)`: the distance alone. Libraries order the numbers
otherwise: all sines before all cosines (CTRL, Marian, Transformer-XL), and M2M-100's code, which follows tensor2tensor,
also spreads the pairs by :math:`10000^{-k/(w/2-1)}`.

**Buckets of distances** (T5, Raffel et al. 2019): a number for each head and bucket is added to the score. Half of the
buckets are for keys on the right (none in a decoder, which sees none); near distances have one each, and far ones
share: with B buckets on a side, a distance n from B/2 on has bucket

.. math:: \min\Bigl(B - 1,\; \tfrac B2 + \Bigl\lfloor \frac{\ln(2n/B)}{\ln(2m/B)} \cdot \tfrac B2 \Bigr\rfloor\Bigr)

with m the distance from which on all share the last one.

**Turns** (rotary, Su et al. 2021): pair k of a query or key at place t is turned by :math:`t\,\theta_k`,
:math:`\theta_k = b^{-2k/d}`. A turn keeps lengths, and :math:`R_s q \cdot R_t k = q \cdot R_{t-s} k`: the distance
alone.

**A slope** (ALiBi, Press et al. 2021): :math:`-m_h\,|i - j|` is added to the score, :math:`m_h = 2^{-8h/H}` for head h
of H, from 1, where H is a power of two.

numpy alone. Legend: n places, w width, d width of a head, H heads, B buckets.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import OutOfRange

Numbers = NDArray[np.float64]
Order = Literal["paper", "halves", "tensor2tensor"]


def sinusoids(count: int, width: int, order: Order = "paper", base: float = 10_000.0) -> Numbers:
    """(n, w) vectors of the places 0, 1, ...

    Args:
        order: as in the paper, sines and cosines in turn; sines before cosines; or so and spread as tensor2tensor does.

    Raises:
        OutOfRange: an odd width, or one below 4.
    """
    if width < 4 or width % 2:
        raise OutOfRange(f"A width of {width} numbers cannot be cut into pairs. An even number from 4 on works.")
    pairs = np.arange(width // 2)
    last = width / 2 - 1 if order == "tensor2tensor" else width / 2
    turns = np.arange(count)[:, None] * base ** (-pairs / last)
    if order != "paper":
        return np.concatenate((np.sin(turns), np.cos(turns)), axis=1)
    found = np.empty((count, width))
    found[:, 0::2], found[:, 1::2] = np.sin(turns), np.cos(turns)
    return found


def similarity(vectors: NDArray[np.floating]) -> Numbers:
    """(n, w) to (n, n) cosines; 0 where a vector has no length."""
    exact = vectors.astype(np.float64)
    units = exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-12)
    found: Numbers = np.clip(units @ units.T, -1, 1)
    return found


def by_distance(matrix: NDArray[np.floating]) -> tuple[Numbers, Numbers]:
    """(n, n) to the mean, and the spread (standard deviation), of its entries at each distance |i - j| from 0."""
    count = len(matrix)
    both = [np.concatenate((np.diagonal(matrix, d), np.diagonal(matrix, -d))) for d in range(count)]
    return np.array([values.mean() for values in both]), np.array([values.std() for values in both])


def along_distance(matrix: NDArray[np.floating], known: NDArray[np.bool_] | None = None) -> tuple[Numbers, Numbers]:
    """(n, n) to mean and spread at each signed distance j - i from -(n - 1) to n - 1; nan where nothing is known."""
    count = len(matrix)
    means, spreads = np.full(2 * count - 1, np.nan), np.full(2 * count - 1, np.nan)
    for d in range(-count + 1, count):
        values = np.diagonal(matrix, d)
        if known is not None:
            values = values[np.diagonal(known, d)]
        if len(values):
            means[d + count - 1], spreads[d + count - 1] = values.mean(), values.std()
    return means, spreads


def t5_bucket(distance: int, *, both: bool = True, buckets: int = 32, furthest: int = 128) -> int:
    """The bucket of ``distance``, which is the key's place less the query's.

    Args:
        both: whether keys on the right have buckets, as in an encoder.
    """
    side = buckets // 2 if both else buckets
    start = side if both and distance > 0 else 0
    steps = abs(distance) if both else max(0, -distance)
    exact = side // 2
    if steps < exact:
        return start + steps
    share = math.log(steps / exact) / math.log(furthest / exact)
    return start + min(side - 1, exact + int(share * (side - exact)))


def deberta_bucket(distance: int, *, buckets: int, furthest: int) -> int:
    """The logarithmic bucket of version 2 (He et al. 2020): its own number up to half of them, then ever wider ones."""
    middle = buckets // 2
    steps = abs(distance)
    if steps <= middle:
        return distance
    share = math.log(steps / middle) / math.log((furthest - 1) / middle)
    return int(math.copysign(math.ceil(share * (middle - 1)) + middle, distance))


def turns(width: int, base: float = 10_000.0) -> Numbers:
    """(d / 2,) the angle by which each pair turns from one place to the next, in radians.

    Raises:
        OutOfRange: an odd width.
    """
    if width < 2 or width % 2:
        raise OutOfRange(f"A head of {width} numbers cannot be cut into pairs. An even number works.")
    found: Numbers = base ** (-2 * np.arange(width // 2) / width)
    return found


def turned(vector: NDArray[np.floating], place: float, base: float = 10_000.0) -> Numbers:
    """(..., d) turned as it is at ``place``: the k-th number and the (k + d/2)-th are a pair, as in LLaMA's code."""
    exact = vector.astype(np.float64)
    half = exact.shape[-1] // 2
    angles = place * turns(exact.shape[-1], base)
    one, other = exact[..., :half], exact[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate((one * cos - other * sin, one * sin + other * cos), axis=-1)


def alike_after_turns(distances: NDArray[np.integer], width: int, base: float = 10_000.0) -> Numbers:
    """The cosine of a vector whose pairs are all of one length with itself turned by so many places: mean cos(Δ θ)."""
    found: Numbers = np.cos(np.asarray(distances)[:, None] * turns(width, base)).mean(axis=1)
    return found


def slopes(heads: int) -> tuple[float, ...]:
    """ALiBi's slope of each head.

    For a number of heads that is no power of two, those of the next smaller power, and every second one of the next
    larger for the rest, as the authors' code does.
    """
    if heads < 1:
        raise OutOfRange("There must be at least one head.")
    power = 2 ** int(math.log2(heads))
    found = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    more = [2 ** (-8 * h / (2 * power)) for h in range(1, 2 * power + 1, 2)]
    return tuple((found + more)[:heads])
