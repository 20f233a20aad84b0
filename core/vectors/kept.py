"""What was measured at the desk about every model's vectors, and the files that keep it.

Three tidy files for each model, in ``assets/vectors``; layer 0 stands for what comes into the first one:

    SLUG.csv         layer, strangers, self similarity, within a sentence, explained, explained by chance
    words/SLUG.csv   word, sentences, then a column for each layer: the word's self-similarity beyond strangers
    mix/SLUG.csv     task, layer, weight, alone, mix, commonest, gamma, words, classes

What the columns are is defined in `core.vectors.contextual` and `core.vectors.mix`. Reading needs numpy alone.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from core.errors import AtlasError
from core.settings import ASSETS
from core.vectors.contextual import Layer, Measured
from core.vectors.mix import Learned

FOLDER = ASSETS / "vectors"
LAYER_COLUMNS = ("layer", "strangers", "self similarity", "within a sentence", "explained", "explained by chance")
MIX_COLUMNS = ("task", "layer", "weight", "alone", "mix", "commonest", "gamma", "words", "classes")


def slugs() -> tuple[str, ...]:
    """The models that were measured."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.csv")))


def layers(slug: str) -> tuple[Layer, ...]:
    """What was measured after each layer; empty where the model was not."""
    return _layers(FOLDER / f"{slug}.csv") if slug in slugs() else ()


def words(slug: str) -> tuple[tuple[str, int, tuple[float, ...]], ...]:
    """(word, sentences, self-similarity beyond strangers after each layer), most sentences first."""
    return _words(FOLDER / "words" / f"{slug}.csv") if slug in slugs() else ()


def learned(slug: str) -> dict[str, Learned]:
    """What was learned about mixing a model's layers, by task."""
    return _learned(FOLDER / "mix" / f"{slug}.csv") if slug in slugs() else {}


@lru_cache(maxsize=64)
def _layers(path: Path) -> tuple[Layer, ...]:
    return tuple(Layer(*(float(row[name]) for name in LAYER_COLUMNS[1:])) for row in _read(path))


@lru_cache(maxsize=64)
def _words(path: Path) -> tuple[tuple[str, int, tuple[float, ...]], ...]:
    return tuple(
        (row["word"], int(row["sentences"]), tuple(float(v) for name, v in row.items() if name.isdigit()))
        for row in _read(path)
    )


@lru_cache(maxsize=64)
def _learned(path: Path) -> dict[str, Learned]:
    rows = _read(path)
    found = {}
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        first = own[0]
        found[task] = Learned(
            task,
            tuple(float(row["weight"]) for row in own),
            float(first["gamma"]),
            float(first["mix"]),
            tuple(float(row["alone"]) for row in own),
            float(first["commonest"]),
            int(first["words"]),
            int(first["classes"]),
        )
    return found


def write(folder: Path, slug: str, found: Measured, tasks: Sequence[Learned]) -> None:
    """Write a model's three files, each whole or not at all."""
    _write(
        folder / f"{slug}.csv",
        LAYER_COLUMNS,
        (
            (
                number,
                *(
                    _four(value)
                    for value in (one.strangers, one.self_similarity, one.intra, one.explained, one.explained_by_chance)
                ),
            )
            for number, one in enumerate(found.layers)
        ),
    )
    _write(
        folder / "words" / f"{slug}.csv",
        ("word", "sentences", *(str(number) for number in range(len(found.layers)))),
        (
            (word, count, *(f"{value:.3f}" for value in values))
            for (word, count), values in zip(found.words, found.by_word, strict=True)
        ),
    )
    _write(
        folder / "mix" / f"{slug}.csv",
        MIX_COLUMNS,
        (
            (
                one.task,
                layer,
                _four(weight),
                _four(alone),
                _four(one.accuracy),
                _four(one.commonest),
                _four(one.gamma),
                one.words,
                one.classes,
            )
            for one in tasks
            for layer, (weight, alone) in enumerate(zip(one.weights, one.alone, strict=True))
        ),
    )


def _four(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Raises AtlasError where nothing can be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".new")
        with beside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
        beside.replace(path)
    except OSError as error:
        raise AtlasError(f"{path} cannot be written: {error.strerror}.") from None
