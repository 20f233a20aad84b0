"""``python -m core vectors``: measure models over the sentences that come with the app, and keep what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from core.attention.roles import treebank
from core.attention.roles.treebank import Sentence
from core.attention.trace import Floats
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError, InputTooLong
from core.vectors import kept
from core.vectors.contextual import Measured, measure
from core.vectors.learn import TASKS, Learned, classes, learn
from core.vectors.lines import Line
from core.vectors.occurrences import inside, words
from core.vectors.reading import Reading, read
from core.vectors.texts import sentences


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
