r"""ELMo's scalar mix of layers (Peters et al. 2018, arXiv 1802.05365, equation 1), for the layers of any model.

.. math:: E = \gamma \sum_{j=0}^{L} s_j\, h_j, \qquad s_j = \frac{e^{w_j}}{\sum_k e^{w_k}}

with :math:`h_j` a word's vector after layer j (0: the input of the first layer), :math:`s_j` softmax weights, and
:math:`\gamma` a scale. The paper learns w and :math:`\gamma` together with the task's own model while the language
model is frozen. The layers' vectors differ in norm, so that a small weight of a layer with large norms may count for
more than a large weight of another; the paper applies layer normalization first where that helps:

.. math:: \mathrm{norm}(h) = (h - \mu) / \sqrt{\sigma^2 + \epsilon}

with the mean and variance of the values of h.

The weights that small tasks learn are stored (`lab.vectors`): a `LearnedMix`.

Legend: L layers, n words, w hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Floats

EPSILON = 1e-5


def weights(raw: Sequence[float]) -> tuple[float, ...]:
    """The softmax of w."""
    raised = np.exp(np.asarray(raw, dtype=np.float64) - max(raw))
    return tuple((raised / raised.sum()).tolist())


def normed(states: Floats) -> Floats:
    """(..., w) with mean 0 and variance 1 in each vector."""
    centered = states - states.mean(axis=-1, keepdims=True)
    result: Floats = (centered / np.sqrt(states.var(axis=-1, keepdims=True) + EPSILON)).astype(np.float32)
    return result


def mix_layers(states: Floats, raw: Sequence[float], gamma: float = 1.0, *, norm: bool = True) -> Floats:
    """(L + 1, n, w) states and a weight for each layer to (n, w)."""
    layers = normed(states) if norm else states
    result: Floats = (gamma * np.tensordot(np.asarray(weights(raw)), layers, axes=1)).astype(np.float32)
    return result


TOPIC = "topic"
"""A task of ELMo alone: the topic of the sentence that a word is in."""
SPLITS = 3
"""Random splits of the sentences; a third of them is held out in each."""


@dataclass(frozen=True, slots=True)
class LearnedMix:
    """The mix learned for one task; means over `SPLITS` splits."""

    task: str
    weights: tuple[float, ...]
    """(L + 1,) s."""
    gamma: float
    accuracy: float
    """Of the mix, on words of the held-out sentences."""
    alone: tuple[float, ...]
    """(L + 1,) accuracy of each layer alone."""
    commonest: float
    """Accuracy of always predicting the most frequent class."""
    words: int
    """In all sentences."""
    classes: int
