"""Samples of one prompt by temperature and top-k: how many candidates are left, and how varied the texts are.

Of each setting, over its samples: the mean of :math:`2^H` over all steps, with H the entropy in bits of what is sampled
from (the effective number of candidates); the share of distinct 2-grams among all; the mean share of 3-grams that a
text repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from core.checkpoints.spec import Checkpoint
from core.language.decoding.reader import Start
from core.language.generate import repetition, steps_in_batch
from core.language.types import Decoding
from core.turns import turns

TEMPERATURES, KS = (0.3, 0.7, 1.0, 1.5), (2, 10, 50, 0)
"""The settings; k = 0 keeps all tokens."""
SAMPLES, LENGTH = 3, 40
"""Samples of a setting, and the most tokens of one."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting."""

    temperature: float
    k: int
    candidates: float
    distinct: float
    repeated: float
    text: str
    """The first sample."""


def grid(checkpoint: Checkpoint, start: Start, common: Decoding) -> tuple[Cell, ...]:
    """All settings, temperatures first, with the seeds from that of ``common`` on."""
    settings = [(temperature, k) for temperature in TEMPERATURES for k in KS]
    common = replace(common, strategy="sample", max_new_tokens=min(common.max_new_tokens, LENGTH))
    rows = [
        replace(common, temperature=temperature, top_k=k, seed=common.seed + seed)
        for temperature, k in settings
        for seed in range(SAMPLES)
    ]
    widths: list[list[float]] = [[] for _ in rows]
    ids: list[tuple[int, ...]] = [() for _ in rows]
    texts = [""] * len(rows)
    for row, step in steps_in_batch(checkpoint, start, rows):
        turns.step()
        ids[row], texts[row] = step.ids, step.text
        if step.spread:
            widths[row].append(2**step.spread.processed_entropy)
    found = []
    for number, (temperature, k) in enumerate(settings):
        own = range(number * SAMPLES, (number + 1) * SAMPLES)
        pairs = [pair for row in own for pair in pairwise(ids[row])]
        found.append(
            Cell(
                temperature,
                k,
                fmean(width for row in own for width in widths[row]) if any(widths[row] for row in own) else 0.0,
                len(set(pairs)) / len(pairs) if pairs else 0.0,
                fmean(repetition(ids[row]) for row in own),
                texts[own[0]],
            )
        )
    return tuple(found)
