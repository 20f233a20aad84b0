r"""Linear probes: what can be read off a word's vector after each layer, and how much of that is memory.

A probe is one matrix and one bias a layer, learned while the model stays as it is:

.. math:: p(y \mid h) = \mathrm{softmax}\bigl(W\, \mathrm{norm}(h) + b\bigr)

with the word's vector h, the mean over its tokens, and `core.vectors.mix.normed`. In the control task of Hewitt and
Liang (2019, arXiv 1909.03368) every word has one random class, the same wherever it occurs, drawn from the classes of
all words: it can only be learned word by word.

.. math:: \mathrm{selectivity} = \mathrm{accuracy} - \mathrm{accuracy}_\mathrm{control}

Two files for each model, as ``python -m lab probes`` writes them; layer 0 is the input of the first one:

    SLUG.csv            the `COLUMNS`: words of a fold and how many of them are right, by task and layer
    SLUG.safetensors    TASK.weight (L + 1, w, C) and TASK.bias (L + 1, 1, C), learned from all sentences; the metadata
                        has the C classes of each task

Legend: L layers, n words, w hidden size, C classes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from core.arrays import Floats
from core.errors import InputUnusable
from core.language.side_by_side import split
from core.settings import ASSETS
from core.studies import Spread
from core.vectors.mix import normed
from core.vectors.occurrences import tokens_within
from core.vectors.precomputed import rows_of
from core.vectors.reading import Reading

FOLDER = ASSETS / "probing"
COUNTS = ("words", "right", "control", "lookup", "majority", "unseen", "unseen right")
COLUMNS = ("task", "layer", "fold", *COUNTS)
TASKS = ("speech", "distance", "identity")
TAGGED = ("speech", "distance")
"""Tasks whose probes are stored."""
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|m|d|re|ve|ll))$", re.IGNORECASE)
"""The end of a word that is a word of its own in a treebank."""


@dataclass(frozen=True, slots=True)
class ProbeScores:
    """The accuracy of a task's probes on held-out sentences, each `Spread` over the folds."""

    words: int
    """In all folds."""
    accuracy: tuple[Spread, ...]
    """(L + 1,)"""
    control: tuple[Spread, ...]
    """(L + 1,), or empty."""
    lookup: float
    """Accuracy of each word's most frequent class in training; of an unseen word, the most frequent of all."""
    majority: float
    """Accuracy of the most frequent class."""
    unseen: int
    """Words that do not occur in training."""
    unseen_accuracy: tuple[float, ...]
    """(L + 1,)"""

    @property
    def selectivity(self) -> tuple[Spread, ...]:
        return tuple(task.minus(control) for task, control in zip(self.accuracy, self.control, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Tagging:
    """The most probable class of each word after each layer."""

    words: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]  # (L + 1, n)
    probabilities: Floats  # (L + 1, n)


def scores(slug: str) -> dict[str, ProbeScores]:
    """By task; empty for a model without probes."""
    path = FOLDER / f"{slug}.csv"
    by_task: defaultdict[str, defaultdict[int, list[Mapping[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows_of(path) if path.exists() else ():
        by_task[row["task"]][int(row["layer"])].append(row)
    return {task: _scores(list(layers.values())) for task, layers in by_task.items()}


def _scores(layers: list[list[Mapping[str, str]]]) -> ProbeScores:
    def shares(name: str) -> tuple[Spread, ...]:
        return tuple(Spread(tuple(int(fold[name]) / int(fold["words"]) for fold in folds)) for folds in layers)

    def total(name: str, folds: list[Mapping[str, str]]) -> int:
        return sum(int(fold[name]) for fold in folds)

    unseen = total("unseen", layers[0])
    return ProbeScores(
        total("words", layers[0]),
        shares("right"),
        shares("control") if layers[0][0]["control"] else (),
        shares("lookup")[0].mean,
        shares("majority")[0].mean,
        unseen,
        tuple(total("unseen right", folds) / unseen for folds in layers) if unseen else (),
    )


def tag(reading: Reading, slug: str, task: str) -> Tagging:
    """The classes of the words of a text that the model ``slug`` read, by its stored probes of one of `TAGGED`.

    Raises:
        InputUnusable: no probes are stored for this model or its layers are others, or the text has no word.
    """
    weight, bias, names = _probe(slug, task)
    if weight.shape[:2] != reading.states.shape[::2]:
        raise InputUnusable("The stored probes are of other layers than this model’s. Choose another model.")
    spans = [(start, end, tokens_within(reading.tokens, start, end)) for start, end in _words(reading.text)]
    words = [(reading.text[start:end], list(pieces)) for start, end, pieces in spans if pieces]
    if not words:
        raise InputUnusable("This text has no word. Type a sentence.")
    states = np.stack([reading.states[:, pieces].mean(axis=1) for _, pieces in words], axis=1)
    logits = normed(states) @ weight + bias  # (L + 1, n, C)
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities = raised / raised.sum(axis=-1, keepdims=True)
    classes = tuple(tuple(names[i] for i in layer) for layer in probabilities.argmax(axis=-1).tolist())
    return Tagging(tuple(word for word, _ in words), classes, probabilities.max(axis=-1))


def _words(text: str) -> list[tuple[int, int]]:
    """The (start, end) of each word and mark as a treebank has them: “don't” is two."""
    spans: list[tuple[int, int]] = []
    for word in split(text):
        clitic = _CLITIC.search(word.text)
        middle = word.start + clitic.start() if clitic else word.end
        spans += [(start, end) for start, end in ((word.start, middle), (middle, word.end)) if start < end]
    return spans


@lru_cache(maxsize=8)
def _probe(slug: str, task: str) -> tuple[NDArray[np.float32], NDArray[np.float32], tuple[str, ...]]:
    from safetensors import safe_open

    path = FOLDER / f"{slug}.safetensors"
    if not path.exists():
        raise InputUnusable("No probes are stored for this model. Choose another one.")
    with safe_open(path, "np") as file:
        weight, bias = (file.get_tensor(f"{task}.{name}").astype(np.float32) for name in ("weight", "bias"))
        return weight, bias, tuple(file.metadata()[task].split())
