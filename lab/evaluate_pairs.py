"""Measures of text-to-text models: translation, repair, spelling correction, fusion, denoising.

The baselines of questions about two segments read words, and no order of them within a segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz.distance.Levenshtein import distance
from torch import Tensor

from core.checkpoints.spec import Checkpoint
from core.language.noise import NOISES, noisy
from core.objectives.corruptions import CORRUPTIONS, corrupt_text
from lab import corpus as corpora
from lab import measures, parallel
from lab import recipe as recipes
from lab.measures import OUT, STORY, WRITTEN, Numbers, hold_out_every, story_chunks, token_ids
from lab.objective import Share
from lab.objectives.pairs import BRIDGED, made_fusions, token
from lab.parallel import CONNECTIVES, LANGUAGES, Fusion, connective, corrupted, prefix

PAIRS = 400
"""Held-out sentences of the corpus per direction or task."""
DENOISED = 200
"""Held-out texts per corruption."""
SPELLED = 150
"""Held-out sentences, with each noise at its default rate and without noise."""
FUSED = 300
EACH = 44
"""Held-out fusions of each connective, so that the most frequent one is right less often."""
DIRECTIONS = ("en-fr", "fr-en", "en-de", "de-en", "fr-de", "de-fr")
SENTENCES = measures.ROOT / "assets" / "heldout" / "fusions.tsv"

Grouped = dict[str, dict[str, list[str]]]
"""For each direction, the sources with their translations."""


def _evenly(items: list[Any], most: int) -> list[Any]:
    return items[:: max(1, len(items) // most)][:most]


@cache
def held_out_pairs(corpus: Path, every: int, *, bridged: bool) -> Grouped:
    """Held-out sentence pairs of the corpus; with ``bridged`` also the pairs of French and German."""
    split = parallel.splits(corpus, every)
    sides = {name: side.test for name, side in split.items()}
    if bridged:
        sides[BRIDGED] = parallel.bridged(corpus, split).test
    grouped: Grouped = {}
    for name, pairs in sides.items():
        first, second = name.split("-")
        for task, rows in ((name, pairs()), (f"{second}-{first}", ((right, left) for left, right in pairs()))):
            grouped[task] = dict(islice(parallel.references(rows).items(), PAIRS))
    return grouped


def all_directions(
    checkpoint: Checkpoint, corpus: Path | None, directions: Sequence[str] = DIRECTIONS
) -> Iterator[tuple[str, Grouped]]:
    """Sentences and their translations, in every direction."""
    rows, languages = measures.read_table(measures.TRANSLATIONS), list(LANGUAGES)
    sides = {task: [languages.index(language) for language in task.split("-")] for task in directions}
    yield WRITTEN.format(len(rows)), {task: {row[a]: [row[b]] for row in rows} for task, (a, b) in sides.items()}
    if corpus is not None:
        on = f"{OUT.format(PAIRS)}, all their translations as references"
        yield on, held_out_pairs(corpus, hold_out_every(checkpoint), bridged=BRIDGED in directions)


def with_english(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, Grouped]]:
    """`all_directions` with English on one side."""
    return all_directions(checkpoint, corpus, [task for task in DIRECTIONS if "en" in task])


def english(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """English sentences."""
    for number, (on, grouped) in enumerate(with_english(checkpoint, corpus)):
        yield f"{PAIRS} English sentences of the corpus held out from training" if number else on, [*grouped["en-fr"]]


def translated(checkpoint: Checkpoint, grouped: Grouped) -> Numbers:
    """BLEU and chrF in each direction."""
    scores: Numbers = {}
    for task, rows in grouped.items():
        outputs = measures.rewrite(checkpoint, [prefix(task) + text for text in rows])
        scores |= {
            f"{task} {name}": value for name, value in measures.translation(outputs, list(rows.values())).items()
        }
    return scores


def repaired(checkpoint: Checkpoint, clean: list[str]) -> Numbers:
    """chrF and exact matches of corrupted texts before and after repair."""
    corrupted_texts = [corrupted(text, index) for index, text in enumerate(clean)]
    outputs = measures.rewrite(checkpoint, [prefix("repair") + text for text in corrupted_texts])
    return {f"repair {name}": value for name, value in measures.repair(outputs, corrupted_texts, clean).items()}


def both_ways(checkpoint: Checkpoint, grouped: Grouped) -> Numbers:
    """BLEU and chrF of all directions, and through English for those without it."""
    scores: Numbers = {}
    cached: dict[tuple[str, ...], list[str]] = {}

    def translated_once(task: str, texts: list[str]) -> list[str]:
        """Cached translations: a route through English reuses those of the direct one."""
        key = (task, *texts)
        if key not in cached:
            cached[key] = translate(checkpoint, task, texts)
        return cached[key]

    for task in DIRECTIONS:
        texts, references = list(grouped[task]), list(grouped[task].values())
        if not texts:
            continue
        routes = {task: translated_once(task, texts)}
        source, target = task.split("-")
        if "en" not in (source, target):
            routes[f"{task} through English"] = translated_once(f"en-{target}", translated_once(f"{source}-en", texts))
        for route, outputs in routes.items():
            scores |= {f"{route} {name}": value for name, value in measures.translation(outputs, references).items()}
    return scores


def translate(checkpoint: Checkpoint, task: str, texts: Iterable[str]) -> list[str]:
    """Translations by beam search; source and output start with their language tokens."""
    source, target = map(token, task.split("-"))
    first = int(checkpoint.tokenizer.convert_tokens_to_ids(target))
    return measures.rewrite(checkpoint, [source + text for text in texts], first=first)


def short_sentences(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Sentences for spelling correction, evenly from all sources, within the lengths in bytes of training."""
    sentences = [row[0] for row in measures.read_table(measures.TRANSLATIONS)]
    yield WRITTEN.format(len(sentences)), sentences
    if corpus is not None:
        recipe, every = recipes.load(checkpoint.spec.slug), hold_out_every(checkpoint)
        shortest, longest = (int(recipe.data[name]) for name in ("shortest", "longest"))
        items = (item for source in recipe.sources for item in corpora.items_of(corpus, source, every=every))
        held = (item.text for item in items if item.held_out)
        fitting = [text for text in held if shortest <= len(text.encode()) + 1 <= longest]
        yield OUT.format(SPELLED), _evenly(fitting, SPELLED)


def spelling_corrected(checkpoint: Checkpoint, texts: list[str]) -> Numbers:
    """Greedy outputs: exact matches and character error rates for each noise, and clean sentences left unchanged."""
    noised = {kind: [noisy(text, kind, seed=seed) for seed, text in enumerate(texts)] for kind in NOISES}
    # One call for all kinds of noise, so that texts of similar length share a batch.
    every = [text for noisy_texts in (*noised.values(), texts) for text in noisy_texts]
    answers = measures.rewrite(checkpoint, every, beams=1, rows=64, longest=160)
    count = len(texts)
    scores: Numbers = {}
    corrected: dict[str, list[str]] = {}
    for number, (kind, noisy_texts) in enumerate(noised.items()):
        corrections = answers[number * count : (number + 1) * count]
        corrected[kind] = corrections
        scores[f"{kind} exact after"] = measures.equal(corrections, texts)
        scores[f"{kind} CER before"] = error_rate([noisy_texts], texts)
        scores[f"{kind} CER after"] = error_rate([corrections], texts)
    scores["left untouched"] = measures.equal(answers[-count:], texts)
    in_all: Numbers = {
        "exact after": measures.equal(answers[:-count], texts * len(NOISES)),
        "CER before": error_rate(noised.values(), texts),
        "CER after": error_rate(corrected.values(), texts),
    }
    return in_all | scores


def to_fuse(checkpoint: Checkpoint, path: Path | None) -> Iterator[tuple[str, list[Fusion]]]:
    """Sentences split in two, for sentence fusion."""
    sentences = [Fusion(*row) for row in measures.read_table(SENTENCES)]
    yield WRITTEN.format(len(sentences)), sentences
    if path is not None:
        held = [fusion for _, fusion in made_fusions(path, recipes.load(checkpoint.spec.slug), held_out=True)]
        fusions = _evenly(held, FUSED)
        yield OUT.format(len(fusions)), fusions
        even = [
            fusion for word in CONNECTIVES for fusion in [fusion for fusion in held if fusion.connective == word][:EACH]
        ]
        yield f"{OUT.format(len(even))}, at most {EACH} with each connective", even


def fused(checkpoint: Checkpoint, rows: Sequence[Fusion]) -> Numbers:
    """Connectives and whole sentences restored, in percent, and the baseline of the most frequent connective."""
    outputs = measures.rewrite(checkpoint, [row.parts for row in rows])
    often = max(sum(row.connective == word for row in rows) for word in CONNECTIVES)
    connectives = [connective(output, row.parts) for output, row in zip(outputs, rows, strict=True)]
    return {
        "connective": measures.equal(connectives, [row.connective for row in rows]),
        "connective, the most frequent one always": Share(often, len(rows)),
        "whole sentence": measures.equal(
            map(corpora.normalized, outputs), [corpora.normalized(row.whole) for row in rows]
        ),
    }


def two_sentences(checkpoint: Checkpoint, corpus: Path | None) -> Iterator[tuple[str, list[str]]]:
    """Texts of the story, and pairs of consecutive sentences from held-out books."""
    room = int(checkpoint.tokenizer.model_max_length) - 6  # masks for empty spans make a text longer
    yield STORY, story_chunks(checkpoint, room)
    if corpus is not None:
        source = recipes.SourceFile("stories.txt", sentences=True, group=2)
        items = corpora.items_of(corpus, source, every=hold_out_every(checkpoint))
        held = (item.text for item in items if item.held_out and len(corpora.sentences(item.text)) == 2)
        fitting = [text for text in held if len(token_ids(checkpoint, text, special=True)) <= room]
        yield f"{DENOISED} texts from books of the corpus held out from training", _evenly(fitting, DENOISED)


def denoised(checkpoint: Checkpoint, texts: list[str]) -> Numbers:
    """Similarity of the corrupted texts and of the model's reconstructions to the originals."""
    scores: Numbers = {}
    for kind in CORRUPTIONS:
        corrupted_texts = [corrupt_text(checkpoint, text, kind, seed) for seed, text in enumerate(texts)]
        outputs = measures.rewrite(checkpoint, corrupted_texts, beams=1)
        numbers = measures.repair(outputs, corrupted_texts, texts)
        scores |= {f"{kind} {name}": numbers[name] for name in ("chrF before", "chrF after", "exact after")}
    return scores


SegmentPair = tuple[list[int], list[int], int]
"""Token ids of both segments, and the label: 0 where they are consecutive and in order."""
SCALE = 20.0
"""Of the share of common tokens, so that the penalty of the regression hardly holds its weight down."""


def segments(batch: Mapping[str, Tensor]) -> list[SegmentPair]:
    """The pairs of a batch."""
    return [
        (*(ids[(types == segment) & (real == 1)][1 - segment : -1].tolist() for segment in (0, 1)), int(answer))
        for ids, real, types, answer in zip(*(batch[n] for n in ("ids", "real", "types", "answers")), strict=True)
        if answer >= 0
    ]


def words_before(train: Sequence[Any], rows: Sequence[Any], *, shared: bool = False) -> float:
    """Accuracy in percent of a logistic regression on which tokens are in each segment, and which one begins it.

    Args:
        train, rows: pairs to learn from and to judge, each as `SegmentPair`.
        shared: whether it reads the share of B's tokens that are in A, too.
    """
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    size = 1 + max(max(*a, *b) for a, b, _ in (*train, *rows))

    def features(pairs: Sequence[Any]) -> Any:
        cells = [
            (row, column, sign)
            for row, pair in enumerate(pairs)
            for text, sign in ((pair[0], 1.0), (pair[1], -1.0))
            for column in (*set(map(int, text)), size + int(text[0]))
        ]
        if shared:
            both = ((row, set(map(int, a)), set(map(int, b))) for row, (a, b, _) in enumerate(pairs))
            cells += [(row, 2 * size, SCALE * len(a & b) / len(b)) for row, a, b in both]
        at, columns, signs = zip(*cells, strict=True)
        return csr_matrix((signs, (at, columns)), shape=(len(pairs), 2 * size + 1))

    labels = [[label for *_, label in pairs] for pairs in (train, rows)]
    model = LogisticRegression(C=0.05, max_iter=300, fit_intercept=shared).fit(features(train), labels[0])
    return Share(float(model.score(features(rows), labels[1])) * len(rows), len(rows))


def shared_words(rows: Sequence[SegmentPair]) -> float:
    """Accuracy in percent of the topic baseline: the half of the pairs with the higher tf-idf cosine follow."""
    size = 1 + max(max(a + b) for a, b, _ in rows)
    counts = np.stack([[np.bincount(text, minlength=size) for text in row[:2]] for row in rows]).astype(np.float32)
    weights = counts * np.log(2 * len(rows) / (1 + (counts > 0).sum((0, 1))))
    a, b = weights[:, 0], weights[:, 1]
    cosines = (a * b).sum(-1) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), 1e-9)
    follows = cosines > np.median(cosines)
    return Share(int(np.sum(follows == (np.array([label for *_, label in rows]) == 0))), len(rows))


def error_rate(noised: Iterable[Sequence[str]], clean: Sequence[str]) -> float:
    """Character error rate in percent: mean edits (Levenshtein, 1966) of the noised copies per 100 clean characters."""
    edits = [[distance(text, right) for text, right in zip(texts, clean, strict=True)] for texts in noised]
    return measures.bootstrap(100 * np.mean(edits, axis=0), np.array([*map(len, clean)]))
