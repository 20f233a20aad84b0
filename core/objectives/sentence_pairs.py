r"""Two segments with one answer, predicted at [CLS]: next sentence (BERT), two orders (ALBERT), three (StructBERT).

.. math:: L = -\log p(y \mid A, B)

**Next sentence**: in half of the examples B is what follows A, in the other half it comes from another text. BERT adds
this loss to that of the masked tokens. Devlin et al. (2019), section 3.1.

**Sentence order**: A and B always follow each other in one text, and are swapped in half of the examples. The topic
does not help, as it does in next sentence. Lan et al. (2020), section 3.1.

**Three orders**: B comes after A, before A, or from another text, a third of the examples each. Wang et al. (2020),
arXiv:1908.04577.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.objectives.example import Cell, Example, Label, full

SHARE = 0.5
"""Of the examples whose B follows A (BERT), or whose segments are in the order of the text (ALBERT)."""
NEXT = ("B follows A", "B is from another text")
TWO = ("in the text's order", "swapped")
THREE = ("B comes after A", "B comes before A", "B is from another text")


def next_sentence(
    first: Sequence[str], second: Sequence[str], other: Sequence[str], rng: np.random.Generator, **frame: str
) -> Example:
    """``first`` with the segment that follows it in the text, or with ``other``, a segment of another text."""
    answer = 0 if rng.random() < SHARE else 1
    return join(first, (second, other)[answer], Label("next sentence", NEXT, answer), **frame)


def two_orders(
    first: Sequence[str], second: Sequence[str], _other: Sequence[str], rng: np.random.Generator, **frame: str
) -> Example:
    """Two neighboring segments in their order, or swapped."""
    return _ordered(first, second, Label("sentence order", TWO, 0 if rng.random() < SHARE else 1), **frame)


def three_orders(
    first: Sequence[str], second: Sequence[str], other: Sequence[str], rng: np.random.Generator, **frame: str
) -> Example:
    """Two neighboring segments in their order, swapped, or the first with ``other``: equally likely."""
    label = Label("sentence order", THREE, int(rng.integers(3)))
    return join(first, other, label, **frame) if label.answer == 2 else _ordered(first, second, label, **frame)


def _ordered(first: Sequence[str], second: Sequence[str], label: Label, **frame: str) -> Example:
    return join(second, first, label, len(first), **frame) if label.answer else join(first, second, label, **frame)


def join(
    a: Sequence[str], b: Sequence[str], label: Label, start: int = 0, /, *, cls: str = "[CLS]", sep: str = "[SEP]"
) -> Example:
    """[CLS] A [SEP] B [SEP] with segments 0 and 1; the only loss is that of the label, at [CLS].

    Args:
        a, b: the segments in the order in which they are read.
        start: index of A's first token in the text: 0, or the length of B where B precedes A there.
    """
    second = 0 if start else len(a)
    cells = (
        Cell(cls, change="special"),
        *(Cell(token, origin=start + index) for index, token in enumerate(a)),
        Cell(sep, change="special"),
        *(Cell(token, origin=second + index, segment=1) for index, token in enumerate(b)),
        Cell(sep, change="special", segment=1),
    )
    return Example((*b, *a) if start else (*a, *b), cells, labels=(label,), visible=(full(cells),))
