"""Two segments in one input, and one question about both: the frame of next sentence and of both sentence orders."""

from __future__ import annotations

from collections.abc import Sequence

from core.objectives import example
from core.objectives.example import Cell, Example, Label


def pair(
    a: Sequence[str], b: Sequence[str], label: Label, *, cls: str = "[CLS]", sep: str = "[SEP]", first: int = 0
) -> Example:
    """[CLS] A [SEP] B [SEP] with segments 0 and 1; the loss is taken once, at [CLS].

    Args:
        a, b: the segments in the order in which they are read.
        first: index among the original tokens at which A begins; B stands before A where it is the length of B.
    """
    second = 0 if first else len(a)
    cells = (
        Cell(cls, change="special"),
        *(Cell(token, origin=first + index) for index, token in enumerate(a)),
        Cell(sep, change="special"),
        *(Cell(token, origin=second + index, segment=1) for index, token in enumerate(b)),
        Cell(sep, change="special", segment=1),
    )
    original = (*b, *a) if first else (*a, *b)
    return Example(original, cells, labels=(label,), visible=(example.full(cells),))
