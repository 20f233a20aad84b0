r"""ELMo's mix of layers (Peters et al. 2018, arXiv 1802.05365, equation 1), for the layers of any model.

.. math:: E = \gamma \sum_{j=0}^{L} s_j\, h_j, \qquad s_j = \frac{e^{w_j}}{\sum_k e^{w_k}}

with :math:`h_j` a word's vector after layer j (0 the vectors that the first layer reads), :math:`s_j` weights that are
positive and sum to one, and :math:`\gamma` the length that a task wants. The paper learns w and :math:`\gamma` together
with the task's own model while the language model stays as it is. Layers have lengths of their own, so that a small
weight of a long layer may count for more than a large one of a short layer; the paper normalises each layer first where
that helps:

.. math:: \mathrm{norm}(h) = (h - \mu) / \sqrt{\sigma^2 + \epsilon}

with the mean and variance of the numbers of h.

numpy alone. Legend: L layers, n words, w width.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.attention.trace import Floats
from core.errors import OutOfRange

EPSILON = 1e-5


def weights(raw: Sequence[float]) -> tuple[float, ...]:
    """The softmax of w."""
    exact = np.asarray(raw, dtype=np.float64)
    risen = np.exp(exact - exact.max())
    return tuple(float(value) for value in risen / risen.sum())


def normed(states: Floats) -> Floats:
    """(..., w) with mean 0 and variance 1 in each vector."""
    middle = states.mean(axis=-1, keepdims=True)
    spread = states.var(axis=-1, keepdims=True)
    found: Floats = ((states - middle) / np.sqrt(spread + EPSILON)).astype(np.float32)
    return found


def mixed(states: Floats, raw: Sequence[float], gamma: float = 1.0, *, norm: bool = True) -> Floats:
    """(L + 1, n, w) states to (n, w).

    Raises:
        OutOfRange: not one w for each layer.
    """
    if len(raw) != len(states):
        raise OutOfRange(f"There are {len(states)} layers to mix, the embeddings among them, and {len(raw)} weights.")
    layers = normed(states) if norm else states
    found: Floats = (gamma * np.tensordot(np.asarray(weights(raw)), layers, axes=1)).astype(np.float32)
    return found
