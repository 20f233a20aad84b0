"""Fine-tuning of live models on labeled texts: the texts (`examples`) and the training (`train`)."""

from __future__ import annotations

from core.checkpoints import first
from core.checkpoints.families import Ability
from core.checkpoints.families.architectures import Trait
from core.checkpoints.spec import CheckpointSpec


def trainable(spec: CheckpointSpec) -> bool:
    """Whether the model has one state for a text: encoders and decoders that run texts in one pass, padded."""
    apart: tuple[Trait | Ability, ...] = ("two streams", "memory", "hashing", "padding in states", "classifies texts")
    return not any(map(spec.offers, apart)) and (spec.offers("predicts masked tokens") or spec.offers("continues"))


def as_text(spec: CheckpointSpec) -> bool:
    """Whether the model is fine-tuned to generate the label as text, as T5 was."""
    return spec.slug in first("fine-tuning-text")


def fed_to_both(spec: CheckpointSpec) -> bool:
    """Whether a text goes into encoder and decoder, and a head reads the decoder's last state, as in BART."""
    return spec.slug in first("fine-tuning-both-sides")
