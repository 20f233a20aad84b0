r"""The same text again and again: masks that come back, and masks that are drawn anew.

BERT's masks were drawn while the data were prepared. Each text was written down 10 times with 10 masks, and training
passed 40 times over it, so that each mask was seen :math:`40 / 10 = 4` times: *static* masking. RoBERTa draws a mask
whenever a text comes: *dynamic* masking. Liu et al. (2019), section 4.1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from core.errors import OutOfRange
from core.objectives import masked
from core.objectives.example import Example
from core.objectives.masked import RATE, Settings

Bools = NDArray[np.bool_]

EPOCHS = 40
COPIES = 10


def masks(
    count: int,
    epochs: int,
    rng: np.random.Generator,
    *,
    copies: int | None = COPIES,
    rate: float = RATE,
    fixed: Collection[int] = (),
) -> Bools:
    """Which tokens are asked in epochs 1, ..., ``epochs``.

    Args:
        count: tokens of the text, those of the format included.
        copies: static masking takes copy 1, 2, ..., ``copies``, and then copy 1 again. None is dynamic masking: as many
            copies as epochs.

    Returns:
        (epochs, count), True where the token is asked.

    Raises:
        OutOfRange: fewer than one epoch or copy.
    """
    drawn = _spawned(epochs, epochs if copies is None else copies, rng)
    asked = np.zeros((len(drawn), count), dtype=np.bool_)
    for row, child in zip(asked, drawn, strict=True):
        row[:] = masked.choose(masked.free(count, fixed), child, rate=rate)
    return asked[np.arange(epochs) % len(drawn)]


def corrupt(
    tokens: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    epoch: int,
    *,
    copies: int | None = COPIES,
    **settings: Unpack[Settings],
) -> Example:
    """The example of one epoch, counted from 1; it asks what row ``epoch - 1`` of `masks` asks for the same ``rng``.

    A copy keeps its random tokens, too: it was written down once.
    """
    child = _spawned(epoch, epoch if copies is None else copies, rng)[(epoch - 1) % (copies or epoch)]
    return masked.corrupt(tokens, vocabulary, child, **settings)


def _spawned(epochs: int, copies: int, rng: np.random.Generator) -> list[np.random.Generator]:
    """A generator for each copy that is ever seen; the first ones do not depend on how many there are."""
    if epochs < 1 or copies < 1:
        raise OutOfRange(f"Masks are drawn for one epoch and one copy or more, not for {epochs} and {copies}.")
    return rng.spawn(min(epochs, copies))
