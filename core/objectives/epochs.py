r"""One text over several epochs: static masks that repeat, and dynamic masks sampled anew.

BERT's masks were sampled while the data were prepared. Each text was stored 10 times with 10 masks, and training passed
over it 40 times, so that each mask was used :math:`40 / 10 = 4` times: *static* masking. RoBERTa samples a mask
whenever a text is used: *dynamic* masking. Liu et al. (2019), section 4.1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Unpack

import numpy as np

from core.arrays import Bools
from core.objectives import masked
from core.objectives.example import Example
from core.objectives.masked import RATE, Settings

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
    """Which tokens are targets in epochs 1, ..., ``epochs``.

    Args:
        count: tokens of the text, special ones included.
        copies: static masking takes copy 1, 2, ..., ``copies``, and then copy 1 again. None is dynamic masking: as many
            copies as epochs.

    Returns:
        (epochs, count), True where the token is a target.
    """
    generators = rng.spawn(min(epochs, copies or epochs))
    chosen = np.stack([masked.choose(masked.free(count, fixed), child, rate=rate) for child in generators])
    return chosen[np.arange(epochs) % len(chosen)]


def corrupt(
    tokens: Sequence[str],
    vocabulary: Sequence[str],
    rng: np.random.Generator,
    epoch: int,
    *,
    copies: int | None = COPIES,
    **settings: Unpack[Settings],
) -> Example:
    """The example of one epoch, counted from 1; its targets are row ``epoch - 1`` of `masks` for the same ``rng``.

    A copy keeps its random tokens, too. The first copies do not depend on how many there are.
    """
    copy = (epoch - 1) % (copies or epoch)
    return masked.corrupt(tokens, vocabulary, rng.spawn(copy + 1)[copy], **settings)
