"""The stored trainings of the page *Training*: each ready text with the setup that the page opens it with."""

from __future__ import annotations

from core.content import content
from core.training.compared import continued
from core.training.ready import READY, ready
from core.training.record import FILE, Recorded, store
from core.training.setup import LEARNING_RATE
from core.training.text import split
from core.training.train import Training


def write(names: list[str] | None = None) -> None:
    """Train on the ready texts of ``names``, or on all, and store what a visitor would see."""
    prompts = content("training", "scratch").front["foresight"]
    for name in names or READY:
        training = Training(split(ready(name)), READY[name].opens_with)
        *_, last = training.states(READY[name].steps, LEARNING_RATE, "recorded", name)
        answers = tuple(continued(last, prompt) for prompt in prompts.get(name, ()))
        store(name, Recorded(tuple(training.points), tuple(training.samples), answers))
        print(f"{name}: {training.points[-1]} -> {FILE.name}")
