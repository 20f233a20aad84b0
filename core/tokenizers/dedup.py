r"""Deduplication of a corpus: exact repeats and near-duplicates.

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
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.errors import InputEmpty, InputTooLong, OutOfRange
from core.settings import raised_with, settings
from core.turns import turns
from core.words import WORDS as TOKENS

if TYPE_CHECKING:
    from datasketch import MinHash

NGRAM, JACCARD, EDIT, LENGTH = 5, 0.8, 0.8, 50
"""The paper's n-grams, thresholds, and tokens of an exact repeat."""
BANDS, MINIMA = 50, 4
"""Bands, and minima in each: nearly all pairs at J = 0.8 are candidates, 96% of those at J = 0.5."""
MAX_PAIRS = 20_000
MAX_DOCUMENTS = 50_000
MAX_LENGTH = 20_000
"""Tokens of a document: comparing two of them takes a tenth of a second."""
MAX_CELLS = 30_000_000_000
"""Pairs of tokens in all comparisons: some ten seconds."""
TOKENS_PER_KB = 250
"""The most tokens of a kilobyte of text; an English one has about 200."""
_STEP = 1_000
"""Tokens or n-grams between two steps."""
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


@dataclass(frozen=True, slots=True)
class _Words:
    """The tokens of a text, each by its number among the different ones: a few bytes for each."""

    names: tuple[str, ...]
    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    """The character where each starts."""


def _words(text: str) -> _Words:
    """Raises :class:`InputTooLong` for more tokens than a corpus of the largest size has."""
    most = TOKENS_PER_KB * settings().max_corpus_kb
    names: dict[str, int] = {}
    ids, starts = array("q"), array("q")
    for number, match in enumerate(TOKENS.finditer(text)):
        if number == most:
            raise InputTooLong(
                f"This text has more than {most:,} words and punctuation marks. Choose a smaller file. "
                f"{raised_with('max_corpus_kb')}"
            )
        if number % _STEP == 0:
            turns.step()
        ids.append(names.setdefault(match[0], len(names)))
        starts.append(match.start())
    return _Words(tuple(names), np.frombuffer(ids, dtype=np.int64), np.frombuffer(starts, dtype=np.int64))


def _ranks(ids: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """The rank of the ``length`` tokens from each position, equal for equal ones, by prefix doubling."""
    ranks, compared = ids, 1
    while compared < length:
        step = min(compared, length - compared)  # the two halves may overlap
        turns.step()
        key = ranks[: len(ranks) - step] * (int(ranks.max()) + 1) + ranks[step:]
        ranks = np.unique(key, return_inverse=True)[1].astype(np.int64)
        compared += step
    return ranks


def exact(text: str, length: int = LENGTH) -> Exact:
    """Repeats of at least ``length`` tokens.

    Raises:
        InputEmpty: no tokens.
        InputTooLong: too many.
    """
    words = _words(text)
    ids, starts = words.ids, words.starts
    if not len(ids):
        raise InputEmpty("There is no text to read. Type some, or upload a file.")
    if len(ids) < 2 * length:
        return Exact(len(ids), 0, ())
    ranks = _ranks(ids, length)
    order = np.argsort(ranks, kind="stable")  # the suffix array, up to the first `length` tokens
    later = order[1:][ranks[order[1:]] == ranks[order[:-1]]]
    bounds = np.zeros(len(ids) + 1, dtype=np.int64)  # +1 and -1 where spans of later occurrences start and end
    bounds[later] += 1
    bounds[later + length] -= 1
    covered = np.concatenate([[0], (np.cumsum(bounds[:-1]) > 0).astype(np.int64), [0]])
    edges = np.flatnonzero(np.diff(covered))
    repeats = []
    for first, last in edges.reshape(-1, 2).tolist():
        start, end = int(starts[first]), int(starts[last - 1]) + len(words.names[ids[last - 1]])
        repeats.append(Repeat(text[start:end], last - first, start, end))
    return Exact(len(ids), int(covered.sum()), tuple(sorted(repeats, key=lambda repeat: -repeat.tokens)))


def near(text: str, unit: str = "paragraph", ngram: int = NGRAM, jaccard: float = JACCARD, edit: float = EDIT) -> Near:
    """Near-duplicates among the paragraphs or lines of a text.

    Raises:
        InputEmpty: fewer than two documents.
        InputTooLong: too many tokens.
        OutOfRange: too many documents, too long ones, or too many candidates.
    """
    from rapidfuzz.distance import Levenshtein

    documents = tuple(part.strip() for part in _SPLIT[unit].split(text) if part.strip())
    if len(documents) < 2:
        raise InputEmpty(f"There is only one document. Separate {unit}s by {_BREAKS[unit]}, or choose other units.")
    if len(documents) > MAX_DOCUMENTS:
        raise OutOfRange(f"There are {len(documents):,} {unit}s; at most {MAX_DOCUMENTS:,} are compared.")
    words = _words("\n".join(documents).lower())
    bounds = np.searchsorted(words.starts, np.cumsum([0] + [len(document.lower()) + 1 for document in documents]))
    if (longest := int(np.diff(bounds).max())) > MAX_LENGTH:
        raise OutOfRange(
            f"A {unit} has {longest:,} words and punctuation marks; {unit}s of at most {MAX_LENGTH:,} are compared."
        )
    if len(words.ids) < ngram:
        return Near(documents, (), (), len(documents))
    ranks = _ranks(words.ids, ngram)

    def grams(document: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The n-grams of a document, each once, and the tokens where each starts."""
        start, end = int(bounds[document]), int(bounds[document + 1])
        distinct_grams, first = np.unique(ranks[start : max(start, end - ngram + 1)], return_index=True)
        return distinct_grams, first + start

    seen = np.flatnonzero(np.diff(bounds) >= ngram)
    minima = np.zeros((len(documents), BANDS * MINIMA), dtype=np.uint32)
    for document in seen.tolist():
        minima[document] = _minima(words, grams(document)[1], ngram)
    candidates = _candidates(minima, seen)
    lengths = np.diff(bounds)
    cells = sum(int(lengths[a]) * int(lengths[b]) for a, b in candidates)
    if cells > MAX_CELLS:
        raise OutOfRange(
            "These documents are too long to be compared pair by pair. Choose longer n-grams, or a smaller file."
        )
    tokens = [words.ids[start:end] for start, end in pairwise(bounds.tolist())]
    pairs = []
    for a, b in candidates:
        turns.step(locking=True)
        first_grams, second_grams = grams(a)[0], grams(b)[0]
        shared = len(np.intersect1d(first_grams, second_grams, assume_unique=True))
        similarity = Levenshtein.normalized_similarity(tokens[a].tolist(), tokens[b].tolist())
        estimate = float(np.mean(minima[a] == minima[b]))
        pairs.append(Pair(a, b, estimate, shared / (len(first_grams) + len(second_grams) - shared), similarity))
    near_pairs = [(pair.first, pair.second) for pair in pairs if pair.jaccard >= jaccard and pair.edit >= edit]
    return Near(documents, tuple(pairs), _connected(near_pairs), len(documents) - len(seen))


@cache
def _permutations() -> MinHash:
    from datasketch import MinHash

    return MinHash(num_perm=BANDS * MINIMA)


def _minima(words: _Words, starts: NDArray[np.int64], ngram: int) -> NDArray[np.uint64]:
    """The smallest hashes of the n-grams that start at these tokens, one for each permutation."""
    sketch = _permutations().copy()
    for begin in range(0, len(starts), _STEP):
        turns.step(locking=True)
        chunk = starts[begin : begin + _STEP].tolist()
        grams = (words.ids[start : start + ngram].tolist() for start in chunk)
        sketch.update_batch([" ".join(words.names[number] for number in gram).encode() for gram in grams])
    return np.asarray(sketch.hashvalues)


def _candidates(minima: NDArray[np.uint32], seen: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The pairs of documents that share a band, in order.

    Those with the first of a band and with the one before connect all that would be connected by all pairs.
    """
    candidates: set[tuple[int, int]] = set()
    for band in range(BANDS):
        turns.step()
        part = np.ascontiguousarray(minima[seen, band * MINIMA : (band + 1) * MINIMA])
        group = np.unique(part.view(f"V{part.itemsize * MINIMA}").ravel(), return_inverse=True)[1]
        order = np.argsort(group, kind="stable")
        group, members = group[order], seen[order]
        first = members[np.searchsorted(group, group)]
        again = np.flatnonzero(group[1:] == group[:-1])
        candidates.update(zip(members[again].tolist(), members[again + 1].tolist(), strict=True))
        candidates.update(zip(first[again + 1].tolist(), members[again + 1].tolist(), strict=True))
        if len(candidates) > MAX_PAIRS:
            raise OutOfRange(
                f"More than {MAX_PAIRS:,} pairs would have to be compared. Choose longer n-grams, or a smaller file."
            )
    return sorted(candidates)


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
