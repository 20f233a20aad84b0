"""How far back layers look, on maps made by hand."""

from __future__ import annotations

import numpy as np

from core.attention.heads import reach


def test_reach_by_hand() -> None:
    weights = np.zeros((3, 2, 6, 6), dtype=np.float32)
    weights[:, :, np.arange(6), np.arange(6)] = 1.0  # all look at themselves
    weights[1, 0, 5, 3] = 0.1
    weights[1, 1, 4, 3] = 0.1
    weights[2, 1, 5, 0] = 1e-30
    assert reach(weights) == (0, 2, 5)
    assert reach(np.ones((1, 1, 1, 1), dtype=np.float32)) == (0,)
