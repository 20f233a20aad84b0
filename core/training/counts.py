r"""Counted n-grams of characters: the baseline of a language model, in bits per byte of held-out lines.

.. math::

    p_n(c \mid h) = \frac{\max(\#(h c) - D, 0)}{\#(h)} + \frac{D\, k(h)}{\#(h)}\, p_{n-1}(c \mid h'), \qquad
    p_1(c) = \frac{\#(c) + 1}{\sum_x (\#(x) + 1)}

with h the n - 1 characters before c, h' without their first, k(h) the number of different characters after h, and D
the absolute discount (Ney et al. 1994). A line ends in a line break and starts after one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.training.text import Corpus, count_bytes

DISCOUNT = 0.75
Ints = NDArray[np.int64]


def bits_per_byte(corpus: Corpus, longest: int = 5) -> tuple[float, ...]:
    """Of n-grams of 1, ..., ``longest`` characters, on the held-out lines."""
    read, held_out = (_codes(lines) for lines in (corpus.train, corpus.held_out))
    letters, codes = np.unique(np.concatenate([read, held_out]), return_inverse=True)
    size = len(letters)
    train, test = codes[: len(read)].astype(np.int64), codes[len(read) :].astype(np.int64)
    counts = np.bincount(train, minlength=size) + 1.0
    chances = (counts / counts.sum())[test]
    bits = [-np.log2(chances[1:])]
    before, before_test = np.zeros_like(train), np.zeros_like(test)  # the number of the history of each character
    for order in range(1, longest):
        histories, both = np.unique(
            np.concatenate([_shifted(before) * size + _shifted(train), _shifted(before_test) * size + _shifted(test)]),
            return_inverse=True,
        )
        before, before_test = both[: len(train)], both[len(train) :]
        chances = _interpolated(before[order:], train[order:], before_test, test, size, len(histories), chances)
        bits.append(-np.log2(chances[1:]))
    total = count_bytes(corpus.held_out)
    return tuple(float(row.sum()) / total for row in bits)


def _codes(lines: tuple[str, ...]) -> Ints:
    """Code points of the lines, after a line break and each with one."""
    text = "\n" + "".join(f"{line}\n" for line in lines)
    return np.frombuffer(text.encode("utf-32-le", "replace"), dtype=np.uint32).astype(np.int64)


def _shifted(codes: Ints) -> Ints:
    """Each character's predecessor; the first has none, and takes its own."""
    return np.concatenate([codes[:1], codes[:-1]])


def _interpolated(
    before: Ints, after: Ints, before_test: Ints, test: Ints, size: int, histories: int, lower: NDArray[np.float64]
) -> NDArray[np.float64]:
    pairs, count = np.unique(before * size + after, return_counts=True)
    total = np.bincount(before, minlength=histories)
    kinds = np.bincount(pairs // size, minlength=histories)
    keys = before_test * size + test
    at = np.minimum(np.searchsorted(pairs, keys), len(pairs) - 1)
    seen = np.where(pairs[at] == keys, count[at], 0)
    known = total[before_test] > 0
    whole = np.maximum(total[before_test], 1)
    left = np.where(known, DISCOUNT * kinds[before_test] / whole, 1.0)
    chances: NDArray[np.float64] = np.maximum(seen - DISCOUNT, 0) / whole + left * lower
    return chances
