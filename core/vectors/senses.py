r"""How well senses stand apart at each stop of the way through a model.

The mean cosine over pairs of one word's vectors,

.. math:: \mathrm{same} = \mathop{\mathrm{mean}}_{i < j,\, s_i = s_j} \cos(h_i, h_j), \qquad
    \mathrm{other} = \mathop{\mathrm{mean}}_{i < j,\, s_i \ne s_j} \cos(h_i, h_j)

with :math:`s_i` the sense of occurrence i, and in comparison the mean over all pairs of words of different sentences:
what any two words have in common there. The share of occurrences whose nearest neighbour has their own sense says the
same without a scale; occurrences that are alone with their sense cannot have one and are not counted.

numpy alone. Legend: P occurrences, w width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.attention.trace import Floats
from core.vectors.nearest import between

_ONE_SPOT = 1e-5
"""Cosines that differ by less have no nearest among them."""


@dataclass(frozen=True, slots=True)
class Apart:
    """One stop; None where there is no such pair."""

    same: float | None
    other: float | None
    nearest: float | None
    """The share of occurrences whose nearest is of their own sense."""
    strangers: float | None
    """Any two words of different sentences."""


def apart(vectors: Floats, senses: Sequence[str], strangers: float | None) -> Apart:
    """(P, w) vectors and their senses; an empty sense is no sense, so such occurrences only count as strangers' kin."""
    cosines = between(vectors, vectors)
    count = len(senses)
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    same = [float(cosines[i, j]) for i, j in pairs if senses[i] and senses[i] == senses[j]]
    other = [float(cosines[i, j]) for i, j in pairs if senses[i] != senses[j] or not senses[i]]
    spread = max(same + other, default=0.0) - min(same + other, default=0.0)
    np.fill_diagonal(cosines, -np.inf)
    hits = (
        []
        if spread < _ONE_SPOT
        else [
            senses[int(cosines[i].argmax())] == senses[i]
            for i in range(count)
            if senses[i] and senses.count(senses[i]) > 1
        ]
    )
    return Apart(_mean(same), _mean(other), _mean(hits), strangers)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
