"""Sentence pairs, split so that no sentence of any language is on both sides.

English sentences are held out by their hash (`core.training.corpus.held_out`). Every French or German sentence that
translates one of them is then held out too, and a pair is trained on only where neither side is held out. A pair is
evaluated on where its English side is held out. Sentences that differ in case or punctuation alone count as equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.training.corpus import held_out, normal, open_file


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of one language pair; ``train`` and ``test`` share no sentence on either side."""

    train: list[tuple[str, str]]
    test: list[tuple[str, str]]


def split(files: dict[str, list[tuple[str, str]]], *, every: int) -> dict[str, Pairs]:
    """Splits English-first pairs of several language pairs at once.

    Args:
        files: language pair ("en-fr") to its (English, other) pairs.
        every: about one English sentence in ``every`` is held out.
    """
    kept_out: dict[str, set[str]] = {
        name: {normal(other) for english, other in pairs if held_out(english, every)} for name, pairs in files.items()
    }
    out: dict[str, Pairs] = {}
    for name, pairs in files.items():
        train: list[tuple[str, str]] = []
        test: list[tuple[str, str]] = []
        for english, other in pairs:
            if held_out(english, every):
                test.append((english, other))
            elif normal(other) not in kept_out[name]:
                train.append((english, other))
        out[name] = Pairs(train, test)
    return out


def references(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Groups pairs by source: each source sentence with all of its translations, in order of appearance."""
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        targets = grouped.setdefault(source, [])
        if target not in targets:
            targets.append(target)
    return grouped


def read(corpus: Path, name: str) -> list[tuple[str, str]]:
    """Pairs of ``parallel.<name>.tsv`` as (first, second)."""
    rows: list[tuple[str, str]] = []
    with open_file(corpus, f"parallel.{name}.tsv").open(encoding="utf-8") as lines:
        for line in lines:
            first, _, second = line.rstrip("\n").partition("\t")
            if first and second:
                rows.append((first, second))
    return rows
