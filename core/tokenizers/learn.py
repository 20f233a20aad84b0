r"""Learning a small vocabulary by joins: BPE, and WordPiece as the `tokenizers` library learns it.

Words are counted; each begins as its letters. Again and again the pair of neighbours with the highest count,

.. math:: (a, b)^* = \arg\max_{(a,b)} \sum_w c(w)\,\#_{ab}(w),

becomes one piece, until the vocabulary is full or no pair occurs twice (Sennrich et al., 2016, algorithm 1). c(w) is
how often the word w occurs, #_ab(w) how often a stands before b in it. Of equal counts the pair with the smaller
numbers wins, letters being numbered by their code points: that is the library's order for BPE, and tests hold the
joins to it.

WordPiece writes a piece that goes on with ``##``. Wu et al. (2016) choose pieces to raise the likelihood of the
training data, with details in Schuster & Nakajima (2012); the library's trainer joins by counts, as its source shows,
and so does this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Learnt:
    """One join, as it was learnt."""

    left: str
    right: str
    joined: str
    count: int
    """How often the pair stood in the text when it was chosen."""
    tokens: int
    """Tokens of the whole text after this join."""


@dataclass(frozen=True, slots=True)
class Learning:
    """The whole course: where it began and every join in order."""

    alphabet: tuple[str, ...]
    """The pieces that it began with, by number."""
    start: int
    """Tokens of the text as letters alone."""
    joins: tuple[Learnt, ...]

    def vocabulary(self, size: int) -> tuple[str, ...]:
        """The first ``size`` pieces that were known; at least the alphabet."""
        known = dict.fromkeys(self.alphabet)
        for one in self.joins:
            if len(known) >= size:
                break
            known[one.joined] = None
        return tuple(known)

    def at(self, size: int) -> int:
        """How many joins a vocabulary of ``size`` pieces has room for."""
        known = set(self.alphabet)
        for number, one in enumerate(self.joins):
            if one.joined not in known and len(known) >= size:
                return number
            known.add(one.joined)
        return len(self.joins)


def learn(words: Mapping[str, int], most: int, prefix: str = "") -> Learning:
    """Learn up to ``most`` pieces from counted words.

    Args:
        words: how often each word occurs; no empty word.
        most: pieces of the vocabulary, the alphabet among them.
        prefix: written before every piece that goes on inside a word (``##``); nothing for plain BPE.
    """
    course = _Course(words, prefix)
    joins = []
    while len(course.names) < most and (join := course.step()) is not None:
        joins.append(join)
    return Learning(course.alphabet, course.start, tuple(joins))


class _Course:
    """The words in pieces, with the count of every pair and where it stands."""

    def __init__(self, words: Mapping[str, int], prefix: str) -> None:
        self.prefix = prefix
        spelt = [([sign if i == 0 else prefix + sign for i, sign in enumerate(word)], n) for word, n in words.items()]
        plain = {sign for word in words for sign in word}
        if prefix:
            signs = sorted({sign for signs, _ in spelt for sign in signs}, key=lambda s: (len(s), s))
        else:
            signs = sorted(plain)
        self.alphabet = tuple(signs)
        self.names: list[str] = list(signs)
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.words = [([self.numbers[sign] for sign in signs], n) for signs, n in spelt]
        self.tokens = self.start = sum(len(signs) * n for signs, n in self.words)
        self.counts: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for index, (numbers, n) in enumerate(self.words):
            for pair in pairwise(numbers):
                self.counts[pair] += n
                self.places[pair].add(index)
        self.queue = [(-count, pair) for pair, count in self.counts.items()]
        heapify(self.queue)

    def step(self) -> Learnt | None:
        """Join the most frequent pair; None when none occurs twice."""
        while self.queue:
            count, pair = heappop(self.queue)
            if -count != self.counts[pair]:
                if self.counts[pair] > 1:  # it has become rarer since it was put in
                    heappush(self.queue, (-self.counts[pair], pair))
                continue
            return None if -count < 2 else self._join(pair, -count)
        return None

    def _join(self, pair: Pair, count: int) -> Learnt:
        left, right = (self.names[number] for number in pair)
        joined = left + right.removeprefix(self.prefix)
        number = self.numbers.get(joined)
        if number is None:
            number = self.numbers[joined] = len(self.names)
            self.names.append(joined)
        raised = set()
        for index in self.places.pop(pair):
            signs, n = self.words[index]
            for old in pairwise(signs):
                self.counts[old] -= n
            signs, before = _replaced(signs, pair, number), len(signs)
            self.tokens -= (before - len(signs)) * n
            self.words[index] = (signs, n)
            for new in pairwise(signs):
                self.counts[new] += n
                self.places[new].add(index)
                raised.add(new)
        self.counts[pair] = 0
        for new in raised:
            if number in new:
                heappush(self.queue, (-self.counts[new], new))
        return Learnt(left, right, joined, count, self.tokens)


def _replaced(signs: list[int], pair: Pair, number: int) -> list[int]:
    """``signs`` with every occurrence of ``pair``, from the left, replaced by ``number``."""
    out: list[int] = []
    i = 0
    while i < len(signs):
        if i + 1 < len(signs) and (signs[i], signs[i + 1]) == pair:
            out.append(number)
            i += 2
        else:
            out.append(signs[i])
            i += 1
    return out
