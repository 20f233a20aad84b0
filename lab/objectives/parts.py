r"""Parts of a finished encoder, which stays frozen: low-rank updates of its layers, and a head; sentence pairs.

.. math:: L = -\log p(y \mid A, B), \qquad W = W_0 + B A

with the pairs of `lab.documents`, unmasked, and the updates of `lab.lowrank`. What is learned is
the part ``pairs`` of the checkpoint's folder, a difference to its weights; its other predictions do not change. The
other parts are in `lab.objectives.structure`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.lazy import transformers
from lab import batches, documents, models
from lab.documents import Examples
from lab.lowrank import add_updates, shipped_update
from lab.objective import Batch, Objective
from lab.objectives.encoder import heads
from lab.recipe import Recipe
from lab.tokens import Ints

MEASURED = 64
"""Held-out pairs for the learning curve."""


class PartModel(nn.Module):
    """A frozen pretraining model; only updates of its layers and the modules ``trained`` are trained."""

    def __init__(self, full: Any, rank: int, *trained: nn.Module) -> None:
        super().__init__()
        self.full = full.requires_grad_(False)
        add_updates(full.base_model.encoder, rank)
        for module in trained:
            module.requires_grad_(True)

    def states(self, ids: Tensor, types: Tensor, attend: Tensor) -> Any:
        """The encoder's output; ids and segments are (rows, n), the mask (rows, n), or (rows, 1, n, n) to be added."""
        return self.full.base_model(input_ids=ids, attention_mask=attend, token_type_ids=types)

    def difference(self) -> dict[str, Tensor]:
        """Shipped tensors under the names of the pretraining model (`core.checkpoints.bundled`)."""
        named = self.full.named_parameters()
        return {shipped_update(name): value for name, value in named if value.requires_grad}


class PairModel(PartModel):
    """With its pooler and its head for pairs, and, for ``segments``, its segment embeddings."""

    def __init__(self, full: Any, rank: int, *, segments: bool = False) -> None:
        pair: Any = heads(full)[1]
        more = (full.base_model.embeddings.token_type_embeddings,) if segments else ()
        super().__init__(full, rank, full.base_model.pooler, pair, *more)
        self._pair = pair

    def forward(self, ids: Tensor, types: Tensor, real: Tensor) -> Tensor:
        """Logits (rows, 2); all arguments are (rows, length)."""
        scores: Tensor = self._pair(self.states(ids, types, real).pooler_output)
        return scores


class PartObjective(Objective):
    """What learns a `PartModel` from a finished encoder, and ships the difference."""

    folder: Path
    """Of the finished encoder."""

    def full(self) -> Any:
        """The finished encoder in float32, without dropout."""
        full = transformers.AutoModelForPreTraining.from_pretrained(
            self.folder, attn_implementation="eager", dtype=torch.float32, local_files_only=True
        )
        for module in full.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        return full

    def export(self, folder: Path) -> None:
        models.ship_tensors(self.model.difference(), folder / models.DIFFERENCE)


class PairsObjective(PartObjective):
    """Pairs of segments, of similar length per batch."""

    def prepare_data(self) -> None:
        data = self.recipe.data
        self.folder = models.finished(str(self.recipe.model["start"]), self.stages)
        self.tokenizer, train, test = documents.prepare(self.recipe, self.corpus, self.stages, finished=self.folder)
        question, anywhere = str(data["pairs"]), bool(data.get("anywhere", False))
        self.train, self.test = (Examples(side, self.tokenizer, question, anywhere=anywhere) for side in (train, test))
        self.positions = int(data["width"])
        self.origin = self.train.text.source
        self.keys = self.cost = self.train.sizes

    def items(self, rng: np.random.Generator) -> Ints:
        items = super().items(rng)
        return items[usable(self.train, self.recipe)[items]]

    def new_model(self) -> PairModel:
        settings = self.recipe.model
        return PairModel(self.full(), int(settings["rank"]), segments=bool(settings.get("segments")))

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        return unmasked(self.train, index, self.rngs(step, index))

    def loss(self, batch: Batch) -> Tensor:
        scores = self.model(batch["ids"], batch["types"], batch["real"]).float()
        return functional.cross_entropy(scores, batch["answers"])

    def measure(self) -> dict[str, float]:
        right: list[bool] = []
        pairs = np.flatnonzero(usable(self.test, self.recipe))
        for batch in measured_pairs(self.test, pairs[batches.some(len(pairs), MEASURED)]):
            batch = self.to_device(batch)
            scores = self.model(batch["ids"], batch["types"], batch["real"])
            right += (scores.argmax(1) == batch["answers"]).tolist()
        return {"pairs": 100 * float(np.mean(right))}


def usable(side: Examples, recipe: Recipe) -> npt.NDArray[np.bool_]:
    """(chunks,) whether a chunk makes a pair in a row of at least the recipe's ``least`` tokens."""
    pairs: npt.NDArray[np.bool_] = side.pairs.paired & (side.sizes >= int(recipe.data["least"]))
    return pairs


def measured_pairs(side: Examples, pairs: Ints) -> Iterator[Batch]:
    """Batches of unmasked pairs, always the same."""
    for index, rngs in batches.measured(pairs, side.sizes[pairs]):
        yield unmasked(side, index, rngs)


def unmasked(side: Examples, index: Ints, rngs: Sequence[np.random.Generator]) -> Batch:
    """The rows of `Examples.rows` with the original tokens at their masked positions."""
    batch = side.rows(index, rngs)
    ids = batch["ids"].clone()
    ids[batch["chosen"]] = batch["labels"]
    return batch | {"ids": ids}
