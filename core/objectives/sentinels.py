r"""Span corruption: runs of tokens are taken out, and the model writes them (Raffel et al., 2019, arXiv 1910.10683).

Of n tokens :math:`h = \mathrm{round}(r n)` are hidden, in :math:`s = \max(1, \mathrm{round}(h / \mu))` runs; r is 15 %
and :math:`\mu` 3 in the final models. Each run becomes one sentinel in the input, every one another; the answer is each
sentinel with what stood there, and a last sentinel that ends it:

    text      Thank you for inviting me to your party last week
    input     Thank you <extra_id_0> me to your party <extra_id_1> week
    answer    <extra_id_0> for inviting <extra_id_1> last <extra_id_2>

.. math:: L = -\frac{1}{|y|} \sum_t \log p(y_t \mid y_{<t}, \tilde x)

Which runs: the released code (``random_spans_noise_mask`` in t5/data/preprocessors.py of the authors' repository)
divides the h hidden tokens into s runs of at least one, and the n - h kept ones likewise, all divisions being equally
likely, and lets them alternate, a kept run first. So a text never begins with a hidden token, and always ends with one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.errors import InputUnusable
from core.objectives.example import Bools, Cell, Example
from core.objectives.written import written

RATE = 0.15
MEAN = 3.0
SENTINELS = 100
"""As many has T5's vocabulary."""


def division(items: int, parts: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(parts,) whole numbers of at least 1 that sum to ``items``, every such row being equally likely."""
    cuts = 1 + np.sort(rng.permutation(items - 1)[: parts - 1])
    return np.diff(np.concatenate([[0], cuts, [items]])).astype(np.int64)


def hidden(length: int, rng: np.random.Generator, rate: float = RATE, mean: float = MEAN) -> Bools:
    """(length,) True where a token is taken out; ``length`` is 2 at least."""
    count = min(max(round(length * rate), 1), length - 1)
    runs = min(max(round(count / mean), 1), count, length - count)
    gone = division(count, runs, rng)
    kept = division(length - count, runs, rng)
    lengths = np.stack([kept, gone], axis=1).ravel()
    return np.repeat(np.arange(2 * runs) % 2 == 1, lengths)


def corrupt(
    tokens: Sequence[str],
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    mean: float = MEAN,
    sentinel: str = "<extra_id_{}>",
    begin: str = "<pad>",
    end: str = "</s>",
) -> Example:
    """The input with sentinels, and the decoder's answer.

    Args:
        tokens: the text as the tokeniser cuts it.
        rate: share of the tokens that is hidden.
        mean: tokens in a run, in the mean.
        sentinel: how a sentinel is written, with a place for its number.

    Raises:
        InputUnusable: fewer than two tokens, or more runs than there are sentinels.
    """
    original = tuple(tokens)
    if len(original) < 2:
        raise InputUnusable("One token alone cannot be asked from the others. Type a sentence of a few words.")
    gone = hidden(len(original), rng, rate, mean)
    source: list[Cell] = []
    answer: list[Cell] = []
    number = -1
    for place, token in enumerate(original):
        if not gone[place]:
            source.append(Cell(token, origin=place))
            continue
        if not gone[place - 1]:
            number += 1
            mark = Cell(sentinel.format(number), change="masked", note="sentinel")
            source.append(mark)
            answer.append(mark)
        answer.append(Cell(token, origin=place))
    if number + 2 > SENTINELS:
        raise InputUnusable(
            f"{number + 1} runs need more than the {SENTINELS} sentinels there are. Choose longer runs."
        )
    last = (Cell(sentinel.format(number + 1), change="masked", note="sentinel"), Cell(end, change="special"))
    return written(original, (*source, Cell(end, change="special")), (*answer, *last), begin)
