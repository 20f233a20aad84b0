"""Sentence pairs, split so that no sentence of any language is on both sides; examples of sentence fusion.

English sentences are held out by their hash (`lab.corpus.held_out`). Their French and German translations are
held out, too; training uses the pairs with neither side held out, evaluation those with the English side held out.
Sentences that differ in case or punctuation alone count as equal. Of French and German, joined by English, training
uses the pairs with neither side held out, evaluation those whose English sentences are all held out (`Bridged`).

Sentence fusion: a sentence of two clauses is split at its connective, and the model is trained to restore it.

    It rained, but we went out.   ->   It rained. We went out.

The split removes the connective and a comma before it. A simple rule selects the sentences: each clause has three to
fourteen words and starts with a subject, not with a preposition or a conjunction, and there is no other comma and no
quotation. The rule has no grammar, so a few halves are not sentences. Sentences that it does not select may be split,
too, for training alone (`split_anywhere`): they teach to copy, where the rule's few would be learned by heart.

    He took his hat and went to the door.   ->   He took his hat. Went to the door.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from core.language.noise import EVERYDAY, RATES, noisy
from lab.corpus import held_out, lines, normalized

Pair = tuple[str, str]


LANGUAGES = {"en": "English", "fr": "French", "de": "German"}
PREFIXES = {
    "spans": "",
    "sentiment": "sentiment: ",
    "acceptability": "acceptability: ",
    "similarity": "similarity: ",
    "question": "question or statement: ",
    "summary": "summarize: ",
}
"""Of the tasks of `lab.mixture`."""


def digest(sentence: str) -> bytes:
    """A 16-byte digest of a sentence; among 10^12 sentences the probability of a collision is below 10^-14."""
    return hashlib.blake2b(sentence.encode(), digest_size=16).digest()


class Split:
    """Training and held-out pairs of one language pair, read from the file on each pass.

    In memory: the digests (16 bytes each) of the translations of held-out sentences.

    Args:
        pairs: returns an iterator over the (English, other) pairs; called once per pass.
        every: about one English sentence in ``every`` is held out.
    """

    def __init__(self, pairs: Callable[[], Iterable[Pair]], every: int) -> None:
        self.pairs = pairs
        self.every = every
        self.held_out = {digest(normalized(other)) for _, other in self.test()}
        """Digests of the translations of held-out sentences."""

    def test(self) -> Iterator[Pair]:
        """Pairs whose English side is held out."""
        return (pair for pair in self.pairs() if held_out(pair[0], self.every))

    def train(self) -> Iterator[Pair]:
        """Pairs with neither side held out."""
        for english, other in self.pairs():
            if not held_out(english, self.every) and digest(normalized(other)) not in self.held_out:
                yield english, other


def references(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """All translations of each source sentence, in order of appearance."""
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        targets = grouped.setdefault(source, [])
        if target not in targets:
            targets.append(target)
    return grouped


def rows(corpus: Path, name: str) -> Iterator[Pair]:
    """The (first, second) pairs of ``parallel.<name>.tsv``."""
    for line in lines(corpus, f"parallel.{name}.tsv"):
        first, _, second = line.partition("\t")
        if first and second:
            yield first, second


def splits(corpus: Path, every: int) -> dict[str, Split]:
    """The splits of the two files of pairs with English."""
    return {name: Split(partial(rows, corpus, name), every) for name in ("en-fr", "en-de")}


def bridged(corpus: Path, split: dict[str, Split]) -> Bridged:
    """The split of the pairs of French and German."""
    return Bridged(split["en-fr"], split["en-de"], partial(rows, corpus, "fr-de"))


class Bridged:
    """Training and held-out pairs of two languages that are joined through English; read from the file on each pass.

    A French and a German sentence are a pair because an English sentence, their *bridge*, has both as translations. A
    pair is held out if all bridges between the two are. Then training used neither sentence, since translations of
    held-out sentences are held out, nor the bridge, whose words alone decide that it is held out.

    In memory: digests of the translations of held-out sentences and of their English sides.

    Args:
        first, second: the splits of (English, first) and (English, second) pairs, with the same ``every``.
        pairs: returns an iterator over the (first, second) pairs; called once per pass.
    """

    def __init__(self, first: Split, second: Split, pairs: Callable[[], Iterable[Pair]]) -> None:
        self.pairs = pairs
        self._sides = (first.held_out, second.held_out)
        self._held: set[bytes] = set()
        self._bridges = (self._english(first), self._english(second))

    def _english(self, side: Split) -> dict[bytes, set[bytes]]:
        """The English sides, held out or not, of all translations of held-out sentences."""
        bridges_of: dict[bytes, set[bytes]] = {digest(normalized(other)): set() for _, other in side.test()}
        for english, other in side.pairs():
            bridges = bridges_of.get(digest(normalized(other)))
            if bridges is not None:
                bridge = digest(normalized(english))
                bridges.add(bridge)
                if held_out(english, side.every):
                    self._held.add(bridge)
        return bridges_of

    def train(self) -> Iterator[Pair]:
        """Pairs with neither side held out: no bridge of them is held out, and no side is in any held-out pair."""
        first, second = self._sides
        for pair in self.pairs():
            if digest(normalized(pair[0])) not in first and digest(normalized(pair[1])) not in second:
                yield pair

    def test(self) -> Iterator[Pair]:
        """The pairs whose bridges are all held out."""
        first, second = self._bridges
        for pair in self.pairs():
            bridges = first.get(digest(normalized(pair[0])), set()) & second.get(digest(normalized(pair[1])), set())
            if bridges and bridges <= self._held:
                yield pair


def prefix(task: str) -> str:
    """The prefix of a task: ``en-fr`` has "translate English to French: ", ``repair`` has "repair: "."""
    if task in PREFIXES:
        return PREFIXES[task]
    if task.startswith("repair"):
        return "repair: "
    source, target = task.split("-")
    return f"translate {LANGUAGES[source]} to {LANGUAGES[target]}: "


def corrupted(text: str, index: int) -> str:
    """The ``index``-th corruption of a text, a function of the index.

    The kind is uniform over the everyday noise of `core.language.noise`, the rate uniform from 0 to twice its default.
    """
    random = Random(index)
    kind = EVERYDAY[random.randrange(len(EVERYDAY))]
    rate = min(1.0, random.uniform(0.0, 2.0) * RATES[kind])
    return noisy(text, kind, rate, index)


def examples(task: str, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """(input without prefix, output) of a task from (English, other) or (French, German) pairs.

    The name of a repair task ends in the side it uses; it has each text once, by its `digest`.
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
        for first, second in pairs:
            yield (first, second) if task in ("en-fr", "en-de", "fr-de") else (second, first)


CONNECTIVES = ("but", "and", "because", "so", "when", "while", "although", "though", "until")
_OPENERS = (
    "he|she|it|they|we|I|you|there|this|these|those|the|a|an|his|her|my|our|your|their|its|no|nobody|nothing"
    "|everyone|everybody|all"
)
_CUT = re.compile(
    rf"^(?P<first>[A-Z][^,;:\"()]*?),? (?P<connective>{'|'.join(CONNECTIVES)}) "
    rf"(?P<second>(?:{_OPENERS}|[A-Z][a-z]+) [^,;:\"()]*[^,;:\"()\s])(?P<end>[.!?])$"
)
_ANYWHERE = re.compile(
    rf"^(?P<first>[A-Z][^;:\"()]*?),? (?P<connective>{'|'.join(CONNECTIVES)}) "
    r"(?P<second>[^,;:\"()][^;:\"()]*[^,;:\"()\s])(?P<end>[.!?])$"
)
_FALSE_START = re.compile(
    r"(?:After|And|As|At|Before|But|By|For|From|How|If|In|Into|Now|Nor|Of|On|Or|So|Than|Though|To|What|When|Where|While|Who"
    r"|With|Yet)\b"
)
_FALSE_END = re.compile(r"\b(?:as|so|such|even|just|only|than|and|or|that|except|ever)$", re.IGNORECASE)
LEAST_WORDS, MOST_WORDS = 3, 14


class Fusion(NamedTuple):
    """Two sentences, the sentence that they were split from, and its connective."""

    parts: str
    whole: str
    connective: str


def cut(sentence: str) -> Fusion | None:
    """The sentence split at its first connective; None where the rule does not apply."""
    match = _CUT.match(sentence)
    if match is None or _FALSE_START.match(match["first"]) or _FALSE_END.search(match["first"]):
        return None
    return _halves(match)


def split_anywhere(sentence: str) -> Fusion | None:
    """A sentence that the rule does not select, split at its first connective; None where there is none."""
    match = None if cut(sentence) else _ANYWHERE.match(sentence)
    return None if match is None else _halves(match)


def _halves(match: re.Match[str]) -> Fusion | None:
    first, second = match["first"], match["second"]
    words = len(first.split()), len(second.split())
    if min(words) < LEAST_WORDS or max(words) > MOST_WORDS:
        return None
    return Fusion(f"{first}. {second[0].upper()}{second[1:]}{match['end']}", match.string, match["connective"])


def fusions(sentences: Iterable[str], split: Callable[[str], Fusion | None] = cut) -> Iterator[Fusion]:
    """All sentences that can be split, in order."""
    return filter(None, map(split, sentences))


def connective(output: str, parts: str) -> str:
    """The connective of the output that is not in the two sentences; may be empty."""
    before = normalized(parts).split()
    for word in normalized(output).split():
        if word in before:
            before.remove(word)
        elif word in CONNECTIVES:
            return word
    return ""
