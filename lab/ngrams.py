r"""Unigram and bigram models, the baselines of language models.

.. math::

    p(b \mid a) = \frac{\max(c(a, b) - D, 0)}{c(a)} + \frac{D\, n(a)}{c(a)}\, p(b), \qquad
    p(b) = \frac{c(b) + 1}{\sum_w (c(w) + 1)}

with c the counts of training, n(a) the number of different tokens after a, and D the absolute discount (Ney et al.,
1994).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lab.documents import Documents
from lab.tokens import Ints

DISCOUNT = 0.75
Floats = npt.NDArray[np.float64]


class Bigram:
    """Counts of pairs.

    Args:
        before, after: (n,) the tokens of each pair.
        size: of the vocabulary.
    """

    def __init__(self, before: Ints, after: Ints, size: int) -> None:
        self.size = size
        self.pairs, self.counts = np.unique(before.astype(np.int64) * size + after, return_counts=True)
        self.total = np.bincount(before, minlength=size)
        self.kinds = np.bincount(self.pairs // size, minlength=size)
        counts = np.bincount(after, minlength=size) + 1.0
        self.unigram: Floats = counts / counts.sum()

    def log(self, before: Ints, after: Ints) -> Floats:
        """log p(after | before) in nats; arrays of one shape."""
        keys = before.astype(np.int64) * self.size + after
        at = np.minimum(np.searchsorted(self.pairs, keys), len(self.pairs) - 1)
        count = np.where(self.pairs[at] == keys, self.counts[at], 0)
        total = np.maximum(self.total[before], 1)
        left = np.where(self.total[before] > 0, DISCOUNT * self.kinds[before] / total, 1.0)
        result: Floats = np.log(np.maximum(count - DISCOUNT, 0) / total + left * self.unigram[after])
        return result


def of_chunks(text: Documents, begin: int, end: int, size: int) -> tuple[Bigram, Bigram]:
    """The bigram models from the left and from the right of chunks, each between the tokens ``begin`` and ``end``."""
    flat, offsets = text.sentences.flat.astype(np.int64), text.sentences.offsets
    inner = np.repeat(offsets[text.bounds[1:, 0]], 2)
    framed = np.insert(flat, [0, *inner, len(flat)], [begin, *[end, begin] * (len(inner) // 2), end])
    left, right = framed[:-1], framed[1:]
    inside = left != end
    return Bigram(left[inside], right[inside], size), Bigram(right[inside], left[inside], size)
