"""Sentence pairs, split so that no sentence of any language is on both sides.

English sentences are held out by their hash (`core.training.corpus.held_out`). Every French or German sentence that
translates one of them is then held out too, and a pair is trained on only where neither side is held out. A pair is
evaluated on where its English side is held out. Sentences that differ in case or punctuation alone count as equal.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from core.training.corpus import held_out, lines, normal

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of one language pair; ``train`` and ``test`` share no sentence on either side."""

    train: list[Pair]
    test: list[Pair]


def digest(sentence: str) -> bytes:
    """Sixteen bytes that stand for a sentence; two sentences among 10^12 share one with a chance below 10^-14."""
    return hashlib.blake2b(sentence.encode(), digest_size=16).digest()


class Split:
    """The two sides of one language pair, read anew whenever they are walked through.

    Held in memory are the digests (16 bytes each) of the translations of held-out sentences; never the pairs.

    Args:
        pairs: makes an iterator over the (English, other) pairs; called once for each pass.
        every: about one English sentence in ``every`` is held out.
    """

    def __init__(self, pairs: Callable[[], Iterable[Pair]], every: int) -> None:
        self.pairs = pairs
        self.every = every
        self._kept_out = {digest(normal(other)) for _, other in self.test()}

    def test(self) -> Iterator[Pair]:
        """Pairs whose English side is held out."""
        return (pair for pair in self.pairs() if held_out(pair[0], self.every))

    def train(self) -> Iterator[Pair]:
        """Pairs with neither side held out."""
        for english, other in self.pairs():
            if not held_out(english, self.every) and digest(normal(other)) not in self._kept_out:
                yield english, other


def split(files: dict[str, list[Pair]], *, every: int) -> dict[str, Pairs]:
    """Splits English-first pairs of several language pairs at once, in memory.

    Args:
        files: language pair ("en-fr") to its (English, other) pairs.
        every: about one English sentence in ``every`` is held out.
    """
    sides = {name: Split(partial(iter, pairs), every) for name, pairs in files.items()}
    return {name: Pairs(list(side.train()), list(side.test())) for name, side in sides.items()}


def references(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Groups pairs by source: each source sentence with all of its translations, in order of appearance."""
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        targets = grouped.setdefault(source, [])
        if target not in targets:
            targets.append(target)
    return grouped


def rows(corpus: Path, name: str) -> Iterator[Pair]:
    """Pairs of ``parallel.<name>.tsv`` as (first, second), one at a time."""
    for line in lines(corpus, f"parallel.{name}.tsv"):
        first, _, second = line.partition("\t")
        if first and second:
            yield first, second


def read(corpus: Path, name: str) -> list[Pair]:
    """All of `rows`."""
    return list(rows(corpus, name))
