"""Baselines of the questions about two segments, which read words and no order of them within a segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

Row = tuple[list[int], list[int], int]
"""Token ids of both segments, and the label: 0 where they are consecutive and in order."""
SCALE = 20.0
"""Of the share of common tokens, so that the penalty of the regression hardly holds its weight down."""


def segments(batch: Mapping[str, Tensor]) -> list[Row]:
    """The pairs of a batch."""
    return [
        (*(ids[(types == segment) & (real == 1)][1 - segment : -1].tolist() for segment in (0, 1)), int(answer))
        for ids, real, types, answer in zip(*(batch[n] for n in ("ids", "real", "types", "answers")), strict=True)
        if answer >= 0
    ]


def words_before(known: Sequence[Any], rows: Sequence[Any], *, shared: bool = False) -> float:
    """Accuracy in percent of a logistic regression on which tokens are in each segment, and which one begins it.

    Args:
        known, rows: pairs to learn from and to judge, each as `Row`.
        shared: whether it reads the share of B's tokens that are in A, too.
    """
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    size = 1 + max(max(*a, *b) for a, b, _ in (*known, *rows))

    def features(pairs: Sequence[Any]) -> Any:
        cells = [
            (row, column, sign)
            for row, pair in enumerate(pairs)
            for text, sign in ((pair[0], 1.0), (pair[1], -1.0))
            for column in (*set(map(int, text)), size + int(text[0]))
        ]
        if shared:
            both = ((row, set(map(int, a)), set(map(int, b))) for row, (a, b, _) in enumerate(pairs))
            cells += [(row, 2 * size, SCALE * len(a & b) / len(b)) for row, a, b in both]
        at, columns, signs = zip(*cells, strict=True)
        return csr_matrix((signs, (at, columns)), shape=(len(pairs), 2 * size + 1))

    labels = [[label for *_, label in pairs] for pairs in (known, rows)]
    model = LogisticRegression(C=0.05, max_iter=300, fit_intercept=shared).fit(features(known), labels[0])
    return 100 * float(model.score(features(rows), labels[1]))


def shared_words(rows: Sequence[Row]) -> float:
    """Accuracy in percent of the topic baseline: the half of the pairs with the higher tf-idf cosine follow."""
    size = 1 + max(max(a + b) for a, b, _ in rows)
    counts = np.stack([[np.bincount(text, minlength=size) for text in row[:2]] for row in rows]).astype(np.float32)
    weights = counts * np.log(2 * len(rows) / (1 + (counts > 0).sum((0, 1))))
    a, b = weights[:, 0], weights[:, 1]
    cosines = (a * b).sum(-1) / np.maximum(np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1), 1e-9)
    follows = cosines > np.median(cosines)
    return 100 * float(np.mean(follows == (np.array([label for *_, label in rows]) == 0)))
