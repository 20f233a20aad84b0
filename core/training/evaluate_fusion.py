"""Measures a model that makes one sentence of two: the right connective, and the whole sentence word for word."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.checkpoints.spec import Checkpoint
from core.training import corpus, measures
from core.training import recipe as recipes
from core.training.evaluate_encoders import Found
from core.training.fusion import CONNECTIVES, Fusion

SENTENCES = measures.ROOT / "assets" / "heldout" / "fusions.tsv"
TEXTS = 300
"""Held-out sentences of the corpus that are measured."""


def fusion(checkpoint: Checkpoint, path: Path | None) -> Found:
    """Sentences written for this project, and held-out ones of the corpus."""
    rows = [Fusion(*row) for row in measures.read_table(SENTENCES)]
    found = {f"{len(rows)} sentences written for this project": fused(checkpoint, rows)}
    if path is not None:
        from core.training.objectives.pairs import made

        every = list(made(path, recipes.load(checkpoint.spec.slug), held_out=True))
        some = every[:: max(1, len(every) // TEXTS)][:TEXTS]
        found[f"{len(some)} sentences of the corpus held out from training"] = fused(checkpoint, some)
    return found


def fused(checkpoint: Checkpoint, rows: Sequence[Fusion]) -> dict[str, float]:
    """Connectives and whole sentences that come back, in percent; and the connectives that "and" alone would get."""
    outputs = measures.rewrite(checkpoint.model, checkpoint.tokenizer, [row.parts for row in rows])
    right = sum(connective(output, row) == row.connective for output, row in zip(outputs, rows, strict=True))
    exact = sum(corpus.normal(output) == corpus.normal(row.whole) for output, row in zip(outputs, rows, strict=True))
    often = max(sum(row.connective == word for row in rows) for word in CONNECTIVES)
    return {
        "connective": 100 * right / len(rows),
        "connective, the most frequent one always": 100 * often / len(rows),
        "whole sentence": 100 * exact / len(rows),
    }


def connective(output: str, row: Fusion) -> str:
    """The connective that stands in the output and not in the two sentences; empty where there is none."""
    before = corpus.normal(row.parts).split()
    for word in corpus.normal(output).split():
        if word in before:
            before.remove(word)
        elif word in CONNECTIVES:
            return word
    return ""
