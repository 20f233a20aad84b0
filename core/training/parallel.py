"""Sentence pairs, split so that no sentence of any language is on both sides.

English sentences are held out by their hash (`core.training.corpus.held_out`). Every French or German sentence that
translates one of them is then held out too, and a pair is trained on only where neither side is held out. A pair is
evaluated on where its English side is held out. Sentences that differ in case or punctuation alone count as equal.

Two languages that never met in training are measured on the pairs whose English sentences are all held out (`Bridged`).

Sentence fusion made from whole sentences: a sentence of two clauses is cut at its connective, to be joined again.

    It rained, but we went out.   ->   It rained. We went out.

The cut takes away the connective and a comma before it, and gives both halves the shape of sentences; what was cut is
what a model has to find. Only sentences that a simple rule cuts cleanly are used: each half has three to fourteen
words, the first begins like a clause and not with a preposition or a conjunction, the second too, and no other comma
and no quotation is in the way. The rule knows no grammar: here and there a half is no sentence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from core.training.corpus import held_out, lines, normal

Pair = tuple[str, str]


LANGUAGES = {"en": "English", "fr": "French", "de": "German"}


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


def splits(corpus: Path, every: int) -> dict[str, Split]:
    """The two files of pairs with English, each with its held-out side."""
    return {name: Split(partial(rows, corpus, name), every) for name in ("en-fr", "en-de")}


def unseen(corpus: Path, split: dict[str, Split]) -> Bridged:
    """The pairs of French and German that are measured on."""
    return Bridged(split["en-fr"], split["en-de"], partial(rows, corpus, "fr-de"))


class Bridged:
    """Held-out pairs of two languages that only English joins; read anew whenever they are walked through.

    A French and a German sentence are a pair because some English sentence has both as translations: their *bridge*.
    Such a pair is measured on where every bridge between the two is held out. Then neither sentence was trained on,
    since translations of held-out sentences are held out with them; and the bridge was not trained on either, in any
    language pair, since it is its words alone that hold it out.

    Held in memory are digests of the translations of held-out sentences and of their English sides, never the pairs.

    Args:
        first, second: the splits of (English, first) and (English, second) pairs, made with the same ``every``.
        pairs: makes an iterator over the (first, second) pairs; called once for each pass.
    """

    def __init__(self, first: Split, second: Split, pairs: Callable[[], Iterable[Pair]]) -> None:
        self.pairs = pairs
        self._held: set[bytes] = set()
        self._bridges = (self._english(first), self._english(second))

    def _english(self, side: Split) -> dict[bytes, set[bytes]]:
        """The English sides, held out or not, of every sentence that translates a held-out one."""
        bridges_of: dict[bytes, set[bytes]] = {digest(normal(other)): set() for _, other in side.test()}
        for english, other in side.pairs():
            bridges = bridges_of.get(digest(normal(other)))
            if bridges is not None:
                bridge = digest(normal(english))
                bridges.add(bridge)
                if held_out(english, side.every):
                    self._held.add(bridge)
        return bridges_of

    def test(self) -> Iterator[Pair]:
        """Pairs joined by held-out English sentences alone."""
        first, second = self._bridges
        for pair in self.pairs():
            bridges = first.get(digest(normal(pair[0])), set()) & second.get(digest(normal(pair[1])), set())
            if bridges and bridges <= self._held:
                yield pair


def prefix(task: str) -> str:
    """Text that asks for a task: ``en-fr`` becomes "translate English to French: ", ``repair`` "repair: "."""
    if task.startswith("repair"):
        return "repair: "
    source, target = task.split("-")
    return f"translate {LANGUAGES[source]} to {LANGUAGES[target]}: "


def corrupted(text: str, index: int) -> str:
    """The ``index``-th damage of a text: kind and rate drawn from the index alone.

    The kind is drawn evenly among the everyday noise of `core.language.noise`, the rate evenly from 0 to twice its
    default.
    """
    from core.language.noise import EVERYDAY, RATES, noisy

    random = Random(index)
    kind = EVERYDAY[random.randrange(len(EVERYDAY))]
    rate = min(1.0, random.uniform(0.0, 2.0) * RATES[kind])
    return noisy(text, kind, rate, index)


def examples(task: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """(input without prefix, output) of a task from (English, other) pairs; repair takes the side its name tells.

    Repair shows each text once: of those seen it keeps the digests (`digest`).
    """
    if task.startswith("repair"):
        side = 0 if task.endswith("en") else 1
        digests: set[bytes] = set()
        for pair in pairs:
            key = digest(pair[side])
            if key not in digests:
                yield corrupted(pair[side], len(digests)), pair[side]
                digests.add(key)
    else:
        for english, other in pairs:
            yield (english, other) if task.startswith("en-") else (other, english)


CONNECTIVES = ("but", "and", "because", "so", "when", "while", "although", "though", "until")
_OPENERS = (
    "he|she|it|they|we|I|you|there|this|these|those|the|a|an|his|her|my|our|your|their|its|no|nobody|nothing"
    "|everyone|everybody|all"
)
_CUT = re.compile(
    rf"^(?P<first>[A-Z][^,;:\"()]*?),? (?P<connective>{'|'.join(CONNECTIVES)}) "
    rf"(?P<second>(?:{_OPENERS}|[A-Z][a-z]+) [^,;:\"()]*[^,;:\"()\s])(?P<end>[.!?])$"
)
_FALSE_START = re.compile(
    r"(?:After|And|As|At|Before|But|By|For|From|How|If|In|Into|Now|Nor|Of|On|Or|So|Than|Though|To|What|When|Where|While|Who"
    r"|With|Yet)\b"
)
_FALSE_END = re.compile(r"\b(?:as|so|such|even|just|only|than|and|or|that|except|ever)$", re.IGNORECASE)
LEAST_WORDS, MOST_WORDS = 3, 14


class Fusion(NamedTuple):
    """Two sentences, and the one that they were."""

    parts: str
    whole: str
    connective: str


def cut(sentence: str) -> Fusion | None:
    """The sentence cut at its first connective, or None where the rule does not fit."""
    match = _CUT.match(sentence)
    if match is None:
        return None
    first, second = match["first"], match["second"]
    words = len(first.split()), len(second.split())
    if min(words) < LEAST_WORDS or max(words) > MOST_WORDS or _FALSE_START.match(first) or _FALSE_END.search(first):
        return None
    return Fusion(f"{first}. {second[0].upper()}{second[1:]}{match['end']}", sentence, match["connective"])


def fusions(sentences: Iterable[str]) -> Iterator[Fusion]:
    """All sentences that can be cut, in order."""
    for sentence in sentences:
        fusion = cut(sentence)
        if fusion is not None:
            yield fusion
