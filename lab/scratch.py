"""The stored trainings of the page *Training*: each ready text with the setup that the page opens it with."""

from __future__ import annotations

from core.training.ready import READY, ready
from core.training.record import FILE, Recorded, store
from core.training.setup import LEARNING_RATE
from core.training.text import split
from core.training.train import Training


def write(names: list[str] | None = None) -> None:
    """Train on the ready texts of ``names``, or on all, and store what a visitor would see."""
    for name in names or READY:
        training = Training(split(ready(name)), READY[name].opens_with)
        for _ in training.states(READY[name].steps, LEARNING_RATE, "recorded", name):
            pass
        store(name, Recorded(tuple(training.points), tuple(training.samples)))
        print(f"{name}: {training.points[-1]} -> {FILE.name}")
