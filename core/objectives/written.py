"""The decoder's half of an example: what an encoder-decoder reads on its right-hand side, one place behind its answer.

At step t the decoder has read the answer up to t - 1 and is asked for token t (teacher forcing); a token that is no
part of any text stands before the first. The encoder sees all of its input, the decoder what it has read, and across
it sees everything that the encoder made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.objectives.example import Cell, Example, Visible


def written(original: Sequence[str], source: Sequence[Cell], answer: Sequence[Cell], begin: str) -> Example:
    """An example whose decoder is asked for ``answer``, token by token.

    Args:
        original: the text before any damage.
        source: what the encoder reads, without targets.
        answer: what is to be written, each as it looks when it is read back; targets are filled in here.
        begin: what the decoder reads before the first token.
    """
    read = (Cell(begin, change="special"), *answer[:-1])
    decoder = tuple(replace(cell, target=asked.token) for cell, asked in zip(read, answer, strict=True))
    left, right = tuple(cell.token for cell in source), tuple(cell.token for cell in decoder)
    visible = (
        Visible("encoder", left, left, np.ones((len(left), len(left)), dtype=np.bool_)),
        Visible("decoder", right, right, np.tri(len(right), dtype=np.bool_)),
        Visible("cross", right, left, np.ones((len(right), len(left)), dtype=np.bool_)),
    )
    return Example(tuple(original), tuple(source), decoder, visible=visible)
