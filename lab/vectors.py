"""``python -m lab vectors``: how contextual each layer of a model is, and the layer weights of ELMo's probing tasks.

`core.vectors.contextual` and `lab.mix` define the measures, `core.vectors.precomputed` reads the files.

Models are measured over all bundled English sentences, on which no model was trained: those of the tests, the model
cards and the treebank. Cloze sentences have their first answer in the gap. Duplicates are removed.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from core import checkpoints
from core.arrays import Floats
from core.attention.roles import treebank
from core.errors import AtlasError, InputTooLong
from core.language.side_by_side import split
from core.settings import ASSETS
from core.vectors import elmo
from core.vectors.contextual import ContextualMeasures, measure
from core.vectors.mix import TOPIC, LearnedMix
from core.vectors.occurrences import Line, tokens_within, words
from core.vectors.precomputed import FOLDER, LAYER_COLUMNS, rows_of
from core.vectors.reading import Reading, read_states, readable
from lab.mix import TASKS, classes, learn_task

GAP = "[MASK]"
MIX_COLUMNS = ("task", "layer", "weight", "alone", "mix", "commonest", "gamma", "words", "classes")


def write(folder: Path, slug: str, measured: ContextualMeasures, tasks: Sequence[LearnedMix]) -> None:
    """Write a model's files; that of the mix if ``tasks`` were learned.

    Raises:
        AtlasError: the folder is not writable.
    """
    layers = [(number, *map(_four, astuple(layer))) for number, layer in enumerate(measured.layers)]
    words = [
        (word, count, *(f"{value:.3f}" for value in values))
        for (word, count), values in zip(measured.words, measured.by_word, strict=True)
    ]
    mix = [
        (
            learned.task,
            layer,
            *map(_four, (*pair, learned.accuracy, learned.commonest, learned.gamma)),
            learned.words,
            learned.classes,
        )
        for learned in tasks
        for layer, pair in enumerate(zip(learned.weights, learned.alone, strict=True))
    ]
    files: list[tuple[Path, Sequence[object], Sequence[Sequence[object]]]] = [
        (folder, LAYER_COLUMNS, layers),
        (folder / "words", ("word", "sentences", *range(len(layers))), words),
    ]
    if mix:
        files.append((folder / "mix", MIX_COLUMNS, mix))
    for name, columns, rows in files:
        try:
            name.mkdir(parents=True, exist_ok=True)
            with (name / f"{slug}.csv").open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([columns, *rows])
        except OSError as error:
            raise AtlasError(f"{name} cannot be written: {error.strerror}.") from None


def _four(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def contextual(read: Callable[[str], Reading], texts: Sequence[str]) -> ContextualMeasures:
    """Measure over ``texts``; those that are too long for the model are left out."""
    readings: dict[str, Reading] = {}
    for text in texts:
        try:
            readings[text] = read(text)
        except InputTooLong:
            continue
    lines = [Line(number, "", text) for number, text in enumerate(readings, 1)]
    return measure(words(lines, readings.__getitem__))


Labeled = tuple[str, Sequence[tuple[int, int]], Mapping[str, Sequence[str]]]
"""A text, the characters of its words, and the class of each word by task."""


def annotated() -> Iterator[Labeled]:
    """The treebank's sentences, with the classes of `TASKS`."""
    for sentence in treebank.read_treebank(treebank.SHIPPED):
        yield sentence.text, sentence.spans, {task: classes(sentence, task) for task in TASKS}


def on_topics() -> Iterator[Labeled]:
    """Sentences about a topic, the class of all of their words."""
    for row in rows_of(ASSETS / "finetuning.tsv", "\t"):
        if row["task"] == TOPIC:
            spans = [(word.start, word.end) for word in split(row["text"]) if word.is_word]
            yield row["text"], spans, {TOPIC: [row["answer"]] * len(spans)}


def mixes(read: Callable[[str], Reading], labeled: Iterable[Labeled]) -> tuple[LearnedMix, ...]:
    """Learn every task over labeled words; words without a token are left out."""
    vectors: list[Floats] = []
    groups: list[int] = []
    answers: defaultdict[str, list[str]] = defaultdict(list)
    for number, (text, spans, labels) in enumerate(labeled):
        try:
            reading = read(text)
        except InputTooLong:
            continue
        for word, (start, end) in enumerate(spans):
            if pieces := tokens_within(reading.tokens, start, end):
                vectors.append(reading.states[:, list(pieces)].mean(axis=1))
                groups.append(number)
                for task, answers_of_task in labels.items():
                    answers[task].append(answers_of_task[word])
    states = np.stack(vectors, axis=1)
    return tuple(learn_task(states, answers_of_task, groups, task) for task, answers_of_task in answers.items())


def cli_vectors(slugs: Sequence[str], output: Path | None = None) -> None:
    """Measure these checkpoints; prints a line for each. Tasks mix the layers of ELMo."""
    for slug in slugs:
        if slug != elmo.SLUG and not readable(checkpoints.get(slug)):
            raise AtlasError(
                f"{slug} cannot be run here, or has no layers of its own, so it has no vectors to measure."
            )
    for slug in slugs:
        is_elmo = slug == elmo.SLUG
        reads = elmo.read_elmo if is_elmo else partial(read_states, checkpoints.load(slug))
        measured = contextual(reads, sentences())
        tasks = mixes(reads, annotated()) + mixes(reads, on_topics()) if is_elmo else ()
        write(output or FOLDER, slug, measured, tasks)
        best = "".join(f"; {mix.task} {100 * mix.accuracy:.0f}%" for mix in tasks)
        last = measured.layers[-1].corrected("self_similarity") or 0.0
        print(f"{slug}: self-similarity beyond the baseline {last:.3f} after the last layer{best}", flush=True)


@lru_cache(maxsize=1)
def sentences() -> tuple[str, ...]:
    """The set of sentences; needs neither torch nor transformers."""
    result = [sentence.text for sentence in treebank.read_treebank(treebank.SHIPPED)]
    for name in ("everyday.tsv", "everyday-2.tsv"):
        rows = rows_of(ASSETS / "cloze" / name, "\t")
        result += [row["sentence"].replace(GAP, row["answers"].split()[0]) for row in rows]
    for name, column in (("adapters", "text"), ("fusions", "whole"), ("translations", "en")):
        result += [row[column] for row in rows_of(ASSETS / "heldout" / f"{name}.tsv", "\t")]
    return tuple(dict.fromkeys(result))
