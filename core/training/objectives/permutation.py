r"""Permutation language modelling (XLNet: Yang et al., 2019, arXiv 1906.08237): the last words of a random order.

.. math:: L = -\frac{1}{|z_{>c}|} \sum_{t > c} \log p(x_{z_t} \mid x_{z_{<t}})

with z a random order of the text's tokens, drawn anew whenever the text comes, and c where the last K-th of it begins
(`core.training.permutations`). A share of the steps, the recipe's ``wide``, lets longer ends be found, up to the whole
text, so that the model can be asked for any subset. Only the targets' query stream meets the vocabulary.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.training import batches, documents, xlnet_model
from core.training.batches import Epochs, Ints
from core.training.losses import linear_cross_entropy
from core.training.permutations import Orders
from core.training.recipe import Recipe
from core.training.shipping import ship_model, ship_tokenizer

DROPOUT = ("dropout", "summary_last_dropout")


class PermutationModel(nn.Module):
    """An XLNet; ``full`` is transformers' class."""

    def __init__(self, full: Any) -> None:
        super().__init__()
        self.full = full

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """(targets, width) states of the targets that are there, row by row."""
        rank = batch["rank"]
        later = (rank[:, None, :] > 0) & (rank[:, None, :] >= rank[:, :, None])
        unseen = later | ~batch["real"][:, None, :]
        return xlnet_model.targets(self.full, batch["ids"], unseen, batch["place"])[batch["there"]]


class PermutationObjective:
    """Chunks of documents of about equal length a batch."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        data = recipe.data
        self.tokenizer, train, test = documents.prepare(
            corpus_folder,
            recipe.sources,
            cache.parents[1] / "text",
            every=int(data["hold_out_every"]),
            vocabulary=int(data["vocabulary"]),
            width=int(data["width"]),
        )
        self.train, self.test = (Orders(side, self.tokenizer, float(data["k"])) for side in (train, test))
        words = self.train.words
        torch.manual_seed(recipe.seed)
        full = xlnet_model.new_xlnet(
            recipe.model,
            self.tokenizer.get_vocab_size(),
            pad_token_id=words.pad,
            bos_token_id=words.begin,
            eos_token_id=words.end,
        )
        self.model = PermutationModel(xlnet_model.flatten(full))
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.train.text.source, [source.passes for source in self.recipe.sources], rng)
        size = self.train.sizes[items]
        return batches.plan(items, size, size, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index, seed = self._epochs[step], self.recipe.seed
        wide = np.random.default_rng([seed, 5, step]).random() < float(self.recipe.data.get("wide", 0.0))
        return self.train.rows(index, [np.random.default_rng([seed, 1, step, int(chunk)]) for chunk in index], wide)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        head = self.model.full.lm_loss
        return linear_cross_entropy(self.model(batch), head.weight, batch["labels"], head.bias)

    def size(self, batch: dict[str, Tensor]) -> int:
        return int(batch["real"].sum())

    def measure(self) -> dict[str, float]:
        return found_tokens(self.model, self.test)

    def export(self, folder: Path) -> None:
        ship_model(xlnet_model.whole(self.model.full), folder, DROPOUT)
        width = int(self.recipe.data["width"])
        inputs = ["input_ids", "attention_mask"]
        ship_tokenizer(self.tokenizer, folder, width, **documents.SPECIAL, model_input_names=inputs)


@torch.no_grad()
def found_tokens(model: PermutationModel, held: Orders) -> dict[str, float]:
    """Loss (nats), top-1 and top-5 (percent) of the targets, each known what comes before it in the order."""
    nats = total = hits = near = 0.0
    for batch in held.measured(next(model.parameters()).device):
        scores = model.full.lm_loss(model(batch)).float()
        best = scores.topk(5).indices == batch["labels"][:, None]
        nats += float(functional.cross_entropy(scores, batch["labels"], reduction="sum"))
        hits += int(best[:, 0].sum())
        near += int(best.any(dim=1).sum())
        total += len(best)
    return {"loss": nats / total, "top-1": 100 * hits / total, "top-5": 100 * near / total}
