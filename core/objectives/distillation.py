r"""Distillation: a student is trained on its teacher's probabilities (DistilBERT: Sanh et al., 2019, arXiv 1910.01108).

At a temperature T a distribution is :math:`p_T = \mathrm{softmax}(z / T)` of the scores z; a high T raises the
teacher's second and third choices. Three losses are summed with weights (5, 2 and 1 in the released recipe, T = 2):

.. math:: L = 5\, T^2\, KL(p_T \,\|\, q_T) \;-\; 2 \log q_1(x) \;+\; 1 - \cos(h, h')

with p the teacher and q the student over the vocabulary at a masked token, x the original token, and h, h' the last
states of teacher and student. :math:`T^2` keeps the gradient's size as T grows (Hinton et al., 2015, arXiv 1503.02531).
The three terms are means, the first two over the masked tokens, the third over all tokens.

Shapes: m masked tokens, n tokens, V vocabulary entries, d the hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.objectives.contrastive import Floats, log_softmax

TEMPERATURE = 2.0
SOFT, HARD, STATES = 5.0, 2.0, 1.0
"""Weights of the three losses."""


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """The three terms before their weights, token by token."""

    soft: Floats  # (m,) T² KL at each masked token, nats
    hard: Floats  # (m,) surprisal of the original token for the student, nats
    states: Floats  # (n,) 1 - cosine at every token

    @property
    def total(self) -> float:
        """The weighted sum of the three means."""
        return SOFT * float(self.soft.mean()) + HARD * float(self.hard.mean()) + STATES * float(self.states.mean())


def losses(
    teacher: Floats,
    student: Floats,
    truth: NDArray[np.int64],
    states: tuple[Floats, Floats],
    temperature: float = TEMPERATURE,
) -> Losses:
    """The three losses of one text.

    Args:
        teacher, student: (m, V) scores at the masked tokens.
        truth: (m,) the original tokens.
        states: (n, d) last states of teacher and student at every token.
    """
    p, q = log_softmax(teacher, temperature), log_softmax(student, temperature)
    soft = temperature**2 * (np.exp(p) * (p - q)).sum(axis=-1)
    hard = -np.take_along_axis(log_softmax(student), truth[:, None], axis=-1)[:, 0]
    teacher_states, student_states = states
    lengths = np.linalg.norm(teacher_states, axis=-1) * np.linalg.norm(student_states, axis=-1)
    return Losses(soft, hard, 1 - (teacher_states * student_states).sum(axis=-1) / np.maximum(lengths, 1e-12))
