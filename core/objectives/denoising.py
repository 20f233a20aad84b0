r"""Denoising: the decoder reconstructs a corrupted text (BART: Lewis et al., 2019, arXiv 1910.13461).

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t}, \tilde x)

with x the text and x̃ its corruption. The five corruptions are those of `corruptions`; here they run over the
positions of the tokens instead of the tokens, so that every token can be traced. Several together run in a fixed order:
sentence permutation, document rotation, token deletion, token masking, text infilling. The large model was trained with
two of them, ``permute`` and ``infill``.

A special token that a visitor typed may move with the text, but is neither deleted nor masked. Spans are then sampled
between such tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

import numpy as np

from core.errors import InputUnusable
from core.objectives import corruptions
from core.objectives.example import Cell, Change, Example, seq2seq

KINDS = ("permute", "rotate", "delete", "mask", "infill")
"""In the order in which they run."""
PUBLISHED = ("permute", "infill")
MASK = "<mask>"
_MASK = -1
"""The mask among positions."""


def corrupt(
    sentences: Sequence[Sequence[str]],
    rng: np.random.Generator,
    kinds: Collection[str] = PUBLISHED,
    *,
    special: Collection[str] = (),
) -> Example:
    """The corrupted text, and the decoder that generates the original.

    Args:
        sentences: the text as sentences of tokens; none is empty.
        kinds: names of :data:`KINDS`; none of them leaves the text as it is.
        special: special tokens, which stay unchanged where a visitor typed them.

    Raises:
        InputUnusable: no ordinary token.
    """
    original = tuple(token for sentence in sentences for token in sentence)
    if all(token in special for token in original):
        raise InputUnusable("There is no token to corrupt. Type a sentence of a few words.")
    row = [
        Cell(token, change="special" if token in special else "none", origin=position)
        for position, token in enumerate(original)
    ]
    if "permute" in kinds:
        row = _moved(row, corruptions.permute_sentences(_positions(sentences), _MASK, rng))
    if "rotate" in kinds:
        row = _moved(row, corruptions.rotate([range(len(row))], _MASK, rng))
    if "delete" in kinds:
        free = _free(row)
        remaining = set(corruptions.delete_tokens([free], _MASK, rng))
        row = [cell for position, cell in enumerate(row) if position in remaining or position not in free]
    if "mask" in kinds:
        free = _free(row)
        masked = corruptions.mask_tokens([free], _MASK, rng)
        for position, new_token in zip(free, masked, strict=True):
            if new_token == _MASK:
                row[position] = Cell(MASK, change="masked", origin=row[position].origin)
    if "infill" in kinds:
        row = _infilled(row, rng)
    begin, end = Cell("<s>", change="special"), Cell("</s>", change="special")
    answer = [*(Cell(token, origin=position) for position, token in enumerate(original)), end]
    return seq2seq(original, (begin, *row, end), answer, end.token)


def _positions(sentences: Sequence[Sequence[str]]) -> list[list[int]]:
    """The sentences as positions of their tokens in the text."""
    starts = np.cumsum([0, *map(len, sentences)]).tolist()
    return [list(range(starts[i], starts[i + 1])) for i in range(len(sentences))]


def _moved(row: Sequence[Cell], order: Sequence[int]) -> list[Cell]:
    """``row`` in another order; tokens at a new position are marked as moved."""
    return [
        row[position]
        if position == index or row[position].change == "special"
        else Cell(row[position].token, change="moved", origin=row[position].origin)
        for index, position in enumerate(order)
    ]


def _free(row: Sequence[Cell]) -> list[int]:
    """Positions of the tokens that may be corrupted."""
    return [position for position, cell in enumerate(row) if cell.change != "special"]


def _infilled(row: Sequence[Cell], rng: np.random.Generator) -> list[Cell]:
    """``row`` with spans infilled between special tokens, wherever there are enough tokens for a span."""
    pieces = [(fixed, list(span)) for fixed, span in groupby(row, key=lambda cell: cell.change == "special")]
    longest = max(len(span) for fixed, span in pieces if not fixed)
    out: list[Cell] = []
    for fixed, span in pieces:
        skipped = fixed or (len(span) < longest and not round(corruptions.INFILLED * len(span)))
        out += span if skipped else _filled(span, corruptions.infill([range(len(span))], _MASK, rng))
    return out


def _filled(row: Sequence[Cell], filled: Sequence[int]) -> list[Cell]:
    """``row`` after infilling, given as positions of it with masks between them.

    The mask of an empty span counts as inserted. Adjacent masks, which happen when hardly a token is left, all count as
    masked if any token between their neighbors was removed.
    """
    out: list[Cell] = []
    before = -1
    for at, position in enumerate(filled):
        if position != _MASK:
            out.append(row[position])
            before = position
            continue
        after = next((later for later in filled[at:] if later != _MASK), len(row))
        change: Change = "masked" if after > before + 1 else "inserted"
        out.append(Cell(MASK, change=change))
    return out
