r"""GLUE's metrics: accuracy, F1, Matthews correlation, Pearson and Spearman correlation.

With TP, TN, FP, FN the counts of true and false positives and negatives,

.. math::

    F_1 = \frac{2\,TP}{2\,TP + FP + FN}, \qquad
    MCC = \frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}.

Matthews correlation is Pearson's of the 0s and 1s, Spearman's is Pearson's of the ranks. A constant has no correlation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = Sequence[float]


def accuracy(truth: Values, predicted: Values) -> float:
    """The share of equal values."""
    return float(np.mean(np.asarray(truth) == np.asarray(predicted)))


def f1(truth: Values, predicted: Values) -> float:
    """Of class 1; 0 where it is neither present nor predicted."""
    positive, chosen = np.asarray(truth) == 1, np.asarray(predicted) == 1
    every = positive.sum() + chosen.sum()
    return float(2 * (positive & chosen).sum() / every) if every else 0.0


def pearson(truth: Values, predicted: Values) -> float | None:
    """Their correlation; None where one is constant."""
    a, b = (np.asarray(values, np.float64) - np.mean(values) for values in (truth, predicted))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 1e-12 else None


def matthews(truth: Values, predicted: Values) -> float:
    """Of two classes; 0 where one is constant, as scikit-learn has it."""
    return pearson(truth, predicted) or 0.0


def spearman(truth: Values, predicted: Values) -> float | None:
    """The correlation of the ranks; None where one is constant."""
    return pearson(_ranks(truth).tolist(), _ranks(predicted).tolist())


def _ranks(values: Values) -> NDArray[np.float64]:
    """Ranks; equal values share their mean."""
    own = np.asarray(values, np.float64)
    return np.asarray((own[:, None] > own).sum(1) + (own[:, None] == own).sum(1) / 2)
