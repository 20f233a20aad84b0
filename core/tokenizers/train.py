r"""A small tokeniser learnt from a pasted text, and how it cuts at every size on the way.

BPE and WordPiece grow: they begin with the letters and join (:mod:`core.tokenizers.train`), so every smaller vocabulary
is the beginning of the larger one. Unigram shrinks: it begins with many frequent stretches and drops, round by round,
the pieces whose loss costs the text's likelihood least (Kudo, 2018, section 3.2). The library's trainer does that, once
for each size that is shown. Its own hash tables make the last digits of its probabilities differ from run to run.

Words are runs of letters and digits, or of other signs; ``▁`` marks one that stands after a blank.

Learning a small vocabulary by joins: BPE, and WordPiece as the `tokenizers` library learns it.

Words are counted; each begins as its letters. Again and again the pair of neighbors with the highest count,

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

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, Literal

from core.errors import InputUnusable
from core.tokenizers import bpe, unigram, wordpiece
from core.tokenizers.samples import whole

Kind = Literal["bpe", "wordpiece", "unigram"]
MOST_TEXT = 4_000
"""Characters of a text to learn from."""
MOST = 1_500
"""Pieces that are learnt at most."""
_STAGES = 6
_POINTS = 16
_WORD = re.compile(r"\w+|[^\w\s]+")
_UNKNOWN = "<unk>"


@dataclass(frozen=True, slots=True)
class Stage:
    """One size on the way."""

    size: int
    """Pieces of the vocabulary."""
    tokens: int
    """Tokens of the whole text."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Unigram's log probabilities at this size."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a cut word; ``known`` is False for what the vocabulary cannot write."""

    text: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Trained:
    """What was learnt from one text."""

    kind: Kind
    words: Mapping[str, int]
    learning: Learning | None
    """The joins; None for Unigram."""
    stages: tuple[Stage, ...]
    """Sizes with the length of the text at each; of BPE and WordPiece the letters alone come first."""

    @property
    def smallest(self) -> int:
        """Pieces of the smallest vocabulary."""
        return self.stages[0].size

    @property
    def largest(self) -> int:
        """Pieces of the largest vocabulary."""
        return self.stages[-1].size

    def nearest(self, size: int) -> int:
        """The size nearest to ``size`` that can be shown."""
        if self.learning is not None:
            return max(self.smallest, min(self.largest, size))
        return min((stage.size for stage in self.stages), key=lambda one: (abs(one - size), one))

    def vocabulary(self, size: int) -> tuple[str, ...]:
        """The pieces at a size: in the order in which they were learnt, or the most probable first."""
        if self.learning is not None:
            return self.learning.vocabulary(size)
        scores = self._scores(size)
        return tuple(sorted(scores, key=lambda piece: (-scores[piece], piece)))

    def cut(self, words: Iterable[str], size: int) -> list[list[Piece]]:
        """Each word in pieces, by the vocabulary of that size."""
        if self.kind == "unigram":
            scores = self._scores(size)
            widest = max(map(len, scores))
            paths = [unigram.best(unigram.lattice(word, scores, widest)) for word in words]
            return [[Piece(edge.piece, edge.known) for edge in path.edges] for path in paths]
        assert self.learning is not None
        known = set(self.learning.vocabulary(size))
        if self.kind == "wordpiece":
            found = [wordpiece.match(word, known) for word in words]
            return [[Piece(one.word, False)] if one.pieces is None else list(map(Piece, one.pieces)) for one in found]
        joins = self.learning.joins[: self.learning.at(size)]
        # a pair that comes again later keeps its first rank
        ranks = {(one.left, one.right): rank for rank, one in reversed(list(enumerate(joins)))}
        return [[Piece(one, one in known) for one in bpe.encode(word, ranks)] for word in words]

    def _scores(self, size: int) -> Mapping[str, float]:
        nearest = self.nearest(size)
        return next(stage.scores for stage in self.stages if stage.size == nearest)


def words_of(text: str, kind: Kind) -> list[str]:
    """The words of ``text`` in order, as the algorithm gets them."""
    words = []
    for match in _WORD.finditer(text):
        after_blank = match.start() == 0 or text[match.start() - 1].isspace()
        words.append(("▁" if after_blank and kind != "wordpiece" else "") + match.group())
    return words


def train(text: str, kind: Kind) -> Trained:
    """Learn a vocabulary from ``text``.

    Raises:
        AtlasError: there is nothing to learn from, or too much.
    """
    counted = Counter(words_of(whole(text, MOST_TEXT), kind))
    if not counted:
        raise InputUnusable("There is no word in this text to learn from. A few sentences make a vocabulary.")
    if kind == "unigram":
        return _unigram(counted)
    learning = learn(counted, MOST, wordpiece.PREFIX if kind == "wordpiece" else "")
    stages = _grown(learning) if kind == "bpe" else _matched(learning, counted)
    return Trained(kind, counted, learning, stages)


def _grown(learning: Learning) -> tuple[Stage, ...]:
    """The text after every join: of one size the last state counts."""
    stages = {len(learning.alphabet): learning.start}
    known = set(learning.alphabet)
    for one in learning.joins:
        known.add(one.joined)
        stages[len(known)] = one.tokens
    return tuple(Stage(size, tokens) for size, tokens in stages.items())


def _matched(learning: Learning, words: Mapping[str, int]) -> tuple[Stage, ...]:
    """The text cut greedily at some sizes, the letters alone and the whole vocabulary among them."""
    pieces = learning.vocabulary(MOST)
    low, high = len(learning.alphabet), len(pieces)
    sizes = sorted({low, high, *(round(low + (high - low) * (i / _POINTS) ** 1.5) for i in range(_POINTS))})
    stages = []
    for size in sizes:
        known = set(pieces[:size])
        tokens = sum(len(wordpiece.match(word, known).pieces or (word,)) * n for word, n in words.items())
        stages.append(Stage(size, tokens))
    return tuple(stages)


def _unigram(words: Counter[str]) -> Trained:
    letters = len({sign for word in words for sign in word})
    largest = _shrunk(words, MOST)
    found = {largest.size: largest}
    for i in range(_STAGES - 1):
        aim = round((letters + 2) * (largest.size / (letters + 2)) ** (i / (_STAGES - 1)))
        if letters < aim < largest.size:
            stage = _shrunk(words, aim)
            found.setdefault(stage.size, stage)
    return Trained("unigram", words, None, tuple(found[size] for size in sorted(found)))


def _shrunk(words: Counter[str], size: int) -> Stage:
    """A Unigram vocabulary of about ``size`` pieces, by the library."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer: Any = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.UnigramTrainer(
        vocab_size=size + 1, show_progress=False, unk_token=_UNKNOWN, special_tokens=[_UNKNOWN]
    )
    try:
        tokenizer.train_from_iterator([" ".join(words.elements())], trainer)
        scores = {
            piece: score for piece, score in json.loads(tokenizer.to_str())["model"]["vocab"] if piece != _UNKNOWN
        }
        spelt = tokenizer.encode_batch(list(words), add_special_tokens=False)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library's panics are no ordinary exceptions
        raise InputUnusable(
            "The Unigram trainer cannot learn from this text. A longer one, with words that come again, works."
        ) from error
    if not scores:
        raise InputUnusable("The Unigram trainer found no piece in this text. A longer one works.")
    tokens = sum(len(one.ids) * n for one, n in zip(spelt, words.values(), strict=True))
    return Stage(len(scores), tokens, scores)


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
        return tuple(dict.fromkeys((*self.alphabet, *(one.joined for one in self.joins[: self.at(size)]))))

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
        signs = sorted({sign for signs, _ in spelt for sign in signs}, key=lambda sign: (len(sign), sign))
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
