"""Which WordPieces are masked, and what becomes of the rows (`core.training.masking` draws the words)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.training import masking
from core.training.batches import Ints


class WordPieces:
    """What masking has to know of a BERT vocabulary: which pieces continue a word, which are never masked."""

    def __init__(self, tokenizer: Any) -> None:
        vocab: dict[str, int] = tokenizer.get_vocab()
        self.begin, self.end, self.mask = vocab["[CLS]"], vocab["[SEP]"], vocab["[MASK]"]
        self.continues = np.zeros(len(vocab), dtype=bool)
        self.special = np.zeros(len(vocab), dtype=bool)
        for piece, index in vocab.items():
            self.continues[index] = piece.startswith("##")
            self.special[index] = piece in ("[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")

    def hide(
        self,
        ids: Ints,
        weight: masking.Floats,
        rate: float,
        rng: np.random.Generator,
        rare: masking.Bools | None = None,
    ) -> dict[str, Tensor]:
        """Rows (rows, length) with words masked (`core.training.masking.choose`), where, and what stood there.

        With ``rare`` (vocabulary,) such words are masked together; ``context`` has those that are left, -1 elsewhere.
        """
        mask = masking.choose(ids, weight, self.continues, self.special, rate, rng, together=rare)
        batch = {
            "ids": torch.from_numpy(np.where(mask, self.mask, ids)),
            "mask": torch.from_numpy(mask),
            "labels": torch.from_numpy(ids[mask]),
        }
        if rare is not None:
            left = rare[ids] & ~mask & ~self.special[ids]
            batch["context"] = torch.from_numpy(np.where(left, ids, -1))
        return batch
