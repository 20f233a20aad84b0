"""The base class of training objectives: a model with its data, whose batches are a pure function of seed and step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.checkpoints.spec import Measure
from lab import models
from lab.batches import Epochs, mix, plan
from lab.recipe import Recipe
from lab.tokenizers import ship_tokenizer
from lab.tokens import Ints

Batch = dict[str, Tensor]


class Objective(ABC):
    """A training objective; `lab.objectives` has all of them.

    A subclass defines its data (`prepare_data`), model (`new_model`), batches, loss, and the measures on held-out
    text. This class plans the batches of an epoch from `items`, each with a key and a cost.

    Args:
        recipe: the run.
        corpus: folder of the text.
        cache: folder of the tokenized data; the states of all recipes are two folders above.
    """

    tokenizer: Any = None
    special: Mapping[str, Any] = {}
    """Arguments of the shipped tokenizer: special tokens by the names of transformers, and the like."""
    positions: int
    """``model_max_length`` of the shipped tokenizer."""
    origin: Ints
    """(items,) number of the source of each item."""
    keys: Ints
    """(items,) key that the items of a batch share: their padded lengths."""
    cost: Ints
    """(items,) positions of each item."""

    def __init__(self, recipe: Recipe, corpus: Path, cache: Path) -> None:
        self.recipe, self.corpus, self.cache = recipe, corpus, cache
        self.stages = cache.parent.parent
        self.prepare_data()
        torch.manual_seed(recipe.seed)
        self.model: Any = self.new_model()
        self.epochs = Epochs(recipe.seed, self.epoch)

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        device_of_weights: torch.device = next(self.model.parameters()).device
        return device_of_weights

    @abstractmethod
    def prepare_data(self) -> None:
        """Make tokenizer and data, or load them from the cache."""

    @abstractmethod
    def new_model(self) -> Any:
        """The model to train; torch's seed is set."""

    def items(self, rng: np.random.Generator) -> Ints:
        """Item numbers of one epoch."""
        return mix(self.origin, [source.passes for source in self.recipe.sources], rng)

    def epoch(self, rng: np.random.Generator) -> list[Ints]:
        """The batches of one epoch."""
        items = self.items(rng)
        return plan(items, self.keys[items], self.cost[items], self.recipe.step_tokens, rng)

    def rngs(self, step: int, index: Ints) -> list[np.random.Generator]:
        """A generator for each item of the batch of ``step``."""
        return [np.random.default_rng([self.recipe.seed, 1, step, int(item)]) for item in index]

    def to_device(self, batch: Batch) -> Batch:
        return {name: value.to(self.device) for name, value in batch.items()}

    @abstractmethod
    def batch(self, step: int) -> Batch:
        """The tensors of a step, a function of its number."""

    def loss(self, batch: Batch) -> Tensor:
        """Mean cross-entropy in nats over the prediction targets; a scalar. By default the model's own ``loss``."""
        loss: Tensor = self.model.loss(batch)
        return loss

    def size(self, batch: Batch) -> int:
        """Tokens of the batch without padding, of source and target."""
        return count_tokens(batch)

    @abstractmethod
    def measure(self) -> dict[str, float]:
        """Measures on held-out text for the learning curve."""

    def measures(self) -> Sequence[Measure]:
        """Rows of the card that depend on the text of training, as the baselines do."""
        return ()

    def shipped(self) -> Any:
        """The model as a class of transformers."""
        return self.model.full

    def export(self, folder: Path) -> None:
        """Write the shipped weights, configuration and tokenizer into an empty folder."""
        models.ship_model(self.shipped(), folder)
        ship_tokenizer(self.tokenizer, folder, self.positions, **self.special)


def count_tokens(batch: Batch) -> int:
    """Tokens of the input, and of the target where there is one, without padding."""
    count = int(batch["real"].sum()) if "real" in batch else batch["ids"].numel()
    return count + int((batch["labels"] != IGNORE).sum()) if "decoder_ids" in batch else count


CHUNKED = nn.LinearCrossEntropyOptions()
"""In chunks of rows, with the gradient in the forward pass: half the time of whole logits on a CPU."""
IGNORE = -100
"""The label of padding."""


def linear_cross_entropy(hidden: Tensor, weight: Tensor, labels: Tensor, bias: Tensor | None = None) -> Tensor:
    """Mean cross-entropy in nats of the logits ``hidden @ weight.T + bias``; a scalar in float32.

    Args:
        hidden: (n, d) states.
        weight: (V, d) output embeddings.
        labels: (n,) classes.
        bias: (V,), if any.
    """
    loss: Tensor = functional.linear_cross_entropy(hidden, weight, labels, linear_bias=bias, options=CHUNKED)
    return loss.float()


class Share(float):
    """``count`` of ``n`` trials in percent. It remembers ``n`` for the card; in arithmetic it is a plain float."""

    n: int

    def __new__(cls, count: float, n: int) -> Share:
        share = super().__new__(cls, 100 * count / n)
        share.n = n
        return share


class Sampled(float):
    """A number with the 95% interval from ``low`` to ``high`` over ``n`` texts; in arithmetic it is a plain float."""

    n: int
    low: float
    high: float

    def __new__(cls, value: float, n: int, low: float, high: float) -> Sampled:
        sampled = super().__new__(cls, value)
        sampled.n, sampled.low, sampled.high = n, float(low), float(high)
        return sampled


def of_card(name: str, value: float, unit: str, on: str) -> Measure:
    """The row of a card, rounded, with the trials of a `Share` and the interval of a `Sampled`."""
    ends = {"low": round(value.low, 2), "high": round(value.high, 2)} if isinstance(value, Sampled) else {}
    return Measure(name, round(float(value), 2), unit, on, n=getattr(value, "n", 0), **ends)


class Hits:
    """Loss and accuracy over batches."""

    def __init__(self) -> None:
        self.nats = 0.0
        self.first = self.near = self.total = 0

    def add(self, scores: Tensor, labels: Tensor) -> None:
        """Add logits (n, V) with labels (n,)."""
        best = scores.topk(5).indices == labels[:, None]
        self.nats += float(functional.cross_entropy(scores.float(), labels, reduction="sum"))
        self.first += int(best[:, 0].sum())
        self.near += int(best.any(dim=1).sum())
        self.total += len(labels)

    @property
    def bits(self) -> float:
        """Bits per token."""
        return self.nats / self.total / math.log(2)

    def top(self, name: str = "") -> dict[str, float]:
        """Accuracies ``top-1`` and ``top-5`` in percent, prefixed with ``name`` and a space, if any."""
        shares = {"top-1": self.first, "top-5": self.near}
        return {f"{name} {key}".lstrip(): Share(count, self.total) for key, count in shares.items()}

    def shares(self) -> dict[str, float]:
        """``loss`` in nats, ``top-1`` and ``top-5`` in percent."""
        return {"loss": self.nats / self.total, **self.top()}
