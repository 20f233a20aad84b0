r"""GLUE's metrics: accuracy, F1, Matthews correlation, Pearson and Spearman correlation; and pass@k.

With TP, TN, FP, FN the counts of true and false positives and negatives,

.. math::

    F_1 = \frac{2\,TP}{2\,TP + FP + FN}, \qquad
    MCC = \frac{TP \cdot TN - FP \cdot FN}{\sqrt{(TP+FP)(TP+FN)(TN+FP)(TN+FN)}}.

Matthews correlation is Pearson's of the 0s and 1s, Spearman's is Pearson's of the ranks. A constant has no correlation.

pass@k is the probability that one of k samples passes the tests (Codex: Chen et al., 2021, arXiv 2107.03374).

With c of n samples passed, the estimates of a problem are

.. math:: 1 - \binom{n - c}{k} \Big/ \binom{n}{k} \quad \text{(unbiased)}, \qquad 1 - (1 - c/n)^k \quad \text{(naive)}.

The first is the share of all subsets of k samples that hold one that passed. Its mean over c, which is binomial with
the problem's rate p, is :math:`1 - (1-p)^k`; the mean of the naive estimate is lower. The variance is that of the same
binomial, with c/n for p; problems are independent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import NDArray

from core.errors import InputEmpty, InputTooLong, InputUnusable

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
    array = np.asarray(values, np.float64)
    return np.asarray((array[:, None] > array).sum(1) + (array[:, None] == array).sum(1) / 2)


MOST_SAMPLES, MOST_PROBLEMS = 200, 200
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimates:
    """Of all problems, by k = 1, ..., n."""

    unbiased: Floats
    deviation: Floats
    """Standard deviation of the unbiased estimate."""
    naive: Floats
    naive_mean: Floats
    """What the naive estimate would give on average if the observed rates were the true ones; the unbiased one would
    then give ``naive``."""


def passed(text: str, n: int) -> tuple[int, ...]:
    """The numbers of a box: how many of n samples passed, of each problem.

    Raises:
        InputEmpty, InputTooLong, InputUnusable: no numbers, too many, or one that is no number from 0 to n.
    """
    words = re.split(r"[\s,;]+", text.strip())
    if not any(words):
        raise InputEmpty("There are no results. Type how many samples of each problem passed: “0, 3, 20”.")
    if len(words) > MOST_PROBLEMS:
        raise InputTooLong(f"There are {len(words):,} problems; at most {MOST_PROBLEMS} are used here.")
    wrong = [word for word in words if not (word.isascii() and word.isdigit() and len(word) < 4 and int(word) <= n)]
    if wrong:
        raise InputUnusable(f"“{wrong[0][:20]}” is no number of passed samples: from 0 to {n}, the samples drawn.")
    return tuple(map(int, words))


@lru_cache(maxsize=8)
def _tables(n: int) -> tuple[Floats, Floats, Floats]:
    """(c, k) both estimates for c = 0, ..., n and k = 1, ..., n, and (true c, c) the binomial probabilities."""
    ks, cs = range(1, n + 1), range(n + 1)
    unbiased = np.array([[1 - comb(n - c, k) / comb(n, k) for k in ks] for c in cs])
    rate = np.arange(n + 1) / n
    naive = 1 - (1 - rate[:, None]) ** np.arange(1, n + 1)
    ways = np.array([float(comb(n, c)) for c in cs])
    chances = ways * rate[:, None] ** np.arange(n + 1) * (1 - rate[:, None]) ** np.arange(n, -1, -1)
    return unbiased, naive, chances


def estimate(counts: Sequence[int], n: int) -> Estimates:
    """Both estimates for problems with ``counts`` of n samples passed."""
    unbiased, naive, chances = _tables(n)
    passed = np.asarray(counts)
    variance = chances @ unbiased**2 - (chances @ unbiased) ** 2
    deviation = np.sqrt(np.maximum(variance[passed], 0).sum(0)) / len(passed)
    return Estimates(unbiased[passed].mean(0), deviation, naive[passed].mean(0), (chances @ naive)[passed].mean(0))
