r"""The Unigram tokenizer on one word: every segmentation, the best of them, and the probability of each.

Every token x has a probability p(x). A segmentation of the text X has the probability

.. math:: P(\mathbf{x}) = \prod_{i=1}^{M} p(x_i), \qquad
          \mathbf{x}^* = \arg\max_{\mathbf{x} \in S(X)} P(\mathbf{x}), \qquad
          P(\mathbf{x} \mid X) = \frac{P(\mathbf{x})}{\sum_{\mathbf{x}' \in S(X)} P(\mathbf{x}')},

with S(X) all segmentations that the vocabulary allows. They are the paths through a *lattice*: its nodes are the gaps
between characters, its edges the tokens that fit between two gaps. The best path is Viterbi's; the sum over all paths
is a forward sum, :math:`a_j = \sum_{(i,j)} a_i\,p(x_{ij})`; a path is sampled backwards from the end, each edge with
probability :math:`a_i\,p(x_{ij})^\alpha / a_j`. Kudo (2018), sections 3.2 and 3.3. Where no token is a character alone,
an unknown edge stands for it, scored the rarest token's logarithm minus 10, as in SentencePiece and the `tokenizers`
library, which makes one token of adjacent ones; tests compare the best segmentation with the library's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, inf
from random import Random

import numpy as np

PENALTY = 10.0
"""How much lower than the rarest token an unknown character scores, in the natural logarithm."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A token between two gaps."""

    start: int
    end: int
    piece: str
    score: float
    """Natural logarithm of its probability."""
    known: bool = True


@dataclass(frozen=True, slots=True)
class Path:
    """One segmentation. ``score`` is the sum of its edges' scores: log P(x)."""

    edges: tuple[Edge, ...]
    score: float

    @property
    def tokens(self) -> tuple[Edge, ...]:
        """The edges in order, adjacent unknown ones as one token, as the library encodes them (``fuse_unk``)."""
        fused: list[Edge] = []
        for edge in self.edges:
            if fused and not edge.known and not fused[-1].known:
                last = fused.pop()
                edge = Edge(last.start, edge.end, last.piece + edge.piece, last.score + edge.score, False)
            fused.append(edge)
        return tuple(fused)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The tokens' texts."""
        return tuple(token.piece for token in self.tokens)


@dataclass(frozen=True, slots=True)
class Lattice:
    """All tokens that match somewhere in a text. There is always a path from 0 to its end."""

    text: str
    edges: tuple[Edge, ...]
    """By where they start, shorter ones first."""

    def into(self) -> list[list[Edge]]:
        """For every gap the edges that end there."""
        ending: list[list[Edge]] = [[] for _ in range(len(self.text) + 1)]
        for edge in self.edges:
            ending[edge.end].append(edge)
        return ending


def lattice(text: str, scores: Mapping[str, float], longest: int | None = None) -> Lattice:
    """The lattice of ``text``.

    Args:
        scores: the natural logarithm of each token's probability; at least one.
        longest: length of the longest token, where it is known.
    """
    widest = max(map(len, scores)) if longest is None else longest
    unknown = min(scores.values()) - PENALTY
    edges = []
    for start in range(len(text)):
        alone = False
        for end in range(start + 1, min(len(text), start + widest) + 1):
            piece = text[start:end]
            score = scores.get(piece)
            if score is not None:
                edges.append(Edge(start, end, piece, score))
                alone = alone or end == start + 1
        if not alone:
            edges.append(Edge(start, start + 1, text[start], unknown, False))
    return Lattice(text, tuple(edges))


def best(lattice: Lattice) -> Path:
    """Viterbi's path; of two equally good paths to a gap, the one whose last token starts earlier."""
    return nbest(lattice, 1)[0]


def nbest(lattice: Lattice, count: int) -> tuple[Path, ...]:
    """The ``count`` best segmentations, best first; fewer where there are no more."""
    # (score, edge, rank among the best paths to the gap where the edge starts); the None is the empty segmentation.
    paths: list[list[tuple[float, Edge | None, int]]] = [[(0.0, None, 0)]]
    for ending in lattice.into()[1:]:
        candidates = [
            (score + edge.score, edge, rank) for edge in ending for rank, (score, _, _) in enumerate(paths[edge.start])
        ]
        candidates.sort(key=lambda candidate: -candidate[0])  # stable: earlier starts first among equals
        paths.append([(score, edge, rank) for score, edge, rank in candidates[:count]])
    return tuple(_backtrace(paths, rank) for rank in range(len(paths[-1])))


def _backtrace(paths: list[list[tuple[float, Edge | None, int]]], rank: int) -> Path:
    score, edge, before = paths[-1][rank]
    edges = []
    while edge is not None:
        edges.append(edge)
        _, edge, before = paths[edge.start][before]
    return Path(tuple(reversed(edges)), score)


def total(lattice: Lattice, alpha: float = 1.0) -> float:
    """log of the sum of P(x)^alpha over all segmentations."""
    return _forward(lattice, alpha)[-1]


def ways(lattice: Lattice) -> int:
    """How many segmentations there are."""
    counts = [1]
    for ending in lattice.into()[1:]:
        counts.append(sum(counts[edge.start] for edge in ending))
    return counts[-1]


def weights(lattice: Lattice) -> tuple[float, ...]:
    """For each edge the probability that a segmentation sampled from P(x) contains it."""
    ahead = _forward(lattice, 1.0)
    size = len(lattice.text)
    behind = [-inf] * size + [0.0]
    leaving: list[list[Edge]] = [[] for _ in range(size + 1)]
    for edge in lattice.edges:
        leaving[edge.start].append(edge)
    for gap in range(size - 1, -1, -1):
        behind[gap] = float(np.logaddexp.reduce([edge.score + behind[edge.end] for edge in leaving[gap]]))
    return tuple(exp(ahead[edge.start] + edge.score + behind[edge.end] - ahead[-1]) for edge in lattice.edges)


def sample(lattice: Lattice, random: Random, alpha: float = 1.0) -> Path:
    """One segmentation sampled with probability proportional to P(x)^alpha."""
    ahead = _forward(lattice, alpha)
    ending = lattice.into()
    edges: list[Edge] = []
    gap = len(lattice.text)
    while gap:
        probabilities = [exp(ahead[edge.start] + alpha * edge.score - ahead[gap]) for edge in ending[gap]]
        edge = random.choices(ending[gap], probabilities)[0]
        edges.append(edge)
        gap = edge.start
    return Path(tuple(reversed(edges)), sum(edge.score for edge in edges))


def _forward(lattice: Lattice, alpha: float) -> list[float]:
    sums = [0.0]
    for ending in lattice.into()[1:]:
        sums.append(float(np.logaddexp.reduce([sums[edge.start] + alpha * edge.score for edge in ending])))
    return sums
