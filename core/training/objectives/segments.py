r"""Next-token prediction in segments with a memory (Transformer-XL: Dai et al., 2019, arXiv 1901.02860).

.. math:: h^n_\tau = \mathrm{layer}_n\bigl(q = h^{n-1}_\tau,\ k, v = [\mathrm{sg}(m^{n-1}_\tau) ; h^{n-1}_\tau]\bigr)

with :math:`\tau` the segment, sg no slope, and the memory :math:`m^{n-1}_\tau` the last states that layer n - 1 gave
before the segment. A row of a batch is a window of consecutive segments, read one after the other from an empty memory,
so that a step needs nothing of the one before; the windows are those of `core.training.objectives.causal`. The loss is
the mean over all segments of

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t})
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.training import xlnet_model
from core.training.losses import linear_cross_entropy
from core.training.objectives.causal import END, CausalModel, CausalObjective
from core.training.objectives.permutation import DROPOUT
from core.training.recipe import Recipe, RecipeError
from core.training.shipping import ship_model, ship_tokenizer

NO_LIMIT = 1_000_000
"""Tokens that the tokeniser takes for the longest text: the model reads on for as long as it is given segments."""


class SegmentModel(CausalModel):
    """A Transformer-XL that reads ``segment`` tokens at a time."""

    def __init__(self, settings: dict[str, Any], vocabulary: int, end: int) -> None:
        nn.Module.__init__(self)
        made = xlnet_model.new_xlnet(settings, vocabulary, bos_token_id=end, eos_token_id=end, pad_token_id=end)
        self.gpt = xlnet_model.flatten(made)
        self.segment = int(settings["segment"])

    def forward(self, ids: Tensor, remember: bool = True) -> Tensor:
        """(rows, length) ids to (rows, length, width) states; without ``remember`` every segment begins anew."""
        memory: list[Tensor] | None = None
        states: list[Tensor] = []
        for part in torch.split(ids, self.segment, dim=1):
            found, kept = xlnet_model.content(self.gpt, part, memory)
            memory = kept if remember else None
            states.append(found)
        return torch.cat(states, dim=1)


class SegmentsObjective(CausalObjective):
    """Windows over the books end to end, each read in segments."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        window, segment = int(recipe.model["positions"]), int(recipe.model["segment"])
        if window % segment or window == segment:
            raise RecipeError(f"The {window} positions of {recipe.slug!r} have to be some segments of {segment}.")
        super().__init__(recipe, corpus_folder, cache)

    def new_model(self) -> SegmentModel:
        torch.manual_seed(self.recipe.seed)
        return SegmentModel(self.recipe.model, self.tokenizer.get_vocab_size(), self.tokenizer.token_to_id(END))

    def export(self, folder: Path) -> None:
        ship_model(xlnet_model.whole(self.model.gpt), folder, DROPOUT)
        ship_tokenizer(self.tokenizer, folder, NO_LIMIT, bos_token=END, eos_token=END, unk_token=END)

    @torch.no_grad()
    def measure(self) -> dict[str, float]:
        """Bits per byte of held-out windows, up to 150 that share no token: of all segments with the memory, and of
        all but the first, with the memory and without.
        """
        starts = np.arange(0, len(self.test) - self.width, self.width, dtype=np.int64)
        chosen = starts[:: max(1, len(starts) // 150)]
        first = int(self.recipe.model["segment"])
        nats, sizes = np.zeros(3), np.zeros(3)
        for at in range(0, len(chosen), 16):
            batch = {k: v.to(self.model.gpt.device) for k, v in self._windows(self.test, chosen[at : at + 16]).items()}
            with_memory, without = (self.model(batch["ids"], remember) for remember in (True, False))
            read = ((with_memory, 0), (with_memory, first), (without, first))
            for number, (states, begin) in enumerate(read):
                labels = batch["labels"][:, begin:]
                head = self.model.gpt.lm_loss
                mean = linear_cross_entropy(states[:, begin:].flatten(0, 1), head.weight, labels.flatten(), head.bias)
                nats[number] += float(mean) * labels.numel()
                sizes[number] += self.bytes[labels.cpu().numpy()].sum()
        names = ("bits per byte", "later segments, bits per byte", "later segments without memory, bits per byte")
        return dict(zip(names, (nats / math.log(2) / sizes).tolist(), strict=True))
