"""The training objectives, by the kind of a recipe."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from core.errors import AtlasError
from lab.objective import Objective
from lab.recipe import Recipe

OBJECTIVES = {
    "masked-lm": ("masked", "MaskedObjective"),
    "long-masked-lm": ("long", "LongObjective"),
    "window-lm": ("long", "WindowObjective"),
    "hashed-lm": ("hashed", "HashedObjective"),
    "encoder": ("encoder", "EncoderObjective"),
    "distil": ("encoder", "DistilObjective"),
    "electra": ("electra", "ElectraObjective"),
    "permutation-lm": ("permutation", "PermutationObjective"),
    "causal-lm": ("causal", "CausalObjective"),
    "segments-lm": ("causal", "SegmentsObjective"),
    "codes-lm": ("causal", "CodesObjective"),
    "denoise": ("denoise", "DenoiseObjective"),
    "joined": ("pairs", "JoinedObjective"),
    "seq2seq-lm": ("pairs", "Seq2SeqObjective"),
    "many-to-many": ("pairs", "ManyObjective"),
    "respell": ("denoise", "RespellObjective"),
    "adapters": ("adapters", "AdaptersObjective"),
    "pairs": ("parts", "PairsObjective"),
    "bilingual": ("bilingual", "BilingualObjective"),
    "spans": ("structure", "SpansObjective"),
    "recurrent": ("recurrent", "RecurrentObjective"),
    "unified": ("structure", "UnifiedObjective"),
    "orders": ("structure", "OrdersObjective"),
}
"""Module and class of each kind; imported lazily."""


def build(recipe: Recipe, corpus: Path, cache: Path) -> Objective:
    """The objective of a recipe, with its data (from ``cache``, if there) and its model, initialized from the seed."""
    if recipe.kind not in OBJECTIVES:
        raise AtlasError(f"No objective trains the kind {recipe.kind!r}; use one of: {', '.join(OBJECTIVES)}.")
    module, name = OBJECTIVES[recipe.kind]
    objective: Objective = getattr(import_module(f"lab.objectives.{module}"), name)(recipe, corpus, cache)
    return objective
