"""What is trained on labeled texts, how, and what comes of it: for `core.finetuning.train`; no torch here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Trained = Literal["head", "adapters", "lora", "top", "all"]
Pooling = Literal["first", "mean", "last"]
Format = Literal["plain", "marked", "orders"]
"""How a decoder's input is written: one text after the other; with GPT's start, delimiter and extract tokens; so, and
both orders of a pair, whose states are added (GPT, 2018, section 3.3)."""
EPOCHS, RATE, SECONDS = 15, 5e-4, 30.0
"""The defaults of a run: passes over the training texts, learning rate, and the most time."""
RATES = {"all": 1e-4, "lora": 5e-3, "adapters": 2e-3}
"""The learning rates of classes, chosen among a few by three seeds on the held-out texts of the ready sets."""
TEXT_RATE = 1e-3
"""Of an encoder-decoder that generates the label, T5's own."""
BATCH = 16
HEAD_RATE = 5e-3
"""Learning rate of the head, which starts at zero and has few parameters."""
SIZES = {"lora": 4, "adapters": 16}
"""The default rank of a low-rank update, and dimensions between the two matrices of an adapter."""
LARGEST = 64


def usual_rate(trained: Trained) -> float:
    """The learning rate unless another is chosen."""
    return RATES.get(trained, RATE)


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
    format: Format = "plain"


@dataclass(frozen=True, slots=True)
class Epoch:
    """The state after an epoch; number 0 is before training, when all classes are equally probable."""

    number: int
    loss: float
    """Mean over the training texts, in nats; of number 0 that of equal probabilities, ln K."""
    accuracy: float
    """Share of the held-out texts whose class is predicted."""
    probabilities: NDArray[np.float32]
    """(n, K) of the held-out texts."""
    seconds: float
    """Since training began."""
    parameters: int
    """The trained ones, the head's included."""
    last: bool = False


def baselines(setup: Setup) -> dict[str, Setup]:
    """The two runs to compare with: the head alone on the same features, and the same run from random weights."""
    rate = max(setup.rate, RATE) if setup.trained == "all" else RATE
    return {
        "head": replace(setup, trained="head"),
        "random": replace(setup, trained="all", rate=rate, pretrained=False),
    }


def compared(setup: Setup) -> dict[str, Setup]:
    """The run that was chosen, and its baselines where they differ from it."""
    return {"chosen": setup} | {name: run for name, run in baselines(setup).items() if run != setup}
