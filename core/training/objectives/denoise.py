"""Denoising (Lewis et al., 2020): an encoder-decoder writes the text that one of five corruptions damaged.

.. math:: L = -\\frac{1}{n} \\sum_{t=1}^{n} \\log p(x_t \\mid x_{<t}, \\tilde x)

The corruption of a row is drawn evenly among those that change it (`core.language.denoise`); nothing tells the model
which one it was.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch import Tensor

from core.language.denoise import CORRUPTIONS, corrupt
from core.training import batches, documents, models
from core.training.documents import ROUND, Documents
from core.training.objective import Batch, Objective
from core.training.objectives.pairs import EncoderDecoder, mean_nats, shifted, shown
from core.training.tokenizers import BART, ship_tokenizer
from core.training.tokens import Ints, Ragged

BEGIN, PAD, END, _, MASK = range(5)
MEASURED = 600
"""Held-out chunks that are measured, for each corruption."""


class DenoiseObjective(Objective):
    """Chunks of about equal length a batch, each damaged in a way of its own."""

    def read(self) -> None:
        self.width = int(self.recipe.data["width"])
        self.tokenizer, self.train, self.test = documents.prepare(self.recipe, self.corpus, self.stages, "byte-bpe")
        self.origin = self.train.source
        self.keys = self.cost = batches.round_up(self.train.lengths + 1, ROUND)

    def new_model(self) -> EncoderDecoder:
        special = {"bos_token_id": BEGIN, "pad_token_id": PAD, "eos_token_id": END, "decoder_start_token_id": END}
        size = self.tokenizer.get_vocab_size()
        return EncoderDecoder(
            self.recipe.model, vocab_size=size, max_position_embeddings=self.width, forced_eos_token_id=None, **special
        )

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        return rows(self.train, index, self.draws(step, index), self.width)

    def loss(self, batch: Batch) -> Tensor:
        return self.model.loss(batch)  # type: ignore[no-any-return]

    def size(self, batch: Batch) -> int:
        return shown(batch)

    def measure(self) -> dict[str, float]:
        """Loss (nats a token) of held-out chunks under each corruption, and the mean of the five as ``loss``."""
        some = batches.some(len(self.test), MEASURED)
        size = batches.round_up(self.test.lengths + 1, ROUND)[some]
        found: dict[str, float] = {}
        for kind in CORRUPTIONS:
            made = (rows(self.test, index, draws, self.width, kind) for index, draws in batches.measured(some, size))
            found[f"loss {kind}"] = mean_nats(self, made)
        return {"loss": sum(found.values()) / len(found), **found}

    def export(self, folder: Path) -> None:
        models.ship_model(self.model.full, folder)
        ship_tokenizer(self.tokenizer, folder, self.width, **BART)


def rows(text: Documents, index: Ints, draws: list[np.random.Generator], width: int, kind: str | None = None) -> Batch:
    """Damaged chunks and what they were.

    Args:
        draws: a generator for each row.
        width: positions of the model; a damaged text beyond it is cut.
        kind: the corruption; drawn for each row where none is given.

    Returns:
        What `shifted` returns.
    """
    inputs: list[list[int]] = []
    outputs: list[list[int]] = []
    for chunk, rng in zip(index.tolist(), draws, strict=True):
        first, last = text.bounds[chunk, :2].tolist()
        sentences = [text.text(i, i + 1).tolist() for i in range(first, last)]
        usable = [name for name in CORRUPTIONS if name != "permute" or len(sentences) > 1]
        damaged = corrupt(kind or usable[rng.integers(len(usable))], sentences, MASK, rng)
        inputs.append([BEGIN, *damaged[: width - 2], END])
        outputs.append([*(token for sentence in sentences for token in sentence), END])
    return shifted(Ragged.of(inputs), Ragged.of(outputs), PAD, END)
