r"""A written text in a few numbers: how probable the model found it, how sure it was, how much it repeats.

With :math:`p_t` the model's own probability of the token taken at step t of n, before any rule:

.. math:: \frac1n \sum_t \ln p_t, \qquad \mathrm{perplexity} = e^{-\frac1n \sum_t \ln p_t}

A run of k tokens is repeated when it stood in the text before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.language.generate import repetition
from core.language.types import GenerationStep

RUNS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of one text; a mean is None where there is nothing to average."""

    tokens: int
    mean_log: float | None
    """Mean log-probability of a token, in nats."""
    entropy: float | None
    """Mean entropy of the model's own probabilities, in bits."""
    kept: float | None
    """Mean number of tokens that the rules left."""
    repeated: tuple[float, ...]
    """The share of repeated runs of 1, 2, 3 and 4 tokens."""

    @property
    def perplexity(self) -> float | None:
        """The number of equally likely tokens that would surprise as much."""
        return None if self.mean_log is None else math.exp(-self.mean_log)


def summary(steps: Sequence[GenerationStep]) -> Summary:
    """The numbers of a text whose steps have their `Spread`."""
    spreads = [step.spread for step in steps if step.spread is not None]
    ids = [step.token.id for step in steps]
    if not spreads:
        return Summary(len(ids), None, None, None, tuple(repetition(ids, n) for n in RUNS))
    return Summary(
        len(ids),
        -math.log(2) * sum(s.surprise for s in spreads) / len(spreads),
        sum(s.entropy for s in spreads) / len(spreads),
        sum(s.kept for s in spreads) / len(spreads),
        tuple(repetition(ids, n) for n in RUNS),
    )
