r"""English tasks as pairs of texts, which T5 is trained on beside translation and repair (Raffel et al., 2020).

=============  ============================================  =========================================================
task           input after the prefix                        output
=============  ============================================  =========================================================
spans          a text with sentinels for spans of words      the sentinels with their words; without a prefix, as in T5
sentiment      an opinion                                    ``positive``, ``negative``
acceptability  a sentence, damaged or not                    ``acceptable``, ``unacceptable``
similarity     a sentence `SECOND` another sentence          a number from 0.0 to 5.0 in steps of 0.2, as STS-B in T5
question       a sentence without its final mark             ``question``, ``statement``
summary        a paragraph without its first sentence        its first sentence, which says what its topic is
=============  ============================================  =========================================================

Nobody judged the sentences; labels follow from rules. A damaged sentence has random word order, or noise of `DAMAGES`
at twice the default rate; it may be correct by chance. The similarity of two sentences A and B is that of their
translations a and b, of which the two most similar in one language count,

.. math:: s(A, B) = 5 \max_{a, b} \frac{|W_a \cap W_b|}{|W_a \cup W_b|},

the Jaccard similarity of their sets of words :math:`W`. So two sentences with the same translation have 5.0 even if
they share no word.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from itertools import groupby, product
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from core.arrays import Bools
from core.language.noise import RATES, Noise, noisy
from core.objectives.sentinels import noise_mask
from lab import corpus as texts
from lab.parallel import Pair, rows
from lab.recipe import SourceFile

SECOND = " second: "
MARKS = [f"<extra_id_{number}>" for number in range(16)]
"""Sentinels in the vocabulary: 90 words need 6."""
DAMAGES: tuple[Noise, ...] = ("order", "letters", "spaces")
LEAST_WORDS, MOST_WORDS = 4, 90
STATEMENTS = 0.2
TRIED = 4
"""Sentences of each kind that are candidates for a pair."""
SUMMARIZED = 60
"""Words of a paragraph that are summarized."""
TOPIC = re.compile(r"(?:[\w'’-]+ ){0,5}[\w'’-]+(?: \([^)]*\))?,? (?:is|was|are|were) (?:an?|the|one)\b[^;]{20,200}$")
"""A first sentence that says what something is, as articles of an encyclopedia begin."""


def pairs(folder: Path, source: SourceFile, *, every: int, held_out: bool) -> Iterator[Pair]:
    """(input without prefix, output) of the task of a source, of one side of the split."""
    if source.task == "similarity":
        return similar(folder, every=every, held_out=held_out)
    items = texts.items_of(folder, source, every=every)
    if source.task == "sentiment":  # of these pairs, the second side is the text
        return ((item.other, item.text) for item in items if texts.held_out(item.other, every) == held_out)
    side_texts = (item.text for item in items if item.held_out == held_out)
    make = MAKE[source.task]
    return (pair for number, text in enumerate(side_texts) for pair in make(text, number))


def spans(text: str, number: int) -> Iterator[Pair]:
    """Span corruption (`core.objectives.sentinels`) over words, rotated, so that a single span can be anywhere."""
    words = text.split()
    if LEAST_WORDS <= len(words) <= MOST_WORDS:
        rng = np.random.default_rng(number)
        yield corrupted(words, np.roll(noise_mask(len(words), rng), rng.integers(len(words))))


def corrupted(words: Sequence[str], removed: Bools) -> Pair:
    """Input and output of span corruption, from words and whether each is removed."""
    left: list[str] = []
    marks = iter(MARKS)
    right = [next(marks)]
    for gone, run in groupby(zip(words, removed, strict=True), key=itemgetter(1)):
        part = [word for word, _ in run]
        if gone:
            left.append(right[-1])
            right += [*part, next(marks)]
        else:
            left += part
    return " ".join(left), " ".join(right)


def acceptability(text: str, number: int) -> Iterator[Pair]:
    """Half of the sentences, damaged."""
    random = Random(number)
    if len(text.split()) < LEAST_WORDS:
        return
    if random.random() < 0.5:
        yield text, "acceptable"
    else:
        yield damaged(text, random), "unacceptable"


def damaged(text: str, random: Random) -> str:
    """A sentence in random word order or with noise, other than it was."""
    kind = random.choice((None, *DAMAGES))
    new = text
    while new == text:
        if kind:
            new = noisy(text, kind, 2 * RATES[kind], random.randrange(1 << 32))
        else:
            words = text.split()
            new = " ".join(random.sample(words, len(words)))
    return new


def question(text: str, number: int) -> Iterator[Pair]:
    """Questions, and the share `STATEMENTS` of the statements, so that the two are about as many."""
    if text.endswith("?"):
        yield text.rstrip("? "), "question"
    elif text.endswith(".") and Random(number).random() < STATEMENTS:
        yield text.rstrip(". "), "statement"


def summary(text: str, number: int) -> Iterator[Pair]:
    """The beginning of a paragraph, whose first sentence is a `TOPIC`."""
    first, *others = texts.sentences(text)
    words = " ".join(others).split()[:SUMMARIZED]
    if TOPIC.match(first) and len(words) > SUMMARIZED // 3:
        yield " ".join(words), first


MAKE: dict[str, Callable[[str, int], Iterator[Pair]]] = {
    "spans": spans,
    "acceptability": acceptability,
    "question": question,
    "summary": summary,
}


Translation = tuple[str, frozenset[str]]
"""The language of a translation, and its words."""


def similarity(first: Collection[Translation], second: Collection[Translation]) -> float:
    """Of two sentences with these translations, from 0 to 5."""
    return 5 * max((len(a & b) / len(a | b) for (x, a), (y, b) in product(first, second) if x == y), default=0.0)


def similar(folder: Path, *, every: int, held_out: bool) -> Iterator[Pair]:
    """Each sentence of one side of the split with another, which is not held out.

    The other one is the one of several (with the same translation, with a rare word of it, or any; `TRIED` each) whose
    similarity is closest to a number sampled uniformly, so that all numbers occur.
    """
    random, out = Random(7), cache(lambda text: texts.held_out(text, every))
    translations: defaultdict[str, list[Translation]] = defaultdict(list)
    by_word: defaultdict[Any, list[str]] = defaultdict(list)
    for language in ("en-fr", "en-de"):
        for text, other in rows(folder, language):
            words = frozenset(texts.normalized(other).split())
            translations[text].append((language, words))
            if not out(text):
                for key in (words, *words):
                    by_word[language, key].append(text)
    every_text = [text for text in translations if not out(text)]
    for text in (text for text in translations if out(text) == held_out):
        language, words = random.choice(translations[text])
        rare = sorted(words, key=lambda word: (len(by_word[language, word]), word))[:3]
        near = [by_word[language, key] for key in (words, *rare)]
        tried = {pick for among in (*near, every_text) if among for pick in random.choices(among, k=TRIED)}
        wanted, text_translations = random.uniform(0, 5), translations[text]
        scored = [(similarity(text_translations, translations[pick]), pick) for pick in tried if pick != text]
        score, other = min(scored, key=lambda pair: (abs(pair[0] - wanted), pair))
        yield SECOND.join(random.sample((text, other), 2)), f"{round(5 * score) / 5:.1f}"
