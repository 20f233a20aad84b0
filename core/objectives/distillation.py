r"""Distillation: a student learns what its teacher finds probable (DistilBERT: Sanh et al., 2019, arXiv 1910.01108).

At a temperature T a distribution is :math:`p_T = \mathrm{softmax}(z / T)` of the scores z; a high T shows what the
teacher finds second and third. Three losses are summed with weights (5, 2 and 1 in the released recipe, with T = 2):

.. math:: L = 5\, T^2\, KL(p_T \,\|\, q_T) \;-\; 2 \log q_1(x) \;+\; 1 - \cos(h, h')

with p the teacher and q the student over the vocabulary at a hidden token, x what stood there, and h, h' the last
states of teacher and student. :math:`T^2` keeps the gradient's size as T grows (Hinton et al., 2015, arXiv 1503.02531).
The three terms are means, the first two over the hidden tokens, the third over all tokens.

Shapes: m hidden tokens, n tokens, V vocabulary entries, d the width of the states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TEMPERATURE = 2.0
SOFT, HARD, STATES = 5.0, 2.0, 1.0
"""Weights of the three losses."""


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """The three terms before their weights, each with its share of every token."""

    soft: Floats  # (m,) T² KL at each hidden token, nats
    hard: Floats  # (m,) surprise of the student at what stood there, nats
    states: Floats  # (n,) 1 - cosine at every token

    @property
    def total(self) -> float:
        """The weighted sum of the three means."""
        return SOFT * float(self.soft.mean()) + HARD * float(self.hard.mean()) + STATES * float(self.states.mean())


def log_soft(scores: Floats, temperature: float = 1.0) -> Floats:
    """(..., V) log-probabilities at a temperature."""
    z = np.asarray(scores, dtype=np.float64) / temperature
    z = z - z.max(axis=-1, keepdims=True)
    return np.asarray(z - np.log(np.exp(z).sum(axis=-1, keepdims=True)), dtype=np.float64)


def divergence(teacher: Floats, student: Floats, temperature: float = TEMPERATURE) -> Floats:
    """(...,) KL(teacher, student) in nats of scores (..., V) at a temperature, without the factor T²."""
    p, q = log_soft(teacher, temperature), log_soft(student, temperature)
    return np.asarray((np.exp(p) * (p - q)).sum(axis=-1), dtype=np.float64)


def losses(
    teacher: Floats,
    student: Floats,
    truth: NDArray[np.int64],
    states: tuple[Floats, Floats],
    temperature: float = TEMPERATURE,
) -> Losses:
    """The three losses of one text.

    Args:
        teacher, student: (m, V) scores at the hidden tokens.
        truth: (m,) what stood there.
        states: (n, d) last states of teacher and student at every token.
    """
    soft = temperature**2 * divergence(teacher, student, temperature)
    hard = -np.take_along_axis(log_soft(student), np.asarray(truth)[:, None], axis=-1)[:, 0]
    one, other = (np.asarray(state, dtype=np.float64) for state in states)
    lengths = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return Losses(soft, hard, 1 - (one * other).sum(axis=-1) / np.maximum(lengths, 1e-12))
