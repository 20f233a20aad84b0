r"""Permutation language modeling (XLNet: Yang et al., 2019, arXiv 1906.08237): the last tokens of a random order.

.. math:: L = -\frac{1}{|z_{>c}|} \sum_{t > c} \log p(x_{z_t} \mid x_{z_{<t}})

with z a random order of the text's tokens, sampled at each use, and c the start of its last K-th
(`core.objectives.permutation`). ``[CLS]`` and ``[SEP]`` are never targets. In a share of the steps, the recipe's
``wide``, the targets are more of the text, up to all of it, so that the model can predict any subset. Logits are
computed from the query stream of the targets alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core import patterns
from core.objectives.permutation import last
from lab import batches, documents, xlnet_model
from lab.documents import MEASURED, ROUND, Documents
from lab.objective import Batch, Hits, Objective, linear_cross_entropy
from lab.tokenizers import BERT, Vocabulary
from lab.tokens import Ints


class Orders:
    """Rows of one side of the split.

    Args:
        text: the side.
        tokenizer: of the ``tokenizers`` library, with BERT's special tokens.
        k: one token in so many is a target.
    """

    def __init__(self, text: Documents, tokenizer: Any, k: float) -> None:
        self.text, self.k = text, k
        self.words = Vocabulary(tokenizer)
        self.sizes = batches.round_up(text.lengths + 2, ROUND)
        """(chunks,) length of each chunk's row, special tokens and padding included."""

    def rows(self, index: Ints, rngs: Sequence[np.random.Generator], wide: bool = False) -> Batch:
        """Rows of chunks of one size, each with its own order.

        Args:
            rngs: a generator for each row.
            wide: the share of targets is uniform from 1 / K to 1 for each row, instead of 1 / K.

        Returns:
            ``ids`` (rows, width); ``real`` True at tokens, False at padding; ``rank`` of each position
            (`core.patterns`); ``targets`` (rows, most) positions in the order of prediction, padded with 0;
            ``is_target`` (rows, most) False at that padding; ``labels`` (targets,) the tokens at the targets, row by
            row.
        """
        ids = np.full((len(index), int(self.sizes[index[0]])), self.words.pad, dtype=np.int64)
        rank = np.zeros_like(ids)
        orders: list[Ints] = []
        for row, (chunk, rng) in enumerate(zip(index.tolist(), rngs, strict=True)):
            framed = self.words.framed(self.text.chunk(chunk))
            ids[row, : len(framed)] = framed
            share = rng.uniform(1 / self.k, 1.0) if wide else 1 / self.k
            orders.append(last(np.flatnonzero(~self.words.special[framed]), 1 / share, rng))
            rank[row] = patterns.ranks(orders[-1].tolist(), ids.shape[1])
        targets = np.full((len(index), max(map(len, orders))), -1, dtype=np.int64)
        for row, order in enumerate(orders):
            targets[row, : len(order)] = order
        return batches.tensors(
            ids=ids,
            real=ids != self.words.pad,
            rank=rank,
            targets=np.maximum(targets, 0),
            is_target=targets >= 0,
            labels=np.concatenate([ids[row, order] for row, order in enumerate(orders)]),
        )

    def measured(self, device: torch.device | str = "cpu") -> Iterator[Batch]:
        """Batches over about `MEASURED` chunks, always with the same orders and one target in K."""
        some = batches.some(len(self.text), MEASURED)
        for index, rngs in batches.measured(some, self.sizes[some]):
            yield {name: value.to(device) for name, value in self.rows(index, rngs).items()}


class PermutationModel(nn.Module):
    """An XLNet; ``full`` is the class of transformers."""

    def __init__(self, full: Any) -> None:
        super().__init__()
        self.full = full

    def forward(self, batch: Batch) -> Tensor:
        """Query-stream states (targets, hidden size), row by row."""
        rank = batch["rank"]
        later = (rank[:, None, :] > 0) & (rank[:, None, :] >= rank[:, :, None])
        blocked = later | ~batch["real"][:, None, :]
        mapping = functional.one_hot(batch["targets"], rank.shape[1]).float()
        queries: Tensor = self.full.transformer(
            batch["ids"], perm_mask=blocked.float(), target_mapping=mapping
        ).last_hidden_state
        return queries[batch["is_target"]]


class PermutationObjective(Objective):
    """Chunks of documents, of similar length per batch."""

    special = BERT | {"model_input_names": ["input_ids", "attention_mask"]}

    def prepare_data(self) -> None:
        self.tokenizer, train, test = documents.prepare(self.recipe, self.corpus, self.stages)
        k, self.positions = float(self.recipe.data["k"]), int(self.recipe.data["width"])
        self.train, self.test = (Orders(side, self.tokenizer, k) for side in (train, test))
        self.origin = train.source
        self.keys = self.cost = self.train.sizes

    def new_model(self) -> PermutationModel:
        words = self.train.words
        special = {"pad_token_id": words.pad, "bos_token_id": words.begin, "eos_token_id": words.end}
        full = xlnet_model.new_xlnet(self.recipe.model, self.tokenizer.get_vocab_size(), **special)
        return PermutationModel(xlnet_model.flatten(full))

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        chance = np.random.default_rng([self.recipe.seed, 5, step]).random()
        return self.train.rows(index, self.rngs(step, index), chance < float(self.recipe.data.get("wide", 0.0)))

    def loss(self, batch: Batch) -> Tensor:
        head = self.model.full.lm_loss
        return linear_cross_entropy(self.model(batch), head.weight, batch["labels"], head.bias)

    def measure(self) -> dict[str, float]:
        return target_accuracy(self.model, self.test)

    def shipped(self) -> Any:
        return xlnet_model.whole(self.model.full)


@torch.no_grad()
def target_accuracy(model: PermutationModel, held: Orders) -> dict[str, float]:
    """Loss (nats), top-1 and top-5 (percent) on the targets, each predicted from all before it in the order."""
    hits = Hits()
    for batch in held.measured(next(model.parameters()).device):
        hits.add(model.full.lm_loss(model(batch)).float(), batch["labels"])
    return hits.shares()
