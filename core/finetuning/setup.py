"""What is trained on labeled texts, and how: the settings of `core.finetuning.train`; no torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Trained = Literal["head", "adapters", "lora", "top", "all"]
Pooling = Literal["first", "mean", "last"]
EPOCHS, RATE, SECONDS = 15, 5e-4, 30.0
"""The defaults of a run: passes over the training texts, learning rate, and the most time."""
BATCH = 16
HEAD_RATE = 5e-3
"""Learning rate of the head, which starts at zero and has few parameters."""
SIZES = {"lora": 4, "adapters": 16}
"""The default rank of a low-rank update, and dimensions between the two matrices of an adapter."""
LARGEST = 64


@dataclass(frozen=True, slots=True)
class Setup:
    """Hashable."""

    trained: Trained = "all"
    pooling: Pooling = "first"
    epochs: int = EPOCHS
    rate: float = RATE
    """Learning rate of AdamW for all but the head."""
    seed: int = 0
    pretrained: bool = True
    """Otherwise the backbone starts from random weights."""
    seconds: float = SECONDS
    """Training ends after the epoch in which this time is over."""
    size: int = 0
    """Rank of the low-rank updates or bottleneck of the adapters; 0 for the one in :data:`SIZES`."""
