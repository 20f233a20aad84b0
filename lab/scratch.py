"""The stored trainings of the page *Training*: the default setup on each ready text."""

from __future__ import annotations

from core.training.ready import READY, ready
from core.training.record import FILE, Recorded, store
from core.training.setup import RATE, STEPS, Setup
from core.training.text import split
from core.training.train import Training


def write(names: list[str] | None = None) -> None:
    """Train on the ready texts of ``names``, or on all, and store what a visitor would see."""
    for name in names or READY:
        training = Training(split(ready(name)), Setup())
        for _ in training.states(STEPS, RATE, "recorded", name):
            pass
        store(name, Recorded(tuple(training.points), tuple(training.samples)))
        print(f"{name}: {training.points[-1]} -> {FILE.name}")
