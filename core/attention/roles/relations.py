"""Grammar of heads: does the largest weight connect a word with its syntactic head?

After Clark et al. 2019, "What Does BERT Look At?" (arXiv 1906.04341, sections 4.1 to 4.3) and the notebook that its
authors released. W[i, j] is the attention from word i to word j (core.attention.tokens). As in that notebook, weights
on the word itself and on special tokens do not count. A relation joins a dependent d and its head h, and is scored in
both directions:

    dependent to head    argmax_j W[d, j] = h        of all words, d attends to h most
    head to dependent    argmax_j W[j, d] = h        of all words, h is the one that attends to d most

A link of weight zero is no link.

* **Causal models** attend to the left only. Just the links whose target stands to the left of the query are scored.
* **Possessors** ("the girl 's ball"): where 's follows, the link from 's is scored, as in the paper.
* **Coreference**: the head word of a mention with an antecedent attends most to the head word of one of its
  antecedents, among the nouns, names and pronouns before it. The choice among earlier ones is ours; the paper has no
  code for it.
* **Baseline**: the word at a fixed distance (:data:`REACH` at most), for each relation and direction the distance that
  is right most often on the very same links; in coreference the k-th noun, name or pronoun back.

The best head is a maximum over many; its interval (`core.checkpoints.spec.wilson`) is that of one head, not
corrected for the choice.

Coreference is scored in the first direction only. numpy alone. Legend: L layers, H heads, n words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.attention.roles.treebank import ROOT, Sentence
from core.attention.tokens import Membership, word_weights
from core.checkpoints.spec import wilson
from core.content import content

REACH = 5
"""The farthest fixed distance that a baseline may be, in words."""

DIRECTIONS = ("dependent to head", "head to dependent")

LABELS: dict[str, tuple[str, ...]] = {
    "any": (),
    "det": ("det",),
    "nsubj": ("nsubj",),
    "obj": ("obj",),
    "modifier": ("amod", "advmod"),
    "preposition": ("case",),
    "possessor": ("nmod:poss",),
    "aux": ("aux",),
    "passive": ("aux:pass",),
    "mark": ("mark",),
    "compound": ("compound",),
    "particle": ("compound:prt",),
    "coreference": (),
}
"""The scored relations, each with its relations of Universal Dependencies."""


def meaning(relation: str) -> str:
    text: str = content("attention", "roles").front["relation"][relation]
    return text


_NAMING = frozenset({"NOUN", "PROPN", "PRON"})
_POSSESSIVE = frozenset({"'s", "’s", "'", "’", "s"})
Link = tuple[int, int]
"""The query word and the key word that it should attend to, from 0."""


def links(sentence: Sentence) -> dict[str, tuple[Link, ...]]:
    """The (dependent, head) pairs of every relation but coreference."""
    by_relation: dict[str, list[Link]] = {name: [] for name in LABELS if name != "coreference"}
    for word, (head, label) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        if head == ROOT:
            continue
        if label != "punct":
            by_relation["any"].append((word, head))
        for name, labels in LABELS.items():
            if label not in labels or (name == "preposition" and _is_possessive(sentence, word)):
                continue
            query = word
            if name == "possessor" and word + 1 < head and _is_possessive(sentence, word + 1):
                query = word + 1
            by_relation[name].append((query, head))
    return {name: tuple(pairs) for name, pairs in by_relation.items()}


def _is_possessive(sentence: Sentence, word: int) -> bool:
    return sentence.relations[word] == "case" and sentence.words[word].lower() in _POSSESSIVE


def references(sentence: Sentence) -> tuple[tuple[int, tuple[int, ...], frozenset[int]], ...]:
    """For each mention with an antecedent: its head word, the candidates before it, and its antecedents."""
    links = []
    for mentions in sentence.clusters:
        for number, mention in enumerate(mentions[1:], 1):
            antecedents = frozenset(mentions[:number])
            before = (i for i in range(mention) if sentence.upos[i] in _NAMING or i in antecedents)
            links.append((mention, tuple(before), antecedents))
    return tuple(links)


@dataclass(frozen=True, slots=True, eq=False)
class RelationCounts:
    """The accuracy of each head for one relation in one direction, over one treebank."""

    relation: str
    direction: str
    n: int
    """The number of scored links."""
    right: NDArray[np.int64]  # (L, H)
    offset: int
    """The most accurate fixed distance from query to target, in words."""
    baseline_right: int

    @property
    def best(self) -> tuple[int, int]:
        """Layer and head, from 0, with the highest accuracy."""
        layer, head = divmod(int(self.right.argmax()), self.right.shape[1])
        return layer, head

    @property
    def accuracy(self) -> float:
        """The accuracy of the best head."""
        return int(self.right.max()) / self.n

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval of ``accuracy``."""
        return wilson(int(self.right.max()), self.n)

    def best_in(self, other: RelationCounts) -> float:
        """The accuracy of this best head on the links of ``other``, a held-out treebank."""
        return int(other.right[self.best]) / other.n

    @property
    def baseline(self) -> float:
        """The accuracy of the fixed distance."""
        return self.baseline_right / self.n


def better_directions(counts: Iterable[RelationCounts]) -> dict[str, RelationCounts]:
    """Each relation in the direction with the higher lower bound of the interval.

    In a causal model the directions have different links, few of them in one.
    """
    best: dict[str, RelationCounts] = {}
    for entry in counts:
        if entry.relation not in best or entry.interval[0] > best[entry.relation].interval[0]:
            best[entry.relation] = entry
    return {relation: best[relation] for relation in LABELS if relation in best}


class Tally:
    """Counts over a stream of sentences."""

    def __init__(self, layers: int, heads: int, *, causal: bool) -> None:
        self.causal = causal
        self._right = np.zeros((len(DIRECTIONS), len(LABELS), layers, heads), dtype=np.int64)
        self._counts = np.zeros((len(DIRECTIONS), len(LABELS)), dtype=np.int64)
        self._hits = np.zeros((len(DIRECTIONS), len(LABELS), 2 * REACH + 1), dtype=np.int64)

    def add(self, sentence: Sentence, weights: NDArray[np.float32], belongs: Membership) -> None:
        """Score one sentence by the ``weights`` (L, H, T, T) of its tokens; ``belongs`` assigns tokens to words."""
        has_tokens: NDArray[np.bool_] = belongs.sum(1) > 0
        words = word_weights(weights, belongs)
        words[..., np.arange(len(has_tokens)), np.arange(len(has_tokens))] = 0
        pairs = links(sentence)
        for d, rows in enumerate((words, words.swapaxes(-1, -2))):
            strongest = rows.argmax(-1)  # (L, H, n)
            for r, name in enumerate(LABELS):
                if not (wanted := self._scorable(pairs.get(name, ()), has_tokens, d)):
                    continue
                query, target = np.array(wanted).T
                right = (strongest[..., query] == target) & (rows[..., query, target] > 0)
                self._right[d, r] += right.sum(-1)
                self._counts[d, r] += len(wanted)
                distance = target - query
                np.add.at(self._hits[d, r], distance[np.abs(distance) <= REACH] + REACH, 1)
        self._add_coreference(sentence, words, has_tokens)

    def _scorable(self, pairs: tuple[Link, ...], has_tokens: NDArray[np.bool_], direction: int) -> list[Link]:
        """The links whose words both have tokens and that the attention mask allows."""
        side = -1 if direction == 0 else 1
        return [(a, t) for a, t in pairs if has_tokens[a] and has_tokens[t] and (not self.causal or (t - a) * side > 0)]

    def _add_coreference(self, sentence: Sentence, words: NDArray[np.float32], has_tokens: NDArray[np.bool_]) -> None:
        r = tuple(LABELS).index("coreference")
        for mention, before, antecedents in references(sentence):
            candidates = np.array([i for i in before if has_tokens[i]])
            if not has_tokens[mention] or not antecedents & set(candidates.tolist()):
                continue
            row = words[..., mention, candidates]  # (L, H, candidates)
            strongest = candidates[row.argmax(-1)]
            self._right[0, r] += np.isin(strongest, list(antecedents)) & (row.max(-1) > 0)
            self._counts[0, r] += 1
            for back, candidate in enumerate(candidates[::-1][:REACH], 1):
                self._hits[0, r, REACH - back] += int(candidate) in antecedents

    def counted(self) -> tuple[RelationCounts, ...]:
        """The counts so far: every relation in every direction with a scored link."""
        offsets, baselines = self._hits.argmax(-1) - REACH, self._hits.max(-1)
        return tuple(
            RelationCounts(
                name,
                "mention to antecedent" if name == "coreference" else direction,
                int(self._counts[d, r]),
                self._right[d, r].copy(),
                int(offsets[d, r]),
                int(baselines[d, r]),
            )
            for r, name in enumerate(LABELS)
            for d, direction in enumerate(DIRECTIONS)
            if self._counts[d, r]
        )
