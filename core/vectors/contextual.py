r"""How contextual a layer is: three measures of Ethayarajh (2019, arXiv 1909.00512), and the separation of senses.

With :math:`h_i` the vectors of one word in n sentences, after one layer:

.. math::

    \mathrm{SelfSim} &= \frac{1}{n (n-1)} \sum_{i \ne j} \cos(h_i, h_j)

    \mathrm{IntraSim}(s) &= \frac{1}{|s|} \sum_{i \in s} \cos(\bar h_s, h_i), \qquad \bar h_s = \frac{1}{|s|}
    \sum_{i \in s} h_i

    \mathrm{MEV} &= \sigma_1^2 \big/ \textstyle\sum_k \sigma_k^2

the last (maximum explainable variance) with the singular values of the matrix whose rows are the :math:`h_i`: the share
of their squared norm along one direction. A word whose vector never changes has SelfSim = MEV = 1. (MEV is computed on
the raw vectors, as in the paper's text; the authors' script centers them first, which makes such a word 0/0.)

In a layer where all vectors share a direction every cosine is high, so each measure has a baseline (anisotropy): for
the first two the mean cosine of two random words of two different sentences, for the third the same ratio for as many
words, each from another sentence. Mean cosines of pairs need no sampling:

.. math:: \mathop{\mathrm{mean}}_{s \ne t} \Bigl[ \tfrac{1}{|s||t|} \sum_{i \in s, j \in t} u_i \cdot u_j \Bigr]
    = \frac{\|\sum_s m_s\|^2 - \sum_s \|m_s\|^2}{S (S-1)}, \qquad m_s = \frac{1}{|s|} \sum_{i \in s} u_i

with :math:`u = h / \|h\|`. The baseline of the third is the mean over `DRAWS` samples.

The separation of one word's senses is the mean cosine over pairs of its vectors,

.. math:: \mathrm{same} = \mathop{\mathrm{mean}}_{i < j,\, s_i = s_j} \cos(h_i, h_j), \qquad
    \mathrm{other} = \mathop{\mathrm{mean}}_{i < j,\, s_i \ne s_j} \cos(h_i, h_j)

with :math:`s_i` the sense of occurrence i. The share of occurrences whose nearest neighbor has the same sense is a
scale-free measure; occurrences without another of their sense are not counted.

numpy alone. Legend: L layers, W words in S sentences, w hidden size, n occurrences of a word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.vectors.nearest import cosines, units
from core.vectors.occurrences import Words

DRAWS = 20
FEWEST = 5
"""Different sentences that a word must occur in to be counted, as in the paper."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The measures after one layer; None where undefined."""

    baseline: float | None
    """Mean cosine of two words of different sentences: how much all vectors share a direction."""
    self_similarity: float | None
    """Mean over words."""
    intra: float | None
    """Mean over sentences of two words or more."""
    explained: float | None
    """Mean over words."""
    explained_by_chance: float | None
    """The same for as many words of as many sentences."""

    def corrected(self, measure: str) -> float | None:
        """A measure minus its baseline; the baseline itself is returned unchanged."""
        value = getattr(self, measure)
        base = {"baseline": 0.0, "explained": self.explained_by_chance}.get(measure, self.baseline)
        return None if value is None or base is None else float(value - base)


@dataclass(frozen=True, slots=True)
class ContextualMeasures:
    """The measures of a model over a set of sentences."""

    layers: tuple[Layer, ...]
    """L + 1, the embeddings first."""
    words: tuple[tuple[str, int], ...]
    """The words that were counted, each with its number of sentences; most sentences first."""
    by_word: tuple[tuple[float, ...], ...]
    """For each of them its self-similarity after each layer, beyond the baseline."""
    sentences: int


def measure(words: Words, fewest: int = FEWEST) -> ContextualMeasures:
    """All measures over the words of some sentences.

    Args:
        fewest: sentences that a word must occur in; a second time in one sentence is not counted.
    """
    groups = repeated(words, fewest)
    # the same samples in every layer
    samples = {count: draws(words.lines, count) for count in {*map(len, groups.values())}}
    layers, by_word = [], []
    for vectors in words.vectors:
        baseline = anisotropy_baseline(vectors, words.lines)
        similarities = [self_similarity(vectors[rows]) for rows in groups.values()]
        by_word.append([value - (baseline or 0.0) for value in similarities])
        shares = [float(explained(vectors[rows])) for rows in groups.values()]
        chance = {count: float(explained(vectors[sample]).mean()) for count, sample in samples.items()}
        layers.append(
            Layer(
                baseline,
                _mean(similarities),
                _mean(intra_similarity(vectors, words.lines)),
                _mean(shares),
                _mean([chance[len(rows)] for rows in groups.values()]),
            )
        )
    counts = tuple((text, len(rows)) for text, rows in groups.items())
    return ContextualMeasures(tuple(layers), counts, tuple(zip(*by_word, strict=True)), len(set(words.lines)))


def repeated(words: Words, fewest: int) -> dict[str, list[int]]:
    """The lower-cased words of at least ``fewest`` sentences, one occurrence in each; most sentences first."""
    occurrences: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for number, (text, line) in enumerate(zip(words.texts, words.lines, strict=True)):
        occurrences[text.lower()].setdefault(line, number)
    often = {text: [*lines.values()] for text, lines in occurrences.items() if len(lines) >= max(2, fewest)}
    return dict(sorted(often.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def self_similarity(vectors: Floats) -> float:
    """(n, w) of one word, n at least 2, to the mean cosine of its pairs."""
    return _mean_of_pairs(units(vectors))


def intra_similarity(vectors: Floats, lines: Sequence[int]) -> list[float]:
    """(W, w) to the mean cosine of each sentence's words with their mean; sentences of one word are left out."""
    means = []
    for rows in _by_line(lines).values():
        if len(rows) > 1:
            part = vectors[rows].astype(np.float64)
            means.append(float(cosines(part, part.mean(axis=0, keepdims=True)).mean()))
    return means


def explained(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """(..., n, w) to (...) shares of the squared singular values that the first one has.

    Squared singular values are the eigenvalues of the Gram matrix of the rows (n, n), or of the columns where those are
    fewer, which is faster than an SVD.
    """
    exact = vectors.astype(np.float64)
    if exact.shape[-2] > exact.shape[-1]:
        exact = exact.swapaxes(-1, -2)
    products = exact @ exact.swapaxes(-1, -2)
    result: NDArray[np.float64] = np.linalg.eigvalsh(products)[..., -1] / np.maximum(
        np.trace(products, axis1=-2, axis2=-1), 1e-30
    )
    return result


def draws(lines: Sequence[int], count: int) -> NDArray[np.intp]:
    """(D, n) `DRAWS` samples of a word from each of ``count`` sentences."""
    random = np.random.default_rng(0)
    groups = list(_by_line(lines).values())
    return np.array(
        [
            [
                groups[s][int(random.integers(len(groups[s])))]
                for s in random.choice(len(groups), size=min(count, len(groups)), replace=False)
            ]
            for _ in range(DRAWS)
        ]
    )


def anisotropy_baseline(vectors: Floats, lines: Sequence[int]) -> float | None:
    """The mean cosine of random words of two different sentences; None for a single sentence."""
    unit = units(vectors)
    means = np.stack([unit[rows].mean(axis=0) for rows in _by_line(lines).values()])
    return _mean_of_pairs(means) if len(means) > 1 else None


def _mean_of_pairs(vectors: NDArray[np.float64]) -> float:
    """The mean product of two different rows."""
    count = len(vectors)
    return float(((vectors.sum(axis=0) ** 2).sum() - (vectors**2).sum()) / (count * (count - 1)))


def _by_line(lines: Sequence[int]) -> dict[int, list[int]]:
    result: defaultdict[int, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        result[line].append(number)
    return result


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


_SMALLEST_RANGE = 1e-5
"""The smallest range of cosines at which a nearest neighbor is defined."""


@dataclass(frozen=True, slots=True)
class SenseSeparation:
    """Mean cosines of a word's occurrences after one layer, by sense; None without such a pair."""

    same: float | None
    other: float | None
    nearest: float | None
    """The share of occurrences whose nearest neighbor has the same sense."""
    baseline: float | None
    """Any two words of different sentences."""


def sense_separation(vectors: Floats, senses: Sequence[str], baseline: float | None) -> SenseSeparation:
    """Compare (n, w) vectors of one word by their senses; an empty sense differs from every other and is not scored."""
    matrix = cosines(vectors, vectors)
    named, alike = np.array([bool(sense) for sense in senses]), np.equal.outer(np.array(senses), np.array(senses))
    alike &= named
    above = np.triu(np.ones_like(alike), k=1)
    same, other = matrix[above & alike].tolist(), matrix[above & ~alike].tolist()
    hits: list[float] = []
    if np.ptp([0.0] if not same + other else same + other) >= _SMALLEST_RANGE:
        np.fill_diagonal(matrix, -np.inf)
        company = alike.sum(axis=0) > 1
        hits = alike[matrix.argmax(axis=1), np.arange(len(senses))][company].tolist()
    return SenseSeparation(_mean(same), _mean(other), _mean(hits), baseline)
