r"""A small tokenizer trained on a pasted text, and its tokenization at every vocabulary size during training.

BPE and WordPiece grow: they start from characters and merge, so a smaller vocabulary is a prefix of every larger one.
Unigram shrinks: it starts from many frequent substrings and prunes, round by round, the tokens whose removal lowers the
text's likelihood least (Kudo, 2018, section 3.2). The library's trainer does that, once for each size. Its hash tables
make the last digits of its probabilities differ from run to run.

Words are runs of letters and digits with their marks, or of other characters; ``▁`` marks a word that follows a space.

BPE: words are counted, and each starts as its characters. In every step the adjacent pair with the highest count,

.. math:: (a, b)^* = \arg\max_{(a,b)} \sum_w c(w)\,\#_{ab}(w),

is merged, until the vocabulary is full or no pair occurs twice (Sennrich et al., 2016, algorithm 1). c(w) is the count
of the word w, #_ab(w) the number of times a precedes b in it. Of equal counts the pair with the smaller ids wins, with
characters numbered by code point: that is the library's order for BPE, and tests compare the merges with it.

WordPiece marks a token that continues a word with ``##``. Wu et al. (2016) choose tokens to raise the likelihood of the
training data, with details in Schuster & Nakajima (2012); the library's trainer merges by counts, as its source shows,
and so does this module.

Training takes a second at most and yields to other visitors between its parts (`core.turns`). It needs no process of
its own: the library releases the interpreter lock while it trains, and holds it for at most 50 ms (measured).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import regex
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from core.errors import InputUnusable
from core.tokenizers import bpe, unigram, wordpiece
from core.tokenizers.samples import whole
from core.turns import turns
from core.words import SIGN, WORD

TokenizerKind = Literal["bpe", "wordpiece", "unigram"]
MOST_TEXT = 4_000
"""Characters of a training text."""
MOST = 1_500
"""The largest vocabulary."""
_STAGES = 6
_POINTS = 16
_WORD = regex.compile(f"{WORD}|(?:{SIGN})+")
_UNKNOWN = "<unk>"


@dataclass(frozen=True, slots=True)
class Stage:
    """The state of training at one vocabulary size."""

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
    """A vocabulary learned from one text, at all its sizes."""

    kind: TokenizerKind
    words: Mapping[str, int]
    learning: Learning | None
    """The merges; None for Unigram."""
    stages: tuple[Stage, ...]
    """By size; for BPE and WordPiece the first stage is the characters alone."""

    @property
    def smallest(self) -> int:
        """The smallest vocabulary."""
        return self.stages[0].size

    @property
    def largest(self) -> int:
        return self.stages[-1].size

    def nearest(self, size: int) -> int:
        """The available size nearest to ``size``."""
        if self.learning is not None:
            return max(self.smallest, min(self.largest, size))
        return min((stage.size for stage in self.stages), key=lambda other: (abs(other - size), other))

    def tokenize(self, words: Iterable[str], size: int) -> list[list[Piece]]:
        if self.learning is None:
            nearest = self.nearest(size)
            scores = next(stage.scores for stage in self.stages if stage.size == nearest)
            widest = max(map(len, scores))
            paths = [unigram.best(unigram.lattice(word, scores, widest)) for word in words]
            return [[Piece(edge.piece, edge.known) for edge in path.tokens] for path in paths]
        vocabulary = set(self.learning.vocabulary(size))
        if self.kind == "wordpiece":
            matches = [wordpiece.match(word, vocabulary) for word in words]
            return [
                [Piece(match.word, False)] if match.pieces is None else list(map(Piece, match.pieces))
                for match in matches
            ]
        merges = self.learning.merges[: self.learning.at(size)]
        # a pair that is learned again later keeps its first rank
        ranks = {(match.left, match.right): rank for rank, match in reversed(list(enumerate(merges)))}
        return [[Piece(match, match in vocabulary) for match in bpe.encode(word, ranks)] for word in words]


def words_of(text: str, kind: TokenizerKind) -> list[str]:
    """The words of ``text`` in order, the input of the algorithm."""
    words = []
    for match in _WORD.finditer(text):
        after_space = match.start() == 0 or text[match.start() - 1].isspace()
        words.append(("▁" if after_space and kind != "wordpiece" else "") + match.group())
    return words


def train(text: str, kind: TokenizerKind) -> Trained:
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
    stages = _after_merges(learning) if kind == "bpe" else _matched(learning, counted)
    return Trained(kind, counted, learning, stages)


def _after_merges(learning: Learning) -> tuple[Stage, ...]:
    """A stage after every merge; merges that add no token replace the stage of their size."""
    stages = {len(learning.alphabet): learning.start}
    vocabulary = set(learning.alphabet)
    for merge in learning.merges:
        vocabulary.add(merge.merged)
        stages[len(vocabulary)] = merge.tokens
    return tuple(Stage(size, tokens) for size, tokens in stages.items())


def _matched(learning: Learning, words: Mapping[str, int]) -> tuple[Stage, ...]:
    """Stages of greedy tokenization at some sizes, from the characters alone to the whole vocabulary."""
    pieces = learning.vocabulary(MOST)
    low, high = len(learning.alphabet), len(pieces)
    sizes = sorted({low, high, *(round(low + (high - low) * (i / _POINTS) ** 1.5) for i in range(_POINTS))})
    stages = []
    for size in sizes:
        turns.step()
        vocabulary = set(pieces[:size])
        tokens = sum(len(wordpiece.match(word, vocabulary).pieces or (word,)) * n for word, n in words.items())
        stages.append(Stage(size, tokens))
    return tuple(stages)


def _unigram(words: Counter[str]) -> Trained:
    letters = len({sign for word in words for sign in word})
    largest = _pruned(words, MOST)
    by_size = {largest.size: largest}
    for i in range(_STAGES - 1):
        aim = round((letters + 2) * (largest.size / (letters + 2)) ** (i / (_STAGES - 1)))
        if letters < aim < largest.size:
            stage = _pruned(words, aim)
            by_size.setdefault(stage.size, stage)
    return Trained("unigram", words, None, tuple(by_size[size] for size in sorted(by_size)))


def _pruned(words: Counter[str], size: int) -> Stage:
    """A Unigram vocabulary of about ``size`` pieces, by the library."""
    turns.step()
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.UnigramTrainer(
        vocab_size=size + 1, show_progress=False, unk_token=_UNKNOWN, special_tokens=[_UNKNOWN]
    )
    try:
        tokenizer.train_from_iterator([" ".join(words.elements())], trainer)
        scores = {
            piece: score for piece, score in json.loads(tokenizer.to_str())["model"]["vocab"] if piece != _UNKNOWN
        }
        spelled = tokenizer.encode_batch(list(words), add_special_tokens=False)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library's panics are no ordinary exceptions
        raise InputUnusable(
            "The Unigram trainer cannot learn from this text. A longer text with repeated words works."
        ) from error
    if not scores:
        raise InputUnusable("The Unigram trainer found no token in this text. A longer text works.")
    tokens = sum(len(split.ids) * n for split, n in zip(spelled, words.values(), strict=True))
    return Stage(len(scores), tokens, scores)


@dataclass(frozen=True, slots=True)
class LearnedMerge:
    left: str
    right: str
    merged: str
    count: int
    """How often the pair occurred in the text when it was merged."""
    tokens: int
    """Tokens of the whole text after this merge."""


@dataclass(frozen=True, slots=True)
class Learning:
    """The initial vocabulary and every merge in order."""

    alphabet: tuple[str, ...]
    """The initial tokens, by id."""
    start: int
    """Tokens of the text as characters alone."""
    merges: tuple[LearnedMerge, ...]

    def vocabulary(self, size: int) -> tuple[str, ...]:
        """The first ``size`` tokens; at least the alphabet."""
        return tuple(dict.fromkeys((*self.alphabet, *(merge.merged for merge in self.merges[: self.at(size)]))))

    def at(self, size: int) -> int:
        """The number of merges that a vocabulary of ``size`` tokens contains."""
        tokens = set(self.alphabet)
        for number, merge in enumerate(self.merges):
            if merge.merged not in tokens and len(tokens) >= size:
                return number
            tokens.add(merge.merged)
        return len(self.merges)


def learn(words: Mapping[str, int], most: int, prefix: str = "") -> Learning:
    """Learn up to ``most`` tokens from counted words.

    Args:
        words: how often each word occurs; no empty word.
        most: size of the vocabulary, the alphabet included.
        prefix: written before every token that continues a word (``##``); nothing for plain BPE.
    """
    spelled = [[sign if i == 0 else prefix + sign for i, sign in enumerate(word)] for word in words]
    names = sorted({sign for signs in spelled for sign in signs}, key=lambda sign: (len(sign), sign))
    alphabet, ids = tuple(names), {name: number for number, name in enumerate(names)}
    rows, counts = [[ids[sign] for sign in signs] for signs in spelled], list(words.values())

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
