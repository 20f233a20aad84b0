"""Sentence fusion made from whole sentences: a sentence of two clauses is cut at its connective, to be joined again.

    It rained, but we went out.   ->   It rained. We went out.

The cut takes away the connective and a comma before it, and gives both halves the shape of sentences; what was cut is
what a model has to find. Only sentences that a simple rule cuts cleanly are used: each half has three to fourteen
words, the first begins like a clause and not with a preposition or a conjunction, the second too, and no other comma
and no quotation is in the way. The rule knows no grammar: here and there a half is no sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

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
    found = _CUT.match(sentence)
    if found is None:
        return None
    first, second = found["first"], found["second"]
    words = len(first.split()), len(second.split())
    if min(words) < LEAST_WORDS or max(words) > MOST_WORDS or _FALSE_START.match(first) or _FALSE_END.search(first):
        return None
    return Fusion(f"{first}. {second[0].upper()}{second[1:]}{found['end']}", sentence, found["connective"])


def fusions(sentences: Iterable[str]) -> Iterator[Fusion]:
    """All sentences that can be cut, in order."""
    for sentence in sentences:
        made = cut(sentence)
        if made is not None:
            yield made
