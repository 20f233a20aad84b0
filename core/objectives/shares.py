"""Proportions over many samples: what an objective comes to, to be compared with what was published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from core.objectives.example import Example

DRAWS = 500


@dataclass(slots=True)
class Tally:
    """Sums over many examples."""

    draws: int = 0
    tokens: int = 0
    """Positions that are not of the format."""
    changes: Counter[str] = field(default_factory=Counter)
    """Targets by how their position was changed."""
    answers: Counter[int] = field(default_factory=Counter)
    """Examples by the answer of their label."""
    groups: int = 0
    """Spans, words, units or trigrams."""

    @property
    def share(self) -> float:
        """Of the tokens with a loss."""
        return self.changes.total() / self.tokens if self.tokens else 0.0

    def change(self, name: str) -> float:
        """Share of the targets with this change."""
        return self.changes[name] / self.changes.total() if self.changes else 0.0


def tally(make: Callable[[np.random.Generator], Example], draws: int = DRAWS) -> Tally:
    """``draws`` examples of one text, from one generator."""
    rng, result = np.random.default_rng(0), Tally()
    for _ in range(draws):
        example = make(rng)
        targets = [cell for cell in example.source if cell.target is not None]
        result.draws += 1
        result.tokens += sum(cell.change != "special" for cell in example.source)
        result.changes.update(cell.change for cell in targets)
        result.answers.update(label.answer for label in example.labels)
        result.groups += len({cell.group for cell in targets if cell.group is not None})
    return result
