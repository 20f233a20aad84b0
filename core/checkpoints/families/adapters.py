"""A frozen encoder with adapters: a text becomes one answer of a task's few."""

from __future__ import annotations

from core.checkpoints.families.family import ModelFamily
from core.checkpoints.families.masked_lm import SENTENCES

FAMILY = ModelFamily(
    kind="adapters",
    branch="encoder",
    auto=None,
    table=None,
    classes=("AdapterBert",),
    offers=frozenset({"classifies texts", "two texts", "tasks"}),
    streams=("encoder",),
    does="",
    answers="tasks through adapters",
    asks="",
    asked="The princess opened little the door in the wall.",
    samples=SENTENCES,
)
