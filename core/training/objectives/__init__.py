"""What a model is trained to predict: one file an objective, chosen by the recipe's kind."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Protocol

from torch import Tensor, nn

from core.errors import AtlasError
from core.training.recipe import Recipe


class Objective(Protocol):
    """A model with its data: batches are a pure function of the recipe's seed and the step."""

    @property
    def model(self) -> nn.Module:
        """What is trained."""

    def batch(self, step: int) -> dict[str, Tensor]:
        """The tensors of one step, the same for the same step."""

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Mean cross-entropy in nats over the predicted positions; a scalar."""

    def size(self, batch: dict[str, Tensor]) -> int:
        """Tokens that the batch shows to the model, without padding."""

    def measure(self) -> dict[str, float]:
        """Numbers on held-out text for the learning curve."""

    def export(self, folder: Path) -> None:
        """Writes the shipped weights, configuration and tokeniser."""


OBJECTIVES = {
    "masked-lm": ("masked", "MaskedObjective"),
    "sentence-head": ("sentence", "SentenceObjective"),
    "long-masked-lm": ("long", "LongObjective"),
    "window-lm": ("window", "WindowObjective"),
    "hashed-lm": ("hashed", "HashedObjective"),
    "encoder": ("encoder", "EncoderObjective"),
    "electra": ("electra", "ElectraObjective"),
    "distil": ("distil", "DistilObjective"),
    "permutation-lm": ("permutation", "PermutationObjective"),
    "causal-lm": ("causal", "CausalObjective"),
    "segments-lm": ("segments", "SegmentsObjective"),
    "codes-lm": ("codes", "CodesObjective"),
    "denoise": ("denoise", "DenoiseObjective"),
    "joined": ("joined", "JoinedObjective"),
    "adapters": ("adapters", "AdaptersObjective"),
    "bilingual": ("bilingual", "BilingualObjective"),
    "many-to-many": ("many", "ManyObjective"),
    "respell": ("respell", "RespellObjective"),
    "seq2seq-lm": ("seq2seq", "Seq2SeqObjective"),
}
"""Module and class of each kind of recipe; imported when one is trained."""


def build(recipe: Recipe, corpus: Path, cache: Path) -> Objective:
    """The objective of a recipe, its data read (or taken from ``cache``) and its model initialised from the seed."""
    if recipe.kind not in OBJECTIVES:
        raise AtlasError(f"No objective trains the kind {recipe.kind!r}; use one of: {', '.join(OBJECTIVES)}.")
    module, name = OBJECTIVES[recipe.kind]
    made: Objective = getattr(import_module(f"core.training.objectives.{module}"), name)(recipe, corpus, cache)
    return made
