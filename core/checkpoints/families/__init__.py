"""The kinds of models: one module each, which holds all that depends on the kind."""

from __future__ import annotations

from core.checkpoints.families import adapters, causal_lm, masked_lm, permutation_lm, replaced_token, seq2seq_lm
from core.checkpoints.families.family import Kind, ModelFamily

FAMILIES: dict[Kind, ModelFamily] = {
    one.FAMILY.kind: one.FAMILY for one in (seq2seq_lm, masked_lm, causal_lm, permutation_lm, replaced_token, adapters)
}
"""By kind, in the order of preference: BART's classes stand in three of transformers' tables, XLM's in two."""
