"""What a model is trained to predict: a model with its data, whose batches are a pure function of seed and step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.training import models
from core.training.batches import Epochs, mix, plan
from core.training.recipe import Recipe
from core.training.tokenizers import ship_tokenizer
from core.training.tokens import Ints

Batch = dict[str, Tensor]


class Objective(ABC):
    """One training objective; `core.training.objectives` has them all.

    A subclass reads its data (`read`), makes its model (`new_model`), and says what a batch, its loss and the numbers
    on held-out text are. The items of an epoch are planned here: those of `items`, each with a key and a cost.

    Args:
        recipe: says everything.
        corpus: folder of the text.
        cache: where tokens are kept; two folders above it lie the states of all recipes.
    """

    tokenizer: Any = None
    special: Mapping[str, Any] = {}
    """What its tokenizer is shipped with: special tokens by transformers' names, and the like."""
    positions: int
    """Tokens that the shipped tokenizer takes for the longest text."""
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
        device_of_weights: torch.device = next(self.model.parameters()).device
        return device_of_weights

    @abstractmethod
    def read(self) -> None:
        """Makes tokenizer and data, or takes them from where they were kept."""

    @abstractmethod
    def new_model(self) -> Any:
        """What is trained; the seed is set."""

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

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The tensors of one step, the same for the same step."""

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy in nats over the predicted positions; a scalar. Some models compute it themselves."""
        loss: Tensor = self.model.loss(batch)
        return loss

    def size(self, batch: Batch) -> int:
        """Tokens that the batch shows to the model, on both sides where there are two, without padding."""
        return shown(batch)

    @abstractmethod
    def measure(self) -> dict[str, float]:
        """Numbers on held-out text for the learning curve."""

    def shipped(self) -> Any:
        """The model as transformers knows it."""
        return self.model.full

    def export(self, folder: Path) -> None:
        """Writes the shipped weights, configuration and tokenizer into an empty folder."""
        models.ship_model(self.shipped(), folder)
        ship_tokenizer(self.tokenizer, folder, self.positions, **self.special)


def shown(batch: Batch) -> int:
    """Tokens of the input, and of the target where there is one, without padding."""
    count = int(batch["real"].sum()) if "real" in batch else batch["ids"].numel()
    return count + int((batch["labels"] != IGNORE).sum()) if "given" in batch else count


CHUNKED = nn.LinearCrossEntropyOptions()
"""Some rows at a time, the gradient formed on the way: half the time of whole scores on a processor."""
IGNORE = -100
"""Stands in labels where there is no token."""


def linear_cross_entropy(hidden: Tensor, weight: Tensor, labels: Tensor, bias: Tensor | None = None) -> Tensor:
    """Mean cross-entropy in nats of the scores ``hidden @ weight.T + bias``; a scalar in float32.

    Args:
        hidden: (n, d) states. Under autocast the products are taken in its type.
        weight: (V, d) output vectors.
        labels: (n,) classes below V.
        bias: (V,), or None for none.
    """
    loss: Tensor = functional.linear_cross_entropy(hidden, weight, labels, linear_bias=bias, options=CHUNKED)
    return loss.float()


class Hits:
    """Loss, and right guesses in percent, over batches."""

    def __init__(self) -> None:
        self.nats = 0.0
        self.first = self.near = self.total = 0

    def add(self, scores: Tensor, labels: Tensor) -> None:
        """Counts (n, V) scores against (n,) labels."""
        best = scores.topk(5).indices == labels[:, None]
        self.nats += float(functional.cross_entropy(scores.float(), labels, reduction="sum"))
        self.first += int(best[:, 0].sum())
        self.near += int(best.any(dim=1).sum())
        self.total += len(labels)

    def top(self, name: str = "") -> dict[str, float]:
        """``top-1`` and ``top-5`` in percent, after ``name`` and a blank where one is given."""
        shares = {"top-1": self.first, "top-5": self.near}
        return {f"{name} {key}".lstrip(): 100 * count / self.total for key, count in shares.items()}

    def shares(self) -> dict[str, float]:
        """``loss`` in nats, ``top-1`` and ``top-5`` in percent."""
        return {"loss": self.nats / self.total, **self.top()}
