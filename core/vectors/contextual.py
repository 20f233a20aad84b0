r"""How contextual a layer is: three measures of Ethayarajh (2019, arXiv 1909.00512), and what any two words share.

With :math:`h_i` the vectors of one word in n sentences, after one layer:

.. math::

    \mathrm{SelfSim} &= \frac{1}{n (n-1)} \sum_{i \ne j} \cos(h_i, h_j)

    \mathrm{IntraSim}(s) &= \frac{1}{|s|} \sum_{i \in s} \cos(\bar h_s, h_i), \qquad \bar h_s = \frac{1}{|s|}
    \sum_{i \in s} h_i

    \mathrm{MEV} &= \sigma_1^2 \big/ \textstyle\sum_k \sigma_k^2

the last with the singular values of the matrix whose rows are the :math:`h_i`: the part of all their squared length
that one direction can stand for. A word whose vector never changes has 1 for the first and the last. (The text defines
the last over the occurrences as they are; the authors' published script centres them first, which makes a word that
never changes 0/0. Here they are as they are.)

In a layer where all vectors point to one side every cosine is high, so each measure is held against strangers: the
first two against the mean cosine of two words drawn from two different sentences, the third against the same ratio for
as many words, each from another sentence. Mean cosines of pairs need no drawing:

.. math:: \mathop{\mathrm{mean}}_{s \ne t} \Bigl[ \tfrac{1}{|s||t|} \sum_{i \in s, j \in t} u_i \cdot u_j \Bigr]
    = \frac{\|\sum_s m_s\|^2 - \sum_s \|m_s\|^2}{S (S-1)}, \qquad m_s = \frac{1}{|s|} \sum_{i \in s} u_i

with :math:`u = h / \|h\|`. The drawn baseline of the third is the mean over `DRAWS` drawings from a seed.

numpy alone. Legend: L layers, W words in S sentences, w width, n occurrences of a word.

How well senses stand apart at each stop of the way through a model.

The mean cosine over pairs of one word's vectors,

.. math:: \mathrm{same} = \mathop{\mathrm{mean}}_{i < j,\, s_i = s_j} \cos(h_i, h_j), \qquad
    \mathrm{other} = \mathop{\mathrm{mean}}_{i < j,\, s_i \ne s_j} \cos(h_i, h_j)

with :math:`s_i` the sense of occurrence i, and in comparison the mean over all pairs of words of different sentences:
what any two words have in common there. The share of occurrences whose nearest neighbour has their own sense says the
same without a scale; occurrences that are alone with their sense cannot have one and are not counted.

numpy alone. Legend: P occurrences, w width.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.attention.trace import Floats
from core.vectors.nearest import between
from core.vectors.occurrences import Words

DRAWS = 20
FEWEST = 5
"""Different sentences that a word must stand in to be counted, as in the paper."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What was measured after one layer; None where nothing could be."""

    strangers: float | None
    """Mean cosine of two words of different sentences: how much all vectors point one way."""
    self_similarity: float | None
    """Mean over words."""
    intra: float | None
    """Mean over sentences of two words or more."""
    explained: float | None
    """Mean over words."""
    explained_by_chance: float | None
    """The same for as many words of as many sentences."""

    @property
    def self_adjusted(self) -> float | None:
        """Self-similarity beyond strangers."""
        return _less(self.self_similarity, self.strangers)

    @property
    def intra_adjusted(self) -> float | None:
        """Similarity within a sentence beyond strangers."""
        return _less(self.intra, self.strangers)

    @property
    def explained_adjusted(self) -> float | None:
        """The explained share beyond chance."""
        return _less(self.explained, self.explained_by_chance)


@dataclass(frozen=True, slots=True)
class Measured:
    """A model over a set of sentences."""

    layers: tuple[Layer, ...]
    """L + 1, the embeddings first."""
    words: tuple[tuple[str, int], ...]
    """The words that were counted, each with its number of sentences; most sentences first."""
    by_word: tuple[tuple[float, ...], ...]
    """For each of them its self-similarity after each layer, beyond strangers."""
    sentences: int


def measure(words: Words, fewest: int = FEWEST, seed: int = 0) -> Measured:
    """All of it over the words of some sentences.

    Args:
        fewest: sentences that a word must stand in; a second time in one sentence is not counted.
    """
    groups = repeated(words, fewest)
    counts = tuple((text, len(places)) for text, places in groups.items())
    layers, by_word = [], []
    drawn = {count: draws(words.lines, count, seed) for _, count in counts}  # the same in every layer
    for vectors in words.vectors:
        between = strangers(vectors, words.lines)
        own = [self_similarity(vectors[places]) for places in groups.values()]
        by_word.append([value - (between or 0.0) for value in own])
        shares = [explained(vectors[places]) for places in groups.values()]
        chance = {count: explained_by_chance(vectors, places) for count, places in drawn.items()}
        layers.append(
            Layer(
                between,
                _mean(own),
                _mean(intra_similarity(vectors, words.lines)),
                _mean(shares),
                _mean([chance[count] for _, count in counts]),
            )
        )
    return Measured(tuple(layers), counts, tuple(zip(*by_word, strict=True)), len(set(words.lines)))


def repeated(words: Words, fewest: int) -> dict[str, list[int]]:
    """The words, in lower case, that stand in at least so many sentences, with one place in each; most first."""
    places: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for number, (text, line) in enumerate(zip(words.texts, words.lines, strict=True)):
        places[text.lower()].setdefault(line, number)
    kept = {text: list(found.values()) for text, found in places.items() if len(found) >= max(2, fewest)}
    return dict(sorted(kept.items(), key=lambda pair: (-len(pair[1]), pair[0])))


def self_similarity(vectors: Floats) -> float:
    """(n, w) of one word, n at least 2, to the mean cosine of its pairs."""
    units = _units(vectors)
    count = len(units)
    total = float((units.sum(axis=0) ** 2).sum() - (units**2).sum())
    return total / (count * (count - 1))


def intra_similarity(vectors: Floats, lines: Sequence[int]) -> list[float]:
    """(W, w) to the mean cosine of each sentence's words with their mean; sentences of one word are left out."""
    found = []
    for own in _by_line(lines).values():
        if len(own) > 1:
            part = vectors[own].astype(np.float64)
            found.append(float((_units(part) @ _units(part.mean(axis=0, keepdims=True)).T).mean()))
    return found


def explained(vectors: Floats) -> float:
    """(n, w) to the share of the squared singular values that the first one has."""
    return float(_first_share(vectors[None])[0])


def _first_share(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """(D, n, w) to (D,) shares. Squared singular values are what the products of the rows (n, n), or of the columns
    where those are fewer, have for eigenvalues: quicker than finding them one by one."""
    exact = vectors.astype(np.float64)
    if exact.shape[1] > exact.shape[2]:
        exact = exact.transpose(0, 2, 1)
    products = exact @ exact.transpose(0, 2, 1)
    largest = np.linalg.eigvalsh(products)[:, -1]
    found: NDArray[np.float64] = largest / np.maximum(np.trace(products, axis1=1, axis2=2), 1e-30)
    return found


def draws(lines: Sequence[int], count: int, seed: int) -> NDArray[np.intp]:
    """(D, n) `DRAWS` drawings of a word from each of ``count`` sentences."""
    random = np.random.default_rng(seed)
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


def explained_by_chance(vectors: Floats, drawn: NDArray[np.intp]) -> float:
    """What words of different sentences have, on average over the drawings (D, n)."""
    return float(_first_share(vectors[drawn]).mean())


def strangers(vectors: Floats, lines: Sequence[int]) -> float | None:
    """The mean cosine of two words from two sentences drawn at random; None for a single sentence."""
    units = _units(vectors)
    means = np.stack([units[own].mean(axis=0) for own in _by_line(lines).values()])
    count = len(means)
    if count < 2:
        return None
    return float(((means.sum(axis=0) ** 2).sum() - (means**2).sum()) / (count * (count - 1)))


def _by_line(lines: Sequence[int]) -> dict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        found[line].append(number)
    return found


def _units(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    found: NDArray[np.float64] = exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1e-12)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _less(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None else value - base


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
    return Apart(_mean_of_pairs(same), _mean_of_pairs(other), _mean_of_pairs(hits), strangers)


def _mean_of_pairs(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
