"""Denoising (Lewis et al., 2020): an encoder-decoder writes the text that one of five corruptions damaged.

.. math:: L = -\\frac{1}{n} \\sum_{t=1}^{n} \\log p(x_t \\mid x_{<t}, \\tilde x)

The corruption of a row is drawn evenly among those that change it (`core.language.denoise`); nothing tells the model
which one it was.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from core.language.denoise import CORRUPTIONS, corrupt
from core.training import batches, documents
from core.training.batches import Epochs, Ints
from core.training.documents import BART_SPECIAL, Documents
from core.training.encoder_decoder import EncoderDecoder, shifted, tokens
from core.training.losses import IGNORE
from core.training.recipe import Recipe
from core.training.shipping import ship_model, ship_tokenizer

BEGIN, PAD, END, _, MASK = range(5)
MEASURED = 600
"""Held-out chunks that are measured, for each corruption."""


class DenoiseObjective:
    """Chunks of about equal length a batch, each damaged in a way of its own."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        data = recipe.data
        self.width = int(data["width"])
        self.tokenizer, self.train, self.test = documents.prepare(
            corpus_folder,
            recipe.sources,
            cache.parents[1] / "text",
            every=int(data["hold_out_every"]),
            vocabulary=int(data["vocabulary"]),
            width=self.width,
            kind="byte-bpe",
        )
        self.sizes = batches.round_up(self.train.lengths + 1, 8)
        torch.manual_seed(recipe.seed)
        self.model = EncoderDecoder(
            "bart",
            recipe.model,
            self.tokenizer.get_vocab_size(),
            self.width,
            bos_token_id=BEGIN,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=END,
            forced_eos_token_id=None,
        )
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.train.source, [source.passes for source in self.recipe.sources], rng)
        return batches.plan(items, self.sizes[items], self.sizes[items], self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        draws = [np.random.default_rng([self.recipe.seed, 1, step, int(chunk)]) for chunk in index]
        return rows(self.train, index, draws, self.width)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        return self.model.loss(batch)

    def size(self, batch: dict[str, Tensor]) -> int:
        return tokens(batch)

    def measure(self) -> dict[str, float]:
        """Loss (nats a token) of held-out chunks under each corruption, and the mean of the five as ``loss``."""
        some = np.arange(0, len(self.test), max(1, len(self.test) // MEASURED), dtype=np.int64)
        size = batches.round_up(self.test.lengths + 1, 8)[some]
        device = self.model.full.device
        found: dict[str, float] = {}
        for kind in CORRUPTIONS:
            nats = count = 0.0
            for index in batches.plan(some, size, size, 4096, np.random.default_rng(0), least=0.0):
                draws = [np.random.default_rng([0, 3, int(chunk)]) for chunk in index]
                made = rows(self.test, index, draws, self.width, kind)
                batch = {name: value.to(device) for name, value in made.items()}
                known = int((batch["labels"] != IGNORE).sum())
                nats += float(self.loss(batch)) * known
                count += known
            found[f"loss {kind}"] = nats / count
        return {"loss": sum(found.values()) / len(found), **found}

    def export(self, folder: Path) -> None:
        ship_model(self.model.full, folder, ("dropout",))
        ship_tokenizer(self.tokenizer, folder, self.width, **BART_SPECIAL)


def rows(
    text: Documents, index: Ints, draws: list[np.random.Generator], width: int, kind: str | None = None
) -> dict[str, Tensor]:
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
    ids = _padded(inputs, PAD)
    labels = _padded(outputs, IGNORE)
    return shifted(ids, labels, PAD, END)


def _padded(rows: list[list[int]], fill: int) -> Ints:
    out = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for row, ids in zip(out, rows, strict=True):
        row[: len(ids)] = ids
    return out
