"""Finding a place of the app by a word: systems, terms, demos, pages, corrections and live models in one index.

Every entry has names, by which it is meant, and texts, in which a word may stand. A query is cut into words; an entry
counts only if each of them fits it, and its score is that of the word which fits worst: a whole name is worth more than
a beginning, a name more than a text, and a misspelt name (Damerau-Levenshtein similarity) less than all of these. The
index is built once; a query looks words up in a sorted list and takes milliseconds. Neither torch nor streamlit here.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache
from time import monotonic

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from core.checkpoints.spec import CheckpointSpec
from core.places import Entry, Text, entries, models

MAX_QUERY = 100
"""Characters of a query that are looked at."""
_MOST_WORDS = 8
_FRESH_SECONDS = 30
_STOP = frozenset(
    re.findall(r"\w+", "a an and are as at by for from how in is it of on or the to what where which who why with")
)
_WHOLE, _BEGINNING, _INSIDE = 100.0, 90.0, 75.0
_IN_NAME, _BEGINS_IN_NAME, _SPELT = 80.0, 70.0, 66.0
_IN_ALIAS = 0.93
_IN_TEXT, _BEGINS_IN_TEXT = 50.0, 42.0
_LEAST_ALIKE = 0.7
_KINDS = {kind: place for place, kind in enumerate(("System", "Term", "Demo", "Page", "Table", "Model", "Correction"))}


@dataclass(frozen=True, slots=True)
class Hit:
    """An entry that fits. ``line`` tells what it is, or the sentence in which the words were found."""

    kind: str
    title: str
    line: str
    page: str
    query: tuple[tuple[str, str], ...]
    score: float


@dataclass(frozen=True, slots=True)
class _Index:
    entries: tuple[Entry, ...]
    whole: dict[str, set[int]]
    """Entries by a name without its blanks."""
    vocabulary: list[str]
    """All words, sorted, so that those with one beginning stand together."""
    in_names: dict[str, dict[int, float]]
    """Entries by a word of their names, each with 1 for a name of one word, less for others."""
    in_texts: dict[str, dict[int, int]]
    """Entries by a word of their texts, each with the number of the first text that has it."""


def find(query: str, most: int = 8) -> tuple[Hit, ...]:
    """The entries that fit ``query`` best, at most ``most``; none for a query without a letter or digit.

    Never raises on a visitor's input; what is longer than ``MAX_QUERY`` characters is cut.
    """
    words = _words(query[:MAX_QUERY])[:_MOST_WORDS]
    wanted = [word for word in words if word not in _STOP] or words
    if not wanted:
        return ()
    index = _index(_ready(int(monotonic() // _FRESH_SECONDS)))
    scores: dict[int, tuple[float, int | None]] = {}
    for number, found in enumerate(map(_matches, [index] * len(wanted), wanted)):
        if number == 0:
            scores = found
        else:
            scores = {at: min(scores[at], found[at], key=_first) for at in scores.keys() & found.keys()}
    joined = "".join(words)
    for name, at in index.whole.items():
        score = _as_a_whole(name, joined)
        for entry in at if score else ():
            if score > scores.get(entry, (0.0, None))[0]:
                scores[entry] = (score, None)
    order = sorted(scores, key=lambda at: (-scores[at][0], *_rank(index.entries[at])))
    return tuple(_hit(index.entries[at], *scores[at]) for at in order[:most])


def fitting(query: str, kind: str) -> list[str]:
    """The titles of all entries of a kind that fit ``query``, the best first."""
    return [hit.title for hit in find(query, most=10_000) if hit.kind == kind]


def _first(pair: tuple[float, int | None]) -> float:
    return pair[0]


def _rank(entry: Entry) -> tuple[int, int, str]:
    return _KINDS.get(entry.kind, len(_KINDS)), len(entry.title), entry.title


def _hit(entry: Entry, score: float, text: int | None) -> Hit:
    """The entry as an answer; found in one of its texts, it leads to where that text stands."""
    if text is not None and entry.texts[text].heading:
        shown = entry.texts[text]
        return Hit(entry.kind, entry.title, f"{shown.heading}: {shown.text}", entry.page, shown.query, score)
    return Hit(entry.kind, entry.title, entry.line, entry.page, entry.query, score)


def _matches(index: _Index, word: str) -> dict[int, tuple[float, int | None]]:
    """What ``word`` is worth for each entry that it fits, and in which of its texts it stands (None: in a name)."""
    best: dict[int, tuple[float, int | None]] = {}

    def take(at: int, score: float, text: int | None = None) -> None:
        if score > best.get(at, (0.0, None))[0]:
            best[at] = (score, text)

    for known in _starting(index.vocabulary, word):
        whole = known == word
        for at, weight in index.in_names.get(known, {}).items():
            take(at, weight * (_IN_NAME if whole else _BEGINS_IN_NAME))
        for at, text in index.in_texts.get(known, {}).items():
            take(at, _IN_TEXT if whole else _BEGINS_IN_TEXT, text)
    if len(word) >= 4 and not any(text is None for _, text in best.values()):
        alike = extract(
            word, index.in_names.keys(), scorer=OSA.normalized_similarity, score_cutoff=_LEAST_ALIKE, limit=6
        )
        for known, similarity, _ in alike:
            for at, weight in index.in_names[known].items():
                take(at, _SPELT * similarity * weight)
    return best


def _starting(vocabulary: list[str], word: str) -> list[str]:
    """The words of a sorted list that begin with ``word``; a single letter has to be the whole word."""
    low = bisect_left(vocabulary, word)
    high = low
    while high < len(vocabulary) and vocabulary[high].startswith(word):
        high += 1
    return [known for known in vocabulary[low:high] if len(word) > 1 or known == word]


def _as_a_whole(name: str, joined: str) -> float:
    """What the query, its words joined, is worth for a name: the whole, its beginning, or a part of it; 0 if none."""
    if name == joined:
        return _WHOLE
    longer = min(9.0, (len(name) - len(joined)) / 2)
    if len(joined) > 1 and name.startswith(joined):
        return _BEGINNING - longer
    return _INSIDE - longer if len(joined) > 3 and joined in name else 0.0


@lru_cache(maxsize=2)
def _ready(tick: int) -> tuple[CheckpointSpec, ...]:
    """The models that can run, looked up anew with each ``tick``: finding them reads the cards of all folders."""
    return models()


@lru_cache(maxsize=4)
def _index(ready: tuple[CheckpointSpec, ...]) -> _Index:
    """The index of an installation in which these models can run."""
    found = _with_terms(entries(ready))
    whole: dict[str, set[int]] = defaultdict(set)
    in_names: dict[str, dict[int, float]] = defaultdict(dict)
    in_texts: dict[str, dict[int, int]] = defaultdict(dict)
    for at, entry in enumerate(found):
        for name in (*entry.names, entry.title) if entry.named else entry.names:
            words = _words(name)
            whole["".join(words)].add(at)
            for word in words:
                weight = 1.0 if len(words) == 1 else 0.97
                in_names[word][at] = max(
                    weight * (1.0 if name == entry.title else _IN_ALIAS), in_names[word].get(at, 0)
                )
        for number, text in enumerate(entry.texts):
            for word in _words(f"{text.text} {text.hidden}"):
                in_texts[word].setdefault(at, number)
    return _Index(found, dict(whole), sorted(in_names.keys() | in_texts.keys()), dict(in_names), dict(in_texts))


def _with_terms(found: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The same, systems' texts with the other names of the terms in them: ``sop`` finds sentence-order prediction."""
    known = {
        f" {' '.join(_words(name))} ": " ".join((entry.title, *entry.names))
        for entry in found
        if entry.kind == "Term"
        for name in (entry.title, *entry.names)
        if len(name) > 2
    }

    def more(text: Text) -> Text:
        bare = f" {' '.join(_words(text.text))} "
        return replace(text, hidden=" ".join(names for name, names in known.items() if name in bare))

    return tuple(
        replace(entry, texts=tuple(map(more, entry.texts))) if entry.kind == "System" else entry for entry in found
    )


def _words(text: str) -> list[str]:
    """The words of a text without accents and signs, in lower case."""
    bare = unicodedata.normalize("NFKD", text.casefold())
    return re.findall(r"[^\W_]+", "".join(sign for sign in bare if not unicodedata.combining(sign)))
