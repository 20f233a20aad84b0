"""The studies of the page Experiments: the rows of each, and what measures them; ``python -m lab study NAME``.

``runs(done, corpus, seeds)`` yields the rows of one run after another, without those in ``done``, so that a killed
study goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from core import studies
from core.errors import AtlasError
from core.table import measured
from lab import (
    compress,
    curve,
    distill,
    duplication,
    facts,
    lengths,
    preferences,
    pretraining,
    scaling,
    sweeps,
    warm_start,
)
from lab.files import append
from lab.train import STATE

REPEATED = STATE.parent / "studies"


@dataclass(frozen=True, slots=True)
class Repetition:
    """How a study is repeated."""

    row: type
    """A dataclass with the columns of its ``results.csv``."""
    runs: Callable[[Any, Any, int], Iterator[Sequence[Any]]]
    seeds: int = 1
    """Of the stored rows."""


STUDIES: dict[str, Repetition] = {
    "batches": Repetition(scaling.ScalingRun, partial(scaling.runs, "batches"), seeds=2),
    "compression": Repetition(compress.Compressed, compress.runs),
    "distillation": Repetition(distill.DistillationRow, sweeps.distillation_runs, seeds=5),
    "duplication": Repetition(duplication.RoundsResult, duplication.runs, seeds=3),
    "examples": Repetition(curve.FineTuned, curve.runs, seeds=10),
    "facts": Repetition(facts.DistanceResult, facts.runs, seeds=3),
    "lengths": Repetition(lengths.LengthTiming, lengths.runs),
    "noise": Repetition(scaling.Noisy, scaling.noise_runs, seeds=3),
    "preferences": Repetition(preferences.Preferred, preferences.runs, seeds=3),
    "pretraining": Repetition(pretraining.Pretrained, pretraining.runs, seeds=2),
    "scaling": Repetition(scaling.ScalingRun, partial(scaling.runs, "scaling"), seeds=2),
    "warm-start": Repetition(warm_start.WarmStartResult, warm_start.runs),
    "widths": Repetition(sweeps.Width, sweeps.width_runs, seeds=5),
}


def repeat(name: str, corpus: Path | None = None, seeds: int | None = None, output: Path | None = None) -> Path:
    """Measure what the table of a study lacks, on one thread; returns the table's file.

    Raises:
        AtlasError: there is no such study, or it needs a corpus.
    """
    if name not in STUDIES:
        raise AtlasError(f"There is no study “{name}”. There are: {', '.join(STUDIES)}.")
    if corpus is None and studies.get(name).corpus:
        raise AtlasError(f"This study is trained on texts: {studies.get(name).command}.")
    repetition, file = STUDIES[name], output or REPEATED / f"{name}.csv"
    torch.set_num_threads(1)
    for rows in repetition.runs(measured(file, repetition.row), corpus, seeds or repetition.seeds):
        append(rows, file)
        print(*rows, sep="\n", flush=True)
    return file
