r"""High-dimensional vectors as points in a plane: principal components, and t-SNE.

**Principal components** (Pearson 1901; Hotelling 1933). With the rows of :math:`X` centered and
:math:`X = U \Sigma V^\top`, the points are the first two columns of :math:`U \Sigma`, and component k holds
:math:`\sigma_k^2 / \sum_i \sigma_i^2` of the variance. Distances on the plane are never larger than the true ones.

**t-SNE** (van der Maaten & Hinton 2008). Points :math:`y_i` are moved until the neighbor distributions agree in the
plane (q, heavy-tailed) and in the full space (p, Gaussian, with the width that gives every point the same perplexity
:math:`2^{H_i}`):

.. math:: p_{ij} = \frac{p_{j|i} + p_{i|j}}{2n}, \quad q_{ij} = \frac{(1 + \|y_i - y_j\|^2)^{-1}}{\sum_{k \ne l}
    (1 + \|y_k - y_l\|^2)^{-1}}, \quad \min_y \sum_{i \ne j} p_{ij} \ln \frac{p_{ij}}{q_{ij}}

scikit-learn computes it exactly, over all pairs, from a random initialization with a seed. Only neighborhoods are
meaningful: sizes of groups and distances between them are not.

Legend: n points, w hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.turns import turns

Points = NDArray[np.float64]

STEPS = 500
_TINY = 1e-6
PERPLEXITY = 4.0
"""Reduced for few points."""
FEWEST = 4
"""The fewest points for t-SNE."""


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Points of one layer."""

    points: Points  # (n, 2)
    shares: tuple[float, float] | None = None
    """Of the variance, for principal components."""


def components(vectors: NDArray[np.floating]) -> Plane:
    """(n, w) to the first two principal components; where there are fewer, the rest is zero.

    The sign of an axis is chosen so that its largest coordinate is positive.
    """
    centered = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    left, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    points, shares = np.zeros((len(vectors), 2)), [0.0, 0.0]
    total = float((sizes**2).sum())
    # points within rounding error of each other count as one point
    if total > 1e-10 * max(1e-12, float((vectors.astype(np.float64) ** 2).sum())):
        for axis in range(min(2, len(sizes))):
            column = left[:, axis] * sizes[axis]
            points[:, axis] = column * (np.sign(column[np.abs(column).argmax()]) or 1.0)
            shares[axis] = float(sizes[axis] ** 2 / total)
    return Plane(points, (shares[0], shares[1]))


def perplexity_for(count: int) -> float:
    """`PERPLEXITY`, limited to a third of the other points, and at least 1."""
    return min(PERPLEXITY, max(1.0, (count - 1) / 3))


def tsne(vectors: NDArray[np.floating], seed: int) -> Plane:
    """(n, w) to a t-SNE map; for fewer than `FEWEST` points, or all at one point, principal components."""
    count = len(vectors)
    if count < FEWEST or float(np.ptp(vectors.astype(np.float64), axis=0).max()) < _TINY:
        return components(vectors)
    from sklearn.manifold import TSNE

    turns.step()
    model = TSNE(
        perplexity=perplexity_for(count), method="exact", init="random", max_iter=STEPS, random_state=seed % 2**32
    )
    return Plane(np.asarray(model.fit_transform(vectors.astype(np.float64)), dtype=np.float64))


def align_planes(planes: Sequence[Plane], *, rotate: bool) -> tuple[Plane, ...]:
    """The same planes, each mirrored to match the previous one as well as possible; with ``rotate`` also rotated.

    Axes of principal components keep their meaning under mirroring and lose it under rotation.
    """
    aligned: list[Plane] = []
    for plane in planes:
        points = plane.points
        if aligned:
            before = aligned[-1].points
            if rotate:
                left, _, right = np.linalg.svd(points.T @ before)
                points = points @ left @ right
            else:
                points = points * np.where((points * before).sum(axis=0) < 0, -1.0, 1.0)
        aligned.append(Plane(points, plane.shares))
    return tuple(aligned)


def planes(stops: Sequence[NDArray[np.floating]], seed: int | None) -> tuple[Plane, ...]:
    """A plane for each of the arrays (n, w); the first, the static vectors, never has a t-SNE."""
    first, *layers = stops
    if seed is None or len(first) < FEWEST:
        return align_planes([components(layer) for layer in stops], rotate=False)
    return (components(first), *align_planes([tsne(layer, seed) for layer in layers], rotate=True))
