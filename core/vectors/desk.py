"""``python -m core vectors``: measure models over the sentences that come with the app, and keep what was found.

The sentences over which models are measured at the desk: all the English ones that come with the app.

None of them was trained on: they were written for tests, for cards and for the treebank. Sentences of the cloze sets
have the first of their answers in the gap. Each is taken once, in the order of the files.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from core.attention.roles import treebank
from core.attention.roles.treebank import Sentence
from core.attention.trace import Floats
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, InputTooLong
from core.settings import ASSETS
from core.vectors import kept
from core.vectors.contextual import Measured, measure
from core.vectors.mix import TASKS, Learned, classes, learn
from core.vectors.occurrences import Line, inside, words
from core.vectors.reading import Reading, read


def contextual(checkpoint: Checkpoint, texts: Sequence[str]) -> Measured:
    """Measure over ``texts``; those that are too long for the model are left out."""
    readings: dict[str, Reading] = {}
    for text in texts:
        try:
            readings[text] = read(checkpoint, text)
        except InputTooLong:
            continue
    lines = [Line(number, "", text) for number, text in enumerate(readings, 1)]
    return measure(words(lines, readings.__getitem__))


def mixes(checkpoint: Checkpoint, annotated: Iterable[Sentence]) -> tuple[Learned, ...]:
    """Learn every task over sentences with their grammar; words in which no token lies are left out."""
    vectors: list[Floats] = []
    groups: list[int] = []
    answers: dict[str, list[str]] = {task: [] for task in TASKS}
    for number, sentence in enumerate(annotated):
        try:
            reading = read(checkpoint, sentence.text)
        except InputTooLong:
            continue
        given = {task: classes(sentence, task) for task in TASKS}
        for word, (start, end) in enumerate(sentence.spans):
            if pieces := inside(reading.tokens, start, end):
                vectors.append(reading.states[:, list(pieces)].mean(axis=1))
                groups.append(number)
                for task in TASKS:
                    answers[task].append(given[task][word])
    states = np.stack(vectors, axis=1)
    return tuple(learn(states, answers[task], groups, task) for task in TASKS)


def cli_vectors(slugs: Sequence[str], output: Path | None = None) -> None:
    """Measure these checkpoints; prints a line for each."""
    from core import checkpoints
    from core.vectors.reading import readable

    for slug in slugs:
        if not readable(checkpoints.get(slug)):
            raise AtlasError(
                f"{slug} cannot be run here, or has no layers of its own, so it has no vectors to measure."
            )
    for slug in slugs:
        checkpoint = checkpoints.load(slug)
        found = contextual(checkpoint, sentences())
        tasks = mixes(checkpoint, treebank.read(treebank.SHIPPED))
        kept.write(output or kept.FOLDER, slug, found, tasks)
        best = ", ".join(f"{one.task} {100 * one.accuracy:.0f} %" for one in tasks)
        last = found.layers[-1].self_adjusted or 0.0
        print(f"{slug}: self-similarity beyond strangers {last:.3f} after the last layer; {best}", flush=True)


GAP = "[MASK]"
COUNT = 590
"""How many they are, for pages that do not read them."""


@lru_cache(maxsize=1)
def sentences() -> tuple[str, ...]:
    """The set; needs neither torch nor transformers."""
    from core.attention.roles import treebank

    found = [sentence.text for sentence in treebank.read(treebank.SHIPPED)]
    for name in ("everyday.tsv", "everyday-2.tsv"):
        found += [row["sentence"].replace(GAP, row["answers"].split()[0]) for row in _rows(ASSETS / "cloze" / name)]
    held_out = ASSETS / "heldout"
    found += [row["text"] for row in _rows(held_out / "adapters.tsv")]
    found += [row["whole"] for row in _rows(held_out / "fusions.tsv")]
    found += [row["en"] for row in _rows(held_out / "translations.tsv")]
    return tuple(dict.fromkeys(found))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
