"""How far back each layer looks: counted in a map of weights, whatever the architecture promises.

numpy alone. Legend: L layers, H heads, n tokens.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def reach(weights: npt.NDArray[np.float32]) -> tuple[int, ...]:
    """For each layer the largest i - j with a weight above zero in any head; 0 where all look at themselves alone.

    :param weights: (L, H, n, n), rows are queries.
    """
    size = weights.shape[-1]
    back = np.arange(size)[:, None] - np.arange(size)[None, :]
    found = np.where(weights > 0, back, 0).max(axis=(1, 2, 3), initial=0)  # (L,)
    return tuple(int(far) for far in found)
