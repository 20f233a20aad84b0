"""Windows of one width over a long stream of tokens, without regard to where texts begin: what a decoder trains on."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from core.training.batches import Epochs, Ints
from core.training.recipe import Recipe


def window_starts(count: int, width: int, rng: np.random.Generator) -> Ints:
    """Starts of consecutive windows of ``width`` inputs and one more target, from a random offset, in random order."""
    offset = int(rng.integers(width))
    starts = np.arange(offset, count - width, width, dtype=np.int64)
    return rng.permutation(starts)


class Windows:
    """The batches of an objective whose training text is one stream."""

    recipe: Recipe
    width: int
    train: Ints
    _epochs: Epochs

    def batch(self, step: int) -> dict[str, Tensor]:
        return self._windows(self.train, self._epochs[step])

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        rows = max(1, self.recipe.step_tokens // self.width)
        starts = window_starts(len(self.train), self.width, rng)
        return [starts[at : at + rows] for at in range(0, len(starts) - rows + 1, rows)]

    def _windows(self, stream: Ints, starts: Ints) -> dict[str, Tensor]:
        ids = np.stack([stream[s : s + self.width + 1] for s in starts]).astype(np.int64)
        return {"ids": torch.from_numpy(ids[:, :-1]), "labels": torch.from_numpy(ids[:, 1:].copy())}
