r"""A small tokenizer trained on a pasted text, and how it tokenizes at every vocabulary size on the way.

BPE and WordPiece grow: they start from characters and merge, so every smaller vocabulary is the beginning of the larger
one. Unigram shrinks: it starts from many frequent substrings and prunes, round by round, the tokens whose removal
lowers the text's likelihood least (Kudo, 2018, section 3.2). The library's trainer does that, once for each size that
is shown. Its own hash tables make the last digits of its probabilities differ from run to run.

Words are runs of letters and digits, or of other signs; ``▁`` marks one that follows a space.

BPE: words are counted; each begins as its characters. Again and again the adjacent pair with the highest count,

.. math:: (a, b)^* = \arg\max_{(a,b)} \sum_w c(w)\,\#_{ab}(w),

is merged, until the vocabulary is full or no pair occurs twice (Sennrich et al., 2016, algorithm 1). c(w) is how often
the word w occurs, #_ab(w) how often a stands before b in it. Of equal counts the pair with the smaller ids wins,
characters being numbered by their code points: that is the library's order for BPE, and tests hold the merges to it.

WordPiece marks a token that continues a word with ``##``. Wu et al. (2016) choose tokens to raise the likelihood of the
training data, with details in Schuster & Nakajima (2012); the library's trainer merges by counts, as its source shows,
and so does this.

Training takes a second at most, and others go first between its parts (`core.turns`). No process of its own: the
library lets go of the interpreter lock while it trains, and the longest hold that was measured is 50 ms.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from core.errors import InputUnusable
from core.tokenizers import bpe, unigram, wordpiece
from core.tokenizers.samples import whole
from core.turns import turns

Kind = Literal["bpe", "wordpiece", "unigram"]
MOST_TEXT = 4_000
"""Characters of a training text."""
MOST = 1_500
"""The largest vocabulary."""
_STAGES = 6
_POINTS = 16
_WORD = re.compile(r"\w+|[^\w\s]+")
_UNKNOWN = "<unk>"


@dataclass(frozen=True, slots=True)
class Stage:
    """One size on the way."""

    size: int
    """Entries of the vocabulary."""
    tokens: int
    """Tokens of the whole text."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """Unigram's log probabilities at this size."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A token of a word; ``known`` is False for the unknown token."""

    text: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Trained:
    """What was learned from one text."""

    kind: Kind
    words: Mapping[str, int]
    learning: Learning | None
    """The merges; None for Unigram."""
    stages: tuple[Stage, ...]
    """Sizes with the length of the text at each; of BPE and WordPiece the characters alone come first."""

    @property
    def smallest(self) -> int:
        """The smallest vocabulary."""
        return self.stages[0].size

    @property
    def largest(self) -> int:
        """The largest vocabulary."""
        return self.stages[-1].size

    def nearest(self, size: int) -> int:
        """The size nearest to ``size`` that can be shown."""
        if self.learning is not None:
            return max(self.smallest, min(self.largest, size))
        return min((stage.size for stage in self.stages), key=lambda one: (abs(one - size), one))

    def tokenize(self, words: Iterable[str], size: int) -> list[list[Piece]]:
        """Each word tokenized by the vocabulary of that size."""
        if self.learning is None:
            nearest = self.nearest(size)
            scores = next(stage.scores for stage in self.stages if stage.size == nearest)
            widest = max(map(len, scores))
            paths = [unigram.best(unigram.lattice(word, scores, widest)) for word in words]
            return [[Piece(edge.piece, edge.known) for edge in path.edges] for path in paths]
        known = set(self.learning.vocabulary(size))
        if self.kind == "wordpiece":
            matches = [wordpiece.match(word, known) for word in words]
            return [
                [Piece(match.word, False)] if match.pieces is None else list(map(Piece, match.pieces))
                for match in matches
            ]
        merges = self.learning.merges[: self.learning.at(size)]
        # a pair that comes again later keeps its first rank
        ranks = {(match.left, match.right): rank for rank, match in reversed(list(enumerate(merges)))}
        return [[Piece(match, match in known) for match in bpe.encode(word, ranks)] for word in words]


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
        raise InputUnusable("This text has no word to learn from. A few sentences are enough.")
    if kind == "unigram":
        return _unigram(counted)
    learning = learn(counted, MOST, wordpiece.PREFIX if kind == "wordpiece" else "")
    stages = _grown(learning) if kind == "bpe" else _matched(learning, counted)
    return Trained(kind, counted, learning, stages)


def _grown(learning: Learning) -> tuple[Stage, ...]:
    """The text after every merge: of one size the last state counts."""
    stages = {len(learning.alphabet): learning.start}
    known = set(learning.alphabet)
    for merge in learning.merges:
        known.add(merge.merged)
        stages[len(known)] = merge.tokens
    return tuple(Stage(size, tokens) for size, tokens in stages.items())


def _matched(learning: Learning, words: Mapping[str, int]) -> tuple[Stage, ...]:
    """The text tokenized greedily at some sizes, from the characters alone to the whole vocabulary."""
    pieces = learning.vocabulary(MOST)
    low, high = len(learning.alphabet), len(pieces)
    sizes = sorted({low, high, *(round(low + (high - low) * (i / _POINTS) ** 1.5) for i in range(_POINTS))})
    stages = []
    for size in sizes:
        turns.step()
        known = set(pieces[:size])
        tokens = sum(len(wordpiece.match(word, known).pieces or (word,)) * n for word, n in words.items())
        stages.append(Stage(size, tokens))
    return tuple(stages)


def _unigram(words: Counter[str]) -> Trained:
    letters = len({sign for word in words for sign in word})
    largest = _shrunk(words, MOST)
    by_size = {largest.size: largest}
    for i in range(_STAGES - 1):
        aim = round((letters + 2) * (largest.size / (letters + 2)) ** (i / (_STAGES - 1)))
        if letters < aim < largest.size:
            stage = _shrunk(words, aim)
            by_size.setdefault(stage.size, stage)
    return Trained("unigram", words, None, tuple(by_size[size] for size in sorted(by_size)))


def _shrunk(words: Counter[str], size: int) -> Stage:
    """A Unigram vocabulary of about ``size`` pieces, by the library."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    turns.step()
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
            "The Unigram trainer cannot learn from this text. A longer text with repeated words works."
        ) from error
    if not scores:
        raise InputUnusable("The Unigram trainer found no token in this text. A longer text works.")
    tokens = sum(len(split.ids) * n for split, n in zip(spelt, words.values(), strict=True))
    return Stage(len(scores), tokens, scores)


@dataclass(frozen=True, slots=True)
class LearnedMerge:
    """One merge, as it was learned."""

    left: str
    right: str
    merged: str
    count: int
    """How often the pair occurred in the text when it was chosen."""
    tokens: int
    """Tokens of the whole text after this merge."""


@dataclass(frozen=True, slots=True)
class Learning:
    """The whole course: the initial vocabulary and every merge in order."""

    alphabet: tuple[str, ...]
    """The initial tokens, by id."""
    start: int
    """Tokens of the text as characters alone."""
    merges: tuple[LearnedMerge, ...]

    def vocabulary(self, size: int) -> tuple[str, ...]:
        """The first ``size`` tokens that were known; at least the alphabet."""
        return tuple(dict.fromkeys((*self.alphabet, *(merge.merged for merge in self.merges[: self.at(size)]))))

    def at(self, size: int) -> int:
        """How many merges a vocabulary of ``size`` tokens has room for."""
        known = set(self.alphabet)
        for number, merge in enumerate(self.merges):
            if merge.merged not in known and len(known) >= size:
                return number
            known.add(merge.merged)
        return len(self.merges)


def learn(words: Mapping[str, int], most: int, prefix: str = "") -> Learning:
    """Learn up to ``most`` tokens from counted words.

    Args:
        words: how often each word occurs; no empty word.
        most: size of the vocabulary, the alphabet included.
        prefix: written before every token that continues a word (``##``); nothing for plain BPE.
    """
    spelt = [[sign if i == 0 else prefix + sign for i, sign in enumerate(word)] for word in words]
    names = sorted({sign for signs in spelt for sign in signs}, key=lambda sign: (len(sign), sign))
    alphabet, ids = tuple(names), {name: number for number, name in enumerate(names)}
    rows, counts = [[ids[sign] for sign in signs] for signs in spelt], list(words.values())

    start = tokens = sum(len(row) * n for row, n in zip(rows, counts, strict=True))
    pairs: Counter[tuple[int, int]] = Counter()

    def count(row: list[int], times: int) -> None:
        for pair in pairwise(row):
            pairs[pair] += times

    for row, n in zip(rows, counts, strict=True):
        count(row, n)
    merges: list[LearnedMerge] = []
    while len(names) < most:
        turns.step()
        pair = min(pairs, key=lambda pair: (-pairs[pair], pair), default=(0, 0))
        if (often := pairs[pair]) < 2:
            break
        left, right = (names[number] for number in pair)
        merged = left + right.removeprefix(prefix)
        if merged not in ids:
            ids[merged] = len(names)
            names.append(merged)
        for at, (row, n) in enumerate(zip(rows, counts, strict=True)):
            if pair[0] in row:
                rows[at] = _merge(row, pair, ids[merged])
                count(row, -n)
                count(rows[at], n)
                tokens -= (len(row) - len(rows[at])) * n
        merges.append(LearnedMerge(left, right, merged, often, tokens))
    return Learning(alphabet, start, tuple(merges))


def _merge(row: list[int], pair: tuple[int, int], number: int) -> list[int]:
    """``row`` with every occurrence of ``pair``, from the left, replaced by ``number``."""
    out: list[int] = []
    i = 0
    while i < len(row):
        if tuple(row[i : i + 2]) == pair:
            out.append(number)
            i += 2
        else:
            out.append(row[i])
            i += 1
    return out
