"""Search over systems, terms, demos, pages, corrections and live models in one inverted index.

Every entry has names and texts. An entry matches if each word of the query matches it; its score is the lowest of the
words' scores. Question words do not count; where nothing matches all others, those that match some are found. A whole
name scores higher than a prefix, a name higher than a text, and a misspelled name
(Damerau-Levenshtein similarity) between the two. The index is built once; a query takes milliseconds.

Entries are collected from the data that the pages show, each with its link: systems, terms, corrections and live models
from their own files; pages, demos and sections from their content files. Neither torch nor streamlit is imported.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from time import monotonic

from rapidfuzz.distance import OSA
from rapidfuzz.process import extract

from core import catalogue, checkpoints, links
from core.catalogue import glossary
from core.catalogue.corrections import corrections
from core.catalogue.questions import questions
from core.checkpoints.spec import CheckpointSpec
from core.content import content, names
from core.errors import AtlasError

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A text of an entry, with a heading and link of its own where it is shown elsewhere than the entry."""

    text: str
    heading: str = ""
    query: Query = ()
    keywords: str = ""
    """Further words that match it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A search entry: its kind, title, a line about it, its page and the query of its link."""

    kind: str
    title: str
    line: str
    page: str
    query: Query
    names: tuple[str, ...] = ()
    texts: tuple[IndexedText, ...] = ()
    named: bool = True
    """False where the title is a sentence, whose words count as those of a text."""


def models() -> tuple[CheckpointSpec, ...]:
    """The live models that have a page; none where the host's settings cannot be used."""
    try:
        return tuple(spec for spec in checkpoints.available() if spec.ready and links.exists(spec.branch))
    except AtlasError:
        return ()


def entries(ready: Iterable[CheckpointSpec] = ()) -> tuple[Entry, ...]:
    """All entries of an installation in which the models ``ready`` can run, systems first."""
    return (*_systems(), *_terms(), *_sections(), *map(_model, ready), *_results(), *_corrections())


def _systems() -> Iterator[Entry]:
    for system in catalogue.systems():
        facts: Query = (("system", system.slug), ("facts", "open"))
        sections = (("What it changed", system.change), ("Why", system.why))
        texts = [IndexedText(text, heading, facts) for heading, text in sections]
        texts += [IndexedText(statement.text, heading, facts) for heading, statement in system.statements()]
        texts += [IndexedText(f"{system.paper.title} {system.paper.authors} {system.organization}", "Paper", facts)]
        yield Entry(
            "System",
            system.name,
            f"{system.year}, {system.organization}. {system.change}",
            system.branch,
            (("system", system.slug),),
            (system.slug, *(checkpoint.short_name for checkpoint in system.hub)),
            tuple(texts),
        )


def _terms() -> Iterator[Entry]:
    for term in glossary.terms():
        yield Entry(
            "Term",
            term.name,
            term.text,
            "glossary",
            (("term", term.slug),),
            (*term.aliases, *term.also),
            (IndexedText(term.text),),
        )


def _sections() -> Iterator[Entry]:
    """Pages, sections and demos, from the ``[[search]]`` rows of their content files."""
    for folder, name in names():
        words = content(folder, name)
        for row in words.front.get("search", ()):
            page = row.get("page", folder)
            query = row.get("query", {} if name == "page" else {"tab": name})
            if links.exists(page):
                yield Entry(
                    row.get("kind", "Demo" if query else "Page"),
                    row.get("title", words.title),
                    row["line"],
                    page,
                    tuple((key, str(value)) for key, value in query.items()),
                    tuple(row.get("words", ())),
                    (IndexedText(row["line"]),),
                )


def _model(spec: CheckpointSpec) -> Entry:
    line = spec.card.summary if spec.card else spec.origin
    query = (*((("system", spec.system),) if spec.system else ()), ("model", spec.slug))
    return Entry("Model", spec.name, line, spec.branch, query, (spec.slug,), (IndexedText(line),))


def _results() -> Iterator[Entry]:
    """The questions that the results answer."""
    for question in questions():
        for case in question.cases:
            query = (("question", question.slug), ("case", case.slug))
            texts = (IndexedText(f"{case.title} {question.title}"), IndexedText(case.caveat))
            yield Entry(
                "Table", case.title, question.title, "catalogue", (("tab", "questions"), *query), (), texts, named=False
            )


def _corrections() -> Iterator[Entry]:
    for correction in corrections():
        yield Entry(
            "Correction",
            correction.claim,
            correction.finding,
            "glossary",
            (("tab", "corrections"), ("correction", correction.id)),
            (),
            (
                IndexedText(f"{correction.claim} {correction.printed} {' '.join(correction.names)}"),
                IndexedText(correction.finding),
            ),
            named=False,
        )


Matches = dict[int, tuple[float, int | None]]
"""Entries with their scores, and the number of the text that matches (None: a name)."""
MAX_QUERY = 100
"""Characters of a query that are used; the rest is ignored."""
_MOST_WORDS = 8
_FEW = 3
"""Entries that match all words; where there are fewer, those that match some follow."""
_FRESH_SECONDS = 30
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a about an and are as at be between by can compare compared did difference do does example "
        "explain for from has have how i in is it its many me mean means much my not of on or show than "
        "that the there this to used using versus vs was were what when where which who why with work "
        "works you",
    )
)
_WHOLE, _PREFIX, _INSIDE = 100.0, 90.0, 75.0
_IN_NAME, _PREFIX_IN_NAME, _MISSPELLED = 80.0, 70.0, 66.0
_IN_ALIAS = 0.93
_IN_TEXT, _PREFIX_IN_TEXT = 50.0, 42.0
_IN_PART = 0.4
_LEAST_SIMILARITY = 0.7
_KINDS = {kind: rank for rank, kind in enumerate(("System", "Term", "Demo", "Page", "Table", "Model", "Correction"))}


@dataclass(frozen=True, slots=True)
class Hit:
    """A matching entry. ``line`` describes it, or is the sentence that contains the words."""

    kind: str
    title: str
    line: str
    page: str
    query: tuple[tuple[str, str], ...]
    score: float


@dataclass(frozen=True, slots=True)
class _Index:
    entries: tuple[Entry, ...]
    joined_names: dict[str, set[int]]
    """Entries by a name without its spaces."""
    vocabulary: list[str]
    """All words, sorted, so that those with a common prefix are adjacent."""
    in_names: dict[str, dict[int, float]]
    """Entries by a word of their names, each with 1 for a name of one word, less for others."""
    in_texts: dict[str, dict[int, int]]
    """Entries by a word of their texts, each with the number of the first text that has it."""


def find(query: str, most: int = 8) -> tuple[Hit, ...]:
    """The ``most`` best matches of ``query``, or fewer; none for a query without a letter or digit.

    Never raises on a visitor's input; a query is truncated to ``MAX_QUERY`` characters.
    """
    words = _words(query[:MAX_QUERY])[:_MOST_WORDS]
    required = [word for word in words if word not in _STOP] or words
    if not required:
        return ()
    index = _index(_ready(int(monotonic() // _FRESH_SECONDS)))
    matches = [_matches(index, word) for word in required]
    scores = _all(matches) or _all([entries for entries in matches if entries])
    if len(scores) < _FEW:
        scores = _any(matches) | scores
    joined = "".join(words)
    for name, at in index.joined_names.items():
        score = _name_score(name, joined)
        for entry in at if score else ():
            if score > scores.get(entry, (0.0, None))[0]:
                scores[entry] = (score, None)
    order = sorted(scores, key=lambda at: (-scores[at][0], *_rank(index.entries[at])))
    return tuple(_hit(index.entries[at], *scores[at]) for at in order[:most])


def fitting(query: str, kind: str) -> list[str]:
    """The titles of all entries of a kind that match ``query``, the best first."""
    return [hit.title for hit in find(query, most=10_000) if hit.kind == kind]


def _all(matches: list[Matches]) -> Matches:
    """The entries that each word matches, with the lowest of the words' scores."""
    entries = set.intersection(*(set(scores) for scores in matches)) if matches else set()
    return {at: min((scores[at] for scores in matches), key=_first) for at in entries}


def _any(matches: list[Matches]) -> Matches:
    """The entries that some word matches, with the mean of the words' scores, below those that match all."""
    scores: Matches = {}
    for at in set().union(*matches):
        hits = [words[at] for words in matches if at in words]
        scores[at] = _IN_PART * sum(map(_first, hits)) / len(matches), max(hits, key=_first)[1]
    return scores


def _first(pair: tuple[float, int | None]) -> float:
    return pair[0]


def _rank(entry: Entry) -> tuple[int, int, str]:
    return _KINDS.get(entry.kind, len(_KINDS)), len(entry.title), entry.title


def _hit(entry: Entry, score: float, text: int | None) -> Hit:
    """The entry as a hit; a match in one of its texts links to where that text is shown."""
    if text is not None and entry.texts[text].heading:
        matched = entry.texts[text]
        return Hit(entry.kind, entry.title, f"{matched.heading}: {matched.text}", entry.page, matched.query, score)
    return Hit(entry.kind, entry.title, entry.line, entry.page, entry.query, score)


def _matches(index: _Index, word: str) -> Matches:
    """The score of ``word`` for each matching entry, and the number of the text that contains it (None: a name)."""
    best: Matches = {}

    def take(at: int, score: float, text: int | None = None) -> None:
        if score > best.get(at, (0.0, None))[0]:
            best[at] = (score, text)

    for candidate in _with_prefix(index.vocabulary, word):
        exact = candidate == word
        for at, weight in index.in_names.get(candidate, {}).items():
            take(at, weight * (_IN_NAME if exact else _PREFIX_IN_NAME))
        for at, text in index.in_texts.get(candidate, {}).items():
            take(at, _IN_TEXT if exact else _PREFIX_IN_TEXT, text)
    if len(word) >= 4 and not any(text is None for _, text in best.values()):
        alike = extract(
            word, index.in_names.keys(), scorer=OSA.normalized_similarity, score_cutoff=_LEAST_SIMILARITY, limit=6
        )
        for candidate, similarity, _ in alike:
            for at, weight in index.in_names[candidate].items():
                take(at, _MISSPELLED * similarity * weight)
    return best


def _with_prefix(vocabulary: list[str], word: str) -> list[str]:
    """The words of a sorted list that begin with ``word``; a single letter has to be the whole word."""
    low = bisect_left(vocabulary, word)
    high = low
    while high < len(vocabulary) and vocabulary[high].startswith(word):
        high += 1
    return [candidate for candidate in vocabulary[low:high] if len(word) > 1 or candidate == word]


def _name_score(name: str, joined: str) -> float:
    """The score of the query, its words joined, as the whole of a name, its prefix or a substring; 0 if it is none."""
    if name == joined:
        return _WHOLE
    longer = min(9.0, (len(name) - len(joined)) / 2)
    if len(joined) > 1 and name.startswith(joined):
        return _PREFIX - longer
    return _INSIDE - longer if len(joined) > 3 and joined in name else 0.0


@lru_cache(maxsize=2)
def _ready(tick: int) -> tuple[CheckpointSpec, ...]:
    """The models that can run, listed again at each ``tick``: listing reads the cards of all folders."""
    return models()


@lru_cache(maxsize=4)
def _index(ready: tuple[CheckpointSpec, ...]) -> _Index:
    """The index of an installation in which these models can run."""
    all_entries = _with_terms(entries(ready))
    joined_names: dict[str, set[int]] = defaultdict(set)
    in_names: dict[str, dict[int, float]] = defaultdict(dict)
    in_texts: dict[str, dict[int, int]] = defaultdict(dict)
    for at, entry in enumerate(all_entries):
        for name in (*entry.names, entry.title) if entry.named else entry.names:
            words = _words(name)
            joined_names["".join(words)].add(at)
            for word in words:
                weight = 1.0 if len(words) == 1 else 0.97
                in_names[word][at] = max(
                    weight * (1.0 if name == entry.title else _IN_ALIAS), in_names[word].get(at, 0)
                )
        for number, text in enumerate(entry.texts):
            for word in _words(f"{text.text} {text.keywords}"):
                in_texts[word].setdefault(at, number)
    return _Index(
        all_entries, dict(joined_names), sorted(in_names.keys() | in_texts.keys()), dict(in_names), dict(in_texts)
    )


def _with_terms(all_entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The same; systems' texts also match aliases of their terms: ``sop`` finds sentence-order prediction."""
    aliases = {
        f" {' '.join(_words(name))} ": " ".join((entry.title, *entry.names))
        for entry in all_entries
        if entry.kind == "Term"
        for name in (entry.title, *entry.names)
        if len(name) > 2
    }

    def with_aliases(text: IndexedText) -> IndexedText:
        bare = f" {' '.join(_words(text.text))} "
        return replace(text, keywords=" ".join(names for name, names in aliases.items() if name in bare))

    return tuple(
        replace(entry, texts=tuple(map(with_aliases, entry.texts))) if entry.kind == "System" else entry
        for entry in all_entries
    )


def _words(text: str) -> list[str]:
    """The words of a text in lower case, without accents and punctuation."""
    bare = unicodedata.normalize("NFKD", text.casefold())
    return re.findall(r"[^\W_]+", "".join(letter for letter in bare if not unicodedata.combining(letter)))
