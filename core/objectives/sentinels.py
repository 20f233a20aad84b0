r"""Span corruption: spans of tokens are removed, and the decoder generates them (T5: Raffel et al., 2019, arXiv
1910.10683).

Of n tokens :math:`h = \mathrm{round}(r n)` are masked, in :math:`s = \max(1, \mathrm{round}(h / \mu))` spans; r is 15%
and :math:`\mu` 3 in the final models. Each span becomes a sentinel of its own in the input; the answer is each sentinel
with the tokens of its span, and a last sentinel:

    text      Thank you for inviting me to your party last week
    input     Thank you <extra_id_0> me to your party <extra_id_1> week
    answer    <extra_id_0> for inviting <extra_id_1> last <extra_id_2>

.. math:: L = -\frac{1}{|y|} \sum_t \log p(y_t \mid y_{<t}, \tilde x)

Which spans: the released code (``random_spans_noise_mask`` in t5/data/preprocessors.py of the authors' repository)
divides the h masked tokens into s spans of at least one, and the n - h others likewise. All divisions are equally
likely. Unmasked and masked spans alternate, so a text never begins with a masked token and always ends with one.

A special token that a visitor typed is never masked: spans are sampled over the other tokens, and a span around such a
token becomes two. A sentinel in the typed text is not used again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from core.arrays import Bools
from core.errors import InputUnusable
from core.objectives.example import Cell, Example, seq2seq

RATE = 0.15
MEAN = 3.0
SENTINELS = 100
"""In T5's vocabulary."""
_SENTINEL = re.compile(r"(<extra_id_\d+>)")


def division(items: int, parts: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(parts,) whole numbers of at least 1 that sum to ``items``, sampled uniformly from all such rows."""
    boundaries = 1 + np.sort(rng.permutation(items - 1)[: parts - 1])
    return np.diff(np.concatenate([[0], boundaries, [items]])).astype(np.int64)


def noise_mask(length: int, rng: np.random.Generator, rate: float = RATE, mean: float = MEAN) -> Bools:
    """(length,) True where a token is removed; ``length`` is 2 at least."""
    count = min(max(round(length * rate), 1), length - 1)
    spans = min(max(round(count / mean), 1), count, length - count)
    removed = division(count, spans, rng)
    unmasked = division(length - count, spans, rng)
    lengths = np.stack([unmasked, removed], axis=1).ravel()
    return np.repeat(np.arange(2 * spans) % 2 == 1, lengths)


def corrupt(
    tokens: Sequence[str],
    rng: np.random.Generator,
    *,
    rate: float = RATE,
    mean: float = MEAN,
    special: Collection[str] = (),
) -> Example:
    """The input with sentinels, and the decoder's answer.

    Args:
        rate: share of the tokens that is masked.
        mean: mean tokens in a span.
        special: special tokens, which stay unchanged where a visitor typed them.

    Raises:
        InputUnusable: fewer than two ordinary tokens, or more spans than there are sentinels.
    """
    original = tuple(tokens)
    ordinary = [position for position, token in enumerate(original) if token not in special]
    if len(ordinary) < 2:
        raise InputUnusable("A single token has no context to predict it from. Type a sentence of a few words.")
    removed = np.zeros(len(original), dtype=np.bool_)
    removed[ordinary] = noise_mask(len(ordinary), rng, rate, mean)
    spans = int(np.sum(removed & ~np.roll(removed, 1)))  # the first token is never removed, so no span wraps around
    marks = [name for name in map("<extra_id_{}>".format, range(SENTINELS)) if name not in original]
    if spans + 1 > len(marks):
        raise InputUnusable(f"{spans} spans need more than the {len(marks)} sentinels there are. Choose longer spans.")
    source: list[Cell] = []
    answer: list[Cell] = []
    number = -1
    for position, token in enumerate(original):
        if not removed[position]:
            source.append(Cell(token, change="special" if token in special else "none", origin=position))
            continue
        if not removed[position - 1]:
            number += 1
            mark = Cell(marks[number], change="masked", note="sentinel")
            source.append(mark)
            answer.append(mark)
        answer.append(Cell(token, origin=position))
    end = Cell("</s>", change="special")
    last = Cell(marks[spans], change="masked", note="sentinel")
    return seq2seq(original, (*source, end), (*answer, last, end), "<pad>")


def spans(answer: str) -> dict[str, str]:
    """The span after each sentinel of an answer; empty after the last one."""
    pieces = _SENTINEL.split(answer)
    return dict(zip(pieces[1::2], map(str.strip, pieces[2::2]), strict=True))


def filled(text: str, answer: str) -> tuple[tuple[str, bool], ...]:
    """The parts of a text with sentinels, which the answer's spans replace, and whether a part is such a span."""
    answer_spans = spans(answer)
    return tuple((answer_spans.get(part, part), part in answer_spans) for part in _SENTINEL.split(text))
