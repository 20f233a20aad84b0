"""Learning curves of an encoder-decoder from a pretrained encoder, whole or but for its embeddings, and from random
weights (Rothe et al. 2020, arXiv 1907.12461); `lab.objectives.pairs` trains and measures it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.checkpoints.listing import read_curve
from lab.train import STATE, train

RECIPES = {"whole": "atlas-bert2bert-whole", "kept": "atlas-bert2bert", "random": "atlas-bert2bert-random"}
"""Recipes by what a run starts from: ``kept`` are the embeddings, which are not trained."""
OFTEN = "connective, the most frequent one always"


@dataclass(frozen=True, slots=True)
class WarmStartResult:
    """A run after some tokens, or the baseline, which has no loss."""

    start: str
    """One of `RECIPES`, or ``often``."""
    tokens: int
    loss: float | str
    """Held-out, in nats per token."""
    connective: float
    """Share of the held-out fusions with the right connective."""


def runs(done: Sequence[WarmStartResult], corpus: Path, seeds: int) -> Iterator[list[WarmStartResult]]:
    """The points of each run that is not done."""
    measured = {point.start for point in done}
    for start, recipe in RECIPES.items():
        if start not in measured:
            points = points_of(start, train(recipe, corpus, output=STATE / recipe / "out"))
            yield points if "often" in measured else [*points, baseline(STATE / recipe / "out")]
            measured.add("often")


def points_of(start: str, folder: Path) -> list[WarmStartResult]:
    """The held-out points of a learning curve."""
    values: dict[int, dict[str, float]] = {}
    for point in read_curve(folder):
        if point.split == "held-out":
            values.setdefault(point.tokens, {})[point.measure] = point.value
    return [WarmStartResult(start, tokens, at["loss"], at["connective"] / 100) for tokens, at in values.items()]


def baseline(folder: Path) -> WarmStartResult:
    """The most frequent connective, always."""
    last = next(point for point in reversed(read_curve(folder)) if point.measure == OFTEN)
    return WarmStartResult("often", last.tokens, "", last.value / 100)
