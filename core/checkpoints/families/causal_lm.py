"""Decoders, which continue a text token by token (GPT-2 and its relatives)."""

from __future__ import annotations

from core.checkpoints.families.family import ModelFamily

FAMILY = ModelFamily(
    kind="causal-lm",
    branch="decoder",
    auto="AutoModelForCausalLM",
    table="MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    classes=(),
    offers=frozenset({"continues", "generates"}),
    streams=("decoder",),
    does="continues a text",
    answers="generation",
    asks="Which token comes next",
    asked="The old man went to the river. The old man sat down. The old man",
    samples=(
        "Once upon a time there was a little girl who had a red ball. The little girl",
        "The old man went to the river. The old man sat down. The old man",
        "Tom gave Anna a book, and Anna gave Tom",
    ),
)
