"""Precomputed measures of every model's vectors, as ``python -m lab vectors`` writes them.

Three tidy files for each model, in ``assets/vectors``; layer 0 is the input of the first one:

    SLUG.csv         layer, anisotropy baseline, self similarity, within a sentence, explained, explained by chance
    words/SLUG.csv   word, sentences, then a column for each layer: the word's self-similarity beyond the baseline
    mix/elmo.csv     task, layer, weight, alone, mix, commonest, gamma, words, classes

`core.vectors.contextual` and `core.vectors.mix` define the columns. Reading needs numpy alone.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path
from typing import Literal

from core.settings import ASSETS
from core.vectors.contextual import Layer
from core.vectors.mix import LearnedMix

FOLDER = ASSETS / "vectors"
LAYER_COLUMNS = (
    "layer",
    "anisotropy baseline",
    "self similarity",
    "within a sentence",
    "explained",
    "explained by chance",
)
COUNT = 590
"""The number of sentences, for pages that do not read them."""


def layers(slug: str) -> tuple[Layer, ...]:
    """The measures after each layer; empty for a model that was not measured."""
    rows = _read(FOLDER / f"{slug}.csv")
    return tuple(Layer(*(float(row[name]) for name in LAYER_COLUMNS[1:])) for row in rows)


def word_similarity(slug: str) -> tuple[tuple[str, int, tuple[float, ...]], ...]:
    """(word, sentences, self-similarity beyond the baseline after each layer), most sentences first."""
    return tuple(
        (row["word"], int(row["sentences"]), tuple(float(value) for name, value in row.items() if name.isdigit()))
        for row in _read(FOLDER / "words" / f"{slug}.csv")
    )


def learned_mixes() -> dict[str, LearnedMix]:
    """The learned mixes of ELMo's layers, by task."""
    rows = _read(FOLDER / "mix" / "elmo.csv")
    result = {}
    for task in dict.fromkeys(row["task"] for row in rows):
        task_rows = [row for row in rows if row["task"] == task]
        weights, alone = (tuple(float(row[name]) for row in task_rows) for name in ("weight", "alone"))
        gamma, mix, commonest = (float(task_rows[0][name]) for name in ("gamma", "mix", "commonest"))
        result[task] = LearnedMix(
            task, weights, gamma, mix, alone, commonest, int(task_rows[0]["words"]), int(task_rows[0]["classes"])
        )
    return result


def _read(path: Path) -> tuple[dict[str, str], ...]:
    return rows_of(path) if path.exists() else ()


@lru_cache(maxsize=64)
def rows_of(path: Path, separator: str = ",") -> tuple[dict[str, str], ...]:
    with path.open(encoding="utf-8", newline="") as file:
        quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if separator == "," else csv.QUOTE_NONE
        return tuple(csv.DictReader(file, delimiter=separator, quoting=quoting))
