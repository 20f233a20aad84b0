"""Encoder-decoders, which write another text for the one they read (T5, BART and their relatives)."""

from __future__ import annotations

from core.checkpoints.families.family import ModelFamily

FAMILY = ModelFamily(
    kind="seq2seq-lm",
    branch="encoder-decoder",
    auto="AutoModelForSeq2SeqLM",
    table="MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    classes=(),
    offers=frozenset({"rewrites", "generates", "tasks"}),
    streams=("encoder", "decoder", "cross"),
    does="rewrites a text into another",
    answers="text to text",
    asks="Which token the output begins with",
    asked="The cat sleeps on the chair.",
    samples=(
        "The cat sleeps on the chair.",
        "I would like a cup of tea.",
        "We are going home because it is late.",
    ),
)
