"""Proportions over many draws: what an objective comes to, to be held against what was published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.objectives.example import Example

DRAWS = 500


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over many examples."""

    draws: int
    tokens: int
    """Places that are not of the format."""
    asked: int
    changes: Counter[str]
    """Asked places by what was done to them."""
    answers: Counter[int]
    """Examples by the answer of their first label."""
    groups: int
    """Spans, words, units or trigrams."""

    @property
    def share(self) -> float:
        """Of the tokens that are asked."""
        return self.asked / self.tokens if self.tokens else 0.0

    def change(self, name: str) -> float:
        """Share of the asked places to which this was done."""
        return self.changes[name] / self.asked if self.asked else 0.0


def tally(make: Callable[[np.random.Generator], Example], draws: int = DRAWS, seed: int = 0) -> Tally:
    """``draws`` examples of one text, from one generator."""
    rng = np.random.default_rng(seed)
    changes: Counter[str] = Counter()
    answers: Counter[int] = Counter()
    tokens = asked = groups = 0
    for _ in range(draws):
        example = make(rng)
        chosen = [cell for cell in example.source if cell.target is not None]
        tokens += sum(cell.change != "special" for cell in example.source)
        asked += len(chosen)
        changes.update(cell.change for cell in chosen)
        groups += len({cell.group for cell in chosen if cell.group is not None})
        answers.update(label.answer for label in example.labels[:1])
    return Tally(draws, tokens, asked, changes, answers, groups)
