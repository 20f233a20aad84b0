"""Training from random weights: our loop against a bare one, and what it costs another visitor.

    python benchmarks/training.py [rounds]

The bare loop has the same model, the same batches, made beforehand, and the same AdamW, and does nothing else. Ours
draws its batches and measures the loss of the held-out lines every 20 steps. Goal: at least 0.9 of the tokens a second,
with each objective.

Then a visitor predicts masked words on a server, alone and while another one trains the default model on the page, as
in `fairness.py`. Goal: at most 300 ms later in the median.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import fairness
import torch
from _harness import compare, report
from _visitor import Visitor
from torch import nn

from core.training.ready import ready
from core.training.setup import TOKENS, Objective, Setup
from core.training.text import split
from core.training.train import EVERY, WEIGHT_DECAY, Training

ROUNDS = 11
STEPS = EVERY
"""Of each round, with one measurement."""
SHARE = 0.9
"""Of their tokens a second."""
RATE = 1e-4
"""Small, so that the two stay alike."""


def pair(objective: Objective) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Our loop and the bare one, on a model each."""
    corpus = split(ready("stories"))
    training, other = (Training(corpus, Setup(objective)) for _ in range(2))
    next(training.run(1, RATE))  # the first measurement is before the first step
    model, batches = other.model, [other.batch() for _ in range(STEPS)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY, betas=(0.9, 0.95))

    def ours() -> None:
        for _ in training.run(STEPS, RATE):
            pass

    def theirs() -> None:
        model.train()
        for batch in batches:
            model(**batch).loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return ours, theirs


def speed(rounds: int) -> Iterator[bool]:
    """Print a line for each objective; whether it is fast enough."""
    torch.set_num_threads(1)
    for objective in get_args(Objective):
        result = compare(*pair(objective), rounds=rounds, warmup=1)
        per_second = STEPS * TOKENS / result.ours
        yield report(f"training, {objective}, {per_second:,.0f} tokens a second", result, at_most=1 / SHARE / 1.05)


def train(who: Visitor, seed: int) -> None:
    """Train the default model on the page to its end."""
    who.open("training", tab="scratch", seed=seed)
    who.press("Train")


def main(rounds: int) -> bool:
    """Print a line for each objective, then what another visitor waits; whether all goals are reached."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    return all([*speed(rounds), fairness.main(fairness.ROUNDS, {"training from random weights": train})])


if __name__ == "__main__":
    sys.exit(0 if main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS) else 1)
