"""Discriminators, which tell for every token whether it was replaced (ELECTRA)."""

from __future__ import annotations

from core.checkpoints.families.family import ModelFamily
from core.checkpoints.families.masked_lm import SENTENCES

FAMILY = ModelFamily(
    kind="replaced-token",
    branch="encoder",
    auto="AutoModelForPreTraining",
    table=None,
    classes=("ElectraForPreTraining",),
    offers=frozenset({"detects replaced tokens", "two texts"}),
    streams=("encoder",),
    does="detects replaced tokens",
    answers="replaced tokens",
    asks="Whether the token with the highest probability of replacement was replaced",
    asked="The king sat on his throne and wore a golden potato on his head.",
    samples=SENTENCES,
)
