"""The axes of what projections read and give, brought to rows, tokens, width, and back.

Nearly every architecture has them in this order. FSMT has its tokens first, as fairseq has; SqueezeBERT's projections
are convolutions over one token, which have them last.

Legend: R rows of a batch, n tokens, w width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

    from core.attention.architectures.attends import Order


def usual(tensor: Tensor, order: Order) -> Tensor:
    """(R, n, w) of a tensor whose axes stand in ``order``; one that may have further axes has the usual order."""
    match order:
        case "row token width":
            return tensor
        case "token row width":
            return tensor.transpose(0, 1)
        case "row width token":
            return tensor.transpose(1, 2)


def original(tensor: Tensor, order: Order) -> Tensor:
    """What :func:`usual` undid: each exchange of two axes undoes itself."""
    return usual(tensor, order)
