"""What a model is trained to predict: one file an objective, chosen by the recipe's kind."""

from __future__ import annotations

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


def build(recipe: Recipe, corpus: Path, cache: Path) -> Objective:
    """The objective of a recipe, its data read (or taken from ``cache``) and its model initialised from the seed."""
    if recipe.kind == "masked-lm":
        from core.training.objectives.masked import MaskedObjective

        return MaskedObjective(recipe, corpus, cache)
    if recipe.kind == "sentence-head":
        from core.training.objectives.sentence import SentenceObjective

        return SentenceObjective(recipe, corpus, cache)
    if recipe.kind == "long-masked-lm":
        from core.training.objectives.long import LongObjective

        return LongObjective(recipe, corpus, cache)
    if recipe.kind == "encoder":
        from core.training.objectives.encoder import EncoderObjective

        return EncoderObjective(recipe, corpus, cache)
    if recipe.kind == "causal-lm":
        from core.training.objectives.causal import CausalObjective

        return CausalObjective(recipe, corpus, cache)
    if recipe.kind == "seq2seq-lm":
        from core.training.objectives.seq2seq import Seq2SeqObjective

        return Seq2SeqObjective(recipe, corpus, cache)
    raise AtlasError(
        f"No objective trains the kind {recipe.kind!r}; use masked-lm, sentence-head, long-masked-lm, encoder, "
        "causal-lm or seq2seq-lm."
    )
