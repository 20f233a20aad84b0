r"""Cleaning of a corpus: C4's rules, and deduplication.

C4's rules are for text scraped from web pages (T5: Raffel et al., 2019, arXiv 1910.10683, section 2.2). A line stays if
it ends in a terminal punctuation mark and has five words at least, and if it has neither the word Javascript nor a
policy notice; citation markers are cut out of it. A page is removed if it has a word of a list, “lorem ipsum” or a
curly bracket, or if fewer than three sentences are left. Of a span of three sentences that occurs more than once, all
but the first occurrence go. C4 also removes pages that a language detector does not call English, which is left out
here.

Repeats are found exactly by a suffix array, near-duplicates by MinHash (Lee et al. 2021, arXiv 2107.06499).

**Exact.** The suffixes of the corpus, sorted by their first k tokens by prefix doubling: the rank of :math:`2^{j+1}`
tokens follows from two ranks of :math:`2^j`. Equal neighbors in that order are repeats of at least k tokens; all but
the first occurrence would be removed. The paper takes k = 50.

**Near.** Two documents are as similar as their sets of n-grams A and B overlap. MinHash keeps the smallest of the
hashes of all n-grams under each of m permutations; two documents share it with probability J, so the share of equal
minima estimates J. b bands of r minima find a pair as a candidate with probability :math:`1 - (1 - J^r)^b`.

.. math:: J = \frac{|A \cap B|}{|A \cup B|} \qquad S = 1 - \frac{\text{edit distance}}{\max(|x|, |y|)}

A candidate is a near-duplicate if both J and the edit similarity S of its tokens reach 0.8. Clusters are what such
pairs connect; all but the first document of each would be removed.

Here a token is a word or a punctuation mark, in lower case for n-grams. The paper: BPE tokens, 5-grams, 9,000 minima in
450 bands of 20.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import InputEmpty, InputTooLong, OutOfRange
from core.language.text import sentences
from core.settings import raised_with, settings
from core.turns import turns
from core.words import WORDS as TOKENS

WORDS, SENTENCES, SPAN = 5, 3, 3
"""Words of a line, sentences of a page, and sentences of a repeated span."""
MOST = 20_000
"""Characters."""
_POLICY = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
_MARKER = re.compile(r"\s*\[(?:\d+|citation needed|edit)\]", re.IGNORECASE)
_END = (".", "!", "?", '"', "”")
Fate = Literal[
    "kept", "punctuation", "words", "javascript", "policy", "list", "lorem", "bracket", "sentences", "repeated"
]
FATES: tuple[Fate, ...] = (
    *("kept", "punctuation", "words", "javascript", "policy", "list", "lorem", "bracket", "sentences", "repeated"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line and what became of it."""

    page: int
    """From 1."""
    text: str
    fate: Fate
    cleaned: str
    """Without citation markers."""


def clean(
    text: str, banned: Sequence[str] = (), least_words: int = WORDS, least_sentences: int = SENTENCES
) -> tuple[Line, ...]:
    """The lines of pages that empty lines separate; ``banned`` words remove a page.

    Raises:
        InputEmpty, InputTooLong: no text, or too much.
    """
    if len(text) > MOST:
        raise InputTooLong(f"This text has {len(text):,} characters; at most {MOST:,} are cleaned here.")
    pages = [page for page in re.split(r"\n\s*\n", text) if page.strip()]
    if not pages:
        raise InputEmpty(
            "There is no text to clean. Paste the text of a web page, or of several with empty lines between."
        )
    seen: set[tuple[str, ...]] = set()
    found: list[Line] = []
    for number, page in enumerate(pages, 1):
        own = [_line(number, line.strip(), least_words) for line in page.split("\n") if line.strip()]
        fate = _page_fate(page, own, banned, least_sentences)
        if fate is None:
            own = _without_repeats(own, seen)
        found += [Line(number, line.text, fate, line.cleaned) if fate and line.fate == "kept" else line for line in own]
    return tuple(found)


def _line(page: int, text: str, least: int) -> Line:
    cleaned = _MARKER.sub("", text)
    lower = cleaned.lower()
    fate: Fate = "kept"
    if not cleaned.endswith(_END):
        fate = "punctuation"
    elif len(cleaned.split()) < least:
        fate = "words"
    elif "javascript" in lower:
        fate = "javascript"
    elif any(notice in lower for notice in _POLICY):
        fate = "policy"
    return Line(page, text, fate, cleaned)


def _page_fate(page: str, lines: Sequence[Line], banned: Sequence[str], least: int) -> Fate | None:
    """What removes the whole page, if anything does."""
    lower = page.lower()
    if set(TOKENS.findall(lower)) & {word.lower() for word in banned}:
        return "list"
    if "lorem ipsum" in lower:
        return "lorem"
    if "{" in page or "}" in page:
        return "bracket"
    left = sum(len(sentences(line.cleaned)) for line in lines if line.fate == "kept")
    return "sentences" if left < least else None


def _without_repeats(lines: Sequence[Line], seen: set[tuple[str, ...]]) -> list[Line]:
    """Lines whose sentences all lie in spans that were ``seen`` before go; the page's own spans are added."""
    owners = [(at, one) for at, line in enumerate(lines) if line.fate == "kept" for one in sentences(line.cleaned)]
    spans = [tuple(one.lower() for _, one in owners[start : start + SPAN]) for start in range(len(owners) - SPAN + 1)]
    repeated: set[int] = set()
    for start, span in enumerate(spans):
        if span in seen:
            repeated.update(range(start, start + SPAN))
        seen.add(span)
    stays = {at for number, (at, _) in enumerate(owners) if number not in repeated}
    return [
        Line(line.page, line.text, "repeated", line.cleaned) if line.fate == "kept" and at not in stays else line
        for at, line in enumerate(lines)
    ]


NGRAM, JACCARD, EDIT, LENGTH = 5, 0.8, 0.8, 50
"""The paper's n-grams, thresholds, and tokens of an exact repeat."""
BANDS, MINIMA = 50, 4
"""Bands, and minima in each: nearly all pairs at J = 0.8 are candidates, 96% of those at J = 0.5."""
MAX_PAIRS = 20_000
UNITS = {"paragraph": "Paragraphs", "line": "Lines"}
_SPLIT = {"paragraph": re.compile(r"\n\s*\n"), "line": re.compile(r"\n")}


@dataclass(frozen=True, slots=True)
class Repeat:
    """A longest run of tokens that occurred before."""

    text: str
    tokens: int
    start: int
    """The character where it starts."""
    end: int


@dataclass(frozen=True, slots=True)
class Exact:
    """Exact repeats of a corpus."""

    tokens: int
    removed: int
    """Tokens in later occurrences."""
    repeats: tuple[Repeat, ...]
    """Longest first."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents that the bands found, with the estimate and the truth."""

    first: int
    second: int
    estimate: float
    jaccard: float
    edit: float


@dataclass(frozen=True, slots=True)
class Near:
    """Near-duplicates of a corpus; documents count from 0."""

    documents: tuple[str, ...]
    pairs: tuple[Pair, ...]
    """All candidates."""
    clusters: tuple[tuple[int, ...], ...]
    """Documents that near-duplicate pairs connect, largest first."""
    unseen: int
    """Documents shorter than an n-gram, which are not compared."""

    @property
    def removed(self) -> tuple[int, ...]:
        """All but the first document of each cluster."""
        return tuple(sorted(document for cluster in self.clusters for document in cluster[1:]))


def decoded(data: bytes) -> str:
    """The text of an uploaded file.

    Raises:
        InputTooLong: more than the setting allows.
        OutOfRange: not UTF-8 text.
    """
    limit = settings().max_corpus_kb
    if len(data) > 1000 * limit:
        raise InputTooLong(
            f"This file has {len(data):,} bytes; at most {1000 * limit:,} work. {raised_with('max_corpus_kb')}"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise OutOfRange("This file is not UTF-8 text. Save it as plain text in UTF-8.") from None


def _ranks(ids: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """The rank of the ``length`` tokens from each position, equal for equal ones, by prefix doubling."""
    ranks, known = ids, 1
    while known < length:
        step = min(known, length - known)  # the two halves may overlap
        turns.step()
        both = np.stack([ranks[: len(ranks) - step], ranks[step:]])
        key = both[0] * (int(ranks.max()) + 1) + both[1]
        ranks = np.unique(key, return_inverse=True)[1].astype(np.int64)
        known += step
    return ranks


def exact(text: str, length: int = LENGTH) -> Exact:
    """Repeats of at least ``length`` tokens.

    Raises:
        InputEmpty: no tokens.
    """
    found = list(TOKENS.finditer(text))
    if not found:
        raise InputEmpty("There is no text to read. Type some, or upload a file.")
    ids = np.unique([match[0] for match in found], return_inverse=True)[1].astype(np.int64)
    if len(ids) < 2 * length:
        return Exact(len(ids), 0, ())
    ranks = _ranks(ids, length)
    order = np.argsort(ranks, kind="stable")  # the suffix array, up to the first `length` tokens
    later = np.zeros(len(ids) + 1, dtype=np.int64)  # +1 and -1 where spans of later occurrences start and end
    for here in order[1:][ranks[order[1:]] == ranks[order[:-1]]]:
        later[here] += 1
        later[here + length] -= 1
    covered = np.concatenate([[0], (np.cumsum(later[:-1]) > 0).astype(np.int64), [0]])
    edges = np.flatnonzero(np.diff(covered))
    repeats = []
    for first, last in edges.reshape(-1, 2).tolist():
        start, end = found[first].start(), found[last - 1].end()
        repeats.append(Repeat(text[start:end], last - first, start, end))
    return Exact(len(ids), int(covered.sum()), tuple(sorted(repeats, key=lambda one: -one.tokens)))


def near(text: str, unit: str = "paragraph", ngram: int = NGRAM, jaccard: float = JACCARD, edit: float = EDIT) -> Near:
    """Near-duplicates among the paragraphs or lines of a text.

    Raises:
        InputEmpty: fewer than two documents.
        OutOfRange: more than `MAX_PAIRS` candidates.
    """
    from datasketch import MinHash
    from rapidfuzz.distance import Levenshtein

    documents = tuple(part.strip() for part in _SPLIT[unit].split(text) if part.strip())
    if len(documents) < 2:
        raise InputEmpty(f"There is only one document. Separate {unit}s by {_BREAKS[unit]}, or choose other units.")
    tokens = [TOKENS.findall(document.lower()) for document in documents]
    grams = [frozenset(zip(*(words[i:] for i in range(ngram)), strict=False)) for words in tokens]
    minima: dict[int, NDArray[np.uint64]] = {}
    first = MinHash(num_perm=BANDS * MINIMA)
    bands: dict[tuple[int, bytes], list[int]] = {}
    for index, own in enumerate(grams):
        if not own:
            continue
        turns.step()
        sketch = first.copy()
        sketch.update_batch([" ".join(gram).encode() for gram in own])
        minima[index] = np.asarray(sketch.hashvalues)
        for band in range(BANDS):
            part = minima[index][band * MINIMA : (band + 1) * MINIMA]
            bands.setdefault((band, part.tobytes()), []).append(index)
    # pairs with the first of a band and with the one before connect all that would be connected by all pairs
    candidates: set[tuple[int, int]] = set()
    for group in bands.values():
        candidates.update((group[0], other) for other in group[1:])
        candidates.update(pairwise(group))
    if len(candidates) > MAX_PAIRS:
        raise OutOfRange(
            f"{len(candidates):,} pairs would have to be compared; at most {MAX_PAIRS:,} work. "
            "Choose longer n-grams, or a smaller file."
        )
    pairs = []
    for a, b in sorted(candidates):
        turns.step()
        true = len(grams[a] & grams[b]) / len(grams[a] | grams[b])
        similarity = Levenshtein.normalized_similarity(tokens[a], tokens[b])
        pairs.append(Pair(a, b, float(np.mean(minima[a] == minima[b])), true, similarity))
    near_pairs = [(pair.first, pair.second) for pair in pairs if pair.jaccard >= jaccard and pair.edit >= edit]
    return Near(documents, tuple(pairs), _connected(near_pairs), len(documents) - len(minima))


_BREAKS = {"paragraph": "an empty line", "line": "line breaks"}


def _connected(pairs: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The groups that the pairs connect, each sorted; largest first, then by its first member."""
    from scipy.cluster.hierarchy import DisjointSet

    groups = DisjointSet(member for pair in pairs for member in pair)
    for pair in pairs:
        groups.merge(*pair)
    return tuple(
        sorted((tuple(sorted(group)) for group in groups.subsets()), key=lambda group: (-len(group), group[0]))
    )


def found_with(similarity: float) -> float:
    """The probability that the bands make a pair of this Jaccard similarity a candidate."""
    return float(1 - (1 - similarity**MINIMA) ** BANDS)
