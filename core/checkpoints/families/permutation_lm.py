"""XLNet: words in any order, from two streams of attention.

transformers lists its class with the causal models, which it is where its attention goes to the left alone, as in
Transformer-XL.
"""

from __future__ import annotations

from core.checkpoints.families import masked_lm
from core.checkpoints.families.family import ModelFamily

FAMILY = ModelFamily(
    kind="permutation-lm",
    branch="decoder",
    auto="AutoModelForCausalLM",
    table=None,
    classes=("XLNetLMHeadModel",),
    offers=frozenset({"predicts masked tokens", "two streams"}),
    streams=("encoder", "decoder", "query"),
    does="predicts masked tokens",
    answers="masked tokens in any order",
    asks=masked_lm.FAMILY.asks,
    asked=masked_lm.FAMILY.asked,
    samples=masked_lm.SENTENCES,
)
