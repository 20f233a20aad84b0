"""What a model is trained to predict: a model with its data, whose batches are a pure function of seed and step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.training.batches import Epochs, mix, plan
from core.training.recipe import Recipe
from core.training.tokens import Ints

Batch = dict[str, Tensor]


class Objective:
    """One training objective; `core.training.objectives` has them all.

    A subclass reads its data (`read`), makes its model (`new_model`), and says what a batch, its loss and the numbers
    on held-out text are. The items of an epoch are planned here: those of `items`, each with a key and a cost.

    Args:
        recipe: says everything.
        corpus: folder of the text.
        cache: where tokens are kept; two folders above it lie the states of all recipes.
    """

    tokenizer: Any = None
    origin: Ints
    """(items,) number of the source of each item."""
    keys: Ints
    """(items,) what the items of a batch share: their padded lengths."""
    cost: Ints
    """(items,) positions that an item takes."""

    def __init__(self, recipe: Recipe, corpus: Path, cache: Path) -> None:
        self.recipe, self.corpus, self.cache = recipe, corpus, cache
        self.stages = cache.parent.parent
        self.read()
        torch.manual_seed(recipe.seed)
        self.model: Any = self.new_model()
        self.epochs = Epochs(recipe.seed, self.epoch)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        found: torch.device = next(self.model.parameters()).device
        return found

    def read(self) -> None:
        """Makes tokenizer and data, or takes them from where they were kept."""
        raise NotImplementedError

    def new_model(self) -> Any:
        """What is trained; the seed is set."""
        raise NotImplementedError

    def items(self, rng: np.random.Generator) -> Ints:
        """Item numbers of one epoch."""
        return mix(self.origin, [source.passes for source in self.recipe.sources], rng)

    def epoch(self, rng: np.random.Generator) -> list[Ints]:
        """The batches of one epoch."""
        items = self.items(rng)
        return plan(items, self.keys[items], self.cost[items], self.recipe.step_tokens, rng)

    def draws(self, step: int, index: Ints) -> list[np.random.Generator]:
        """A generator for each item of the batch of ``step``."""
        return [np.random.default_rng([self.recipe.seed, 1, step, int(item)]) for item in index]

    def here(self, batch: Batch) -> Batch:
        """The batch on the model's device."""
        return {name: value.to(self.device) for name, value in batch.items()}

    def batch(self, step: int) -> Batch:
        """The tensors of one step, the same for the same step."""
        raise NotImplementedError

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy in nats over the predicted positions; a scalar."""
        raise NotImplementedError

    def size(self, batch: Batch) -> int:
        """Tokens that the batch shows to the model, without padding."""
        return batch["ids"].numel()

    def measure(self) -> dict[str, float]:
        """Numbers on held-out text for the learning curve."""
        raise NotImplementedError

    def export(self, folder: Path) -> None:
        """Writes the shipped weights, configuration and tokenizer into an empty folder."""
        raise NotImplementedError
