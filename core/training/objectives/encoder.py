"""Pretraining an encoder from nothing: masked tokens, and with pairs the question that binds two segments.

.. math:: L = -\\frac{1}{|M|} \\sum_{i \\in M} \\log p(x_i \\mid \\tilde x) - \\log p(y \\mid \\tilde x)

with :math:`M` the chosen 15 % of the tokens (`core.training.masking.bert`), :math:`\\tilde x` the damaged text and
:math:`y` the answer about the pair. Masks are drawn anew whenever a text comes (dynamic; Liu et al., 2019), or belong
to the text for good (static; Devlin et al., 2019).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from core.training import batches, documents, masking
from core.training.batches import Epochs, Ints
from core.training.encoder_model import EncoderModel, new_model
from core.training.examples import Examples
from core.training.finished import finished_bert
from core.training.pairs import NO_LABEL
from core.training.recipe import Recipe
from core.training.share import share
from core.training.shipping import ship_model, ship_tokenizer

DROPOUT = ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout")


class EncoderObjective:
    """Chunks of documents of about equal length a batch."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.stages = cache.parents[1]
        data = recipe.data
        self.tokenizer, train, test = documents.prepare(
            corpus_folder,
            recipe.sources,
            cache.parents[1] / "text",
            every=int(data["hold_out_every"]),
            vocabulary=int(data["vocabulary"]),
            width=int(data["width"]),
        )
        question = str(data.get("pairs", ""))
        masked, drawn = data.get("fates", masking.FATES)
        self.train, self.test = (
            Examples(side, self.tokenizer, question, (float(masked), float(drawn))) for side in (train, test)
        )
        self.static = bool(data.get("static", False))
        torch.manual_seed(recipe.seed)
        self.model: Any = self.new_model()
        self._epochs = Epochs(recipe.seed, self._epoch)

    def new_model(self) -> Any:
        """What is trained: random weights, or for an ALBERT with ``start`` what it takes from that BERT."""
        settings = dict(self.recipe.model)
        start, layer = settings.pop("start", None), int(settings.pop("start_layer", 0))
        model = new_model(settings, self.tokenizer.get_vocab_size())
        if start is not None:
            share(model, finished_bert(str(start), self.stages), layer)
        return EncoderModel(model)

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.train.text.source, [source.passes for source in self.recipe.sources], rng)
        size = self.train.sizes[items]
        return batches.plan(items, size, size, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        own = [self.recipe.seed, 2] if self.static else [self.recipe.seed, 1, step]
        return self.train.rows(index, [np.random.default_rng([*own, int(chunk)]) for chunk in index])

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        words, pair = self.model(batch["ids"], batch["types"], batch["real"], batch["chosen"])
        loss = functional.cross_entropy(words.float(), batch["labels"])
        asked = batch["answers"] != NO_LABEL
        if pair is not None and asked.any():
            loss = loss + functional.cross_entropy(pair.float()[asked], batch["answers"][asked])
        return loss

    def size(self, batch: dict[str, Tensor]) -> int:
        return int(batch["real"].sum())

    def measure(self) -> dict[str, float]:
        return masked_tokens(self.model, self.test)

    def export(self, folder: Path) -> None:
        ship_model(self.model.full, folder, DROPOUT)
        inputs = ["input_ids", *["token_type_ids"] * self.model.typed, "attention_mask"]
        width = int(self.recipe.data["width"])
        ship_tokenizer(self.tokenizer, folder, width, **documents.SPECIAL, model_input_names=inputs)


@torch.no_grad()
def masked_tokens(model: EncoderModel, held: Examples) -> dict[str, float]:
    """Loss (nats), top-1 and top-5 of the chosen tokens and right answers about pairs, both in percent."""
    nats = total = hits = near = right = asked = 0.0
    for batch in held.measured(next(model.parameters()).device):
        words, pair = model(batch["ids"], batch["types"], batch["real"], batch["chosen"])
        best = words.topk(5).indices == batch["labels"][:, None]
        nats += float(functional.cross_entropy(words.float(), batch["labels"], reduction="sum"))
        hits += int(best[:, 0].sum())
        near += int(best.any(dim=1).sum())
        total += len(best)
        if pair is not None:
            known = batch["answers"] != NO_LABEL
            right += int((pair.argmax(1) == batch["answers"])[known].sum())
            asked += int(known.sum())
    found = {"loss": nats / total, "top-1": 100 * hits / total, "top-5": 100 * near / total}
    return found | ({"pairs": 100 * right / asked} if asked else {})
