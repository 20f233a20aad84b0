"""Encoders that fill masked positions from both sides (BERT and its relatives)."""

from __future__ import annotations

from core.checkpoints.families.family import ModelFamily

SENTENCES = (
    "The cat that the dog chased sat on the mat because it was tired.",
    "She poured water from the jug into the cup until it was full.",
    "Paris is the capital of France, and Rome is the capital of Italy.",
)

FAMILY = ModelFamily(
    kind="masked-lm",
    branch="encoder",
    auto="AutoModelForMaskedLM",
    table="MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    classes=("BertForPreTraining", "AlbertForPreTraining"),  # which keep both heads of their pretraining
    offers=frozenset({"fills masks", "two texts"}),
    streams=("encoder",),
    does="fills hidden words",
    answers="masked tokens",
    asks="What stands in place of the first mask",
    asked="The cat that the dog chased sat on the [MASK] because it was tired.",
    samples=SENTENCES,
)
