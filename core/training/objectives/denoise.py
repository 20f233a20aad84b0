"""Denoising (Lewis et al., 2020): an encoder-decoder writes the text that one of five corruptions damaged.

.. math:: L = -\\frac{1}{n} \\sum_{t=1}^{n} \\log p(x_t \\mid x_{<t}, \\tilde x)

The corruption of a row is drawn evenly among those that change it (`core.language.denoise`); nothing tells the model
which one it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.language.denoise import CORRUPTIONS, corrupt
from core.training import batches, documents
from core.training.batches import Epochs, Ints
from core.training.cross_entropy import linear_cross_entropy
from core.training.documents import BART_SPECIAL, Documents
from core.training.recipe import Recipe

BEGIN, PAD, END, _, MASK = range(5)
IGNORE = -100
MEASURED = 600
"""Held-out chunks that are measured, for each corruption."""


class DenoiseModel(nn.Module):
    """BART from its configuration, with random weights."""

    def __init__(self, settings: dict[str, Any], vocabulary: int, width: int) -> None:
        super().__init__()
        from transformers import BartConfig, BartForConditionalGeneration

        config = BartConfig(
            vocab_size=vocabulary,
            max_position_embeddings=width,
            d_model=settings["width"],
            encoder_layers=settings["layers"],
            decoder_layers=settings["layers"],
            encoder_attention_heads=settings["heads"],
            decoder_attention_heads=settings["heads"],
            encoder_ffn_dim=settings["inner"],
            decoder_ffn_dim=settings["inner"],
            dropout=0.0,
            bos_token_id=BEGIN,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=END,
            forced_eos_token_id=None,
        )
        config._attn_implementation = "eager"  # on short rows faster than the fused kernel
        self.bart: Any = BartForConditionalGeneration(config)

    def forward(self, ids: Tensor, real: Tensor, given: Tensor) -> Tensor:
        """(rows, target length, width) states that the output layer reads, for a target shifted right by one."""
        hidden: Tensor = self.bart.model(
            input_ids=ids, attention_mask=real, decoder_input_ids=given, use_cache=False
        ).last_hidden_state
        return hidden


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
        self.model = DenoiseModel(recipe.model, self.tokenizer.get_vocab_size(), self.width)
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.train.source, [source.passes for source in self.recipe.sources], rng)
        return batches.plan(items, self.sizes[items], self.sizes[items], self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        draws = [np.random.default_rng([self.recipe.seed, 1, step, int(chunk)]) for chunk in index]
        return rows(self.train, index, draws, self.width)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        hidden = self.model(batch["ids"], batch["real"], batch["given"])
        known = batch["labels"] != IGNORE
        return linear_cross_entropy(hidden[known], self.model.bart.lm_head.weight, batch["labels"][known])

    def size(self, batch: dict[str, Tensor]) -> int:
        return int(batch["real"].sum()) + int((batch["labels"] != IGNORE).sum())

    def measure(self) -> dict[str, float]:
        """Loss (nats a token) of held-out chunks under each corruption, and the mean of the five as ``loss``."""
        some = np.arange(0, len(self.test), max(1, len(self.test) // MEASURED), dtype=np.int64)
        size = batches.round_up(self.test.lengths + 1, 8)[some]
        device = self.model.bart.device
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
        from transformers import PreTrainedTokenizerFast

        folder.mkdir(parents=True, exist_ok=True)
        bart = self.model.bart
        bart.config.dropout = 0.1
        bart.to(torch.float16).save_pretrained(folder)
        bart.to(torch.float32)
        PreTrainedTokenizerFast(
            tokenizer_object=self.tokenizer,
            **BART_SPECIAL,
            model_max_length=self.width,
            clean_up_tokenization_spaces=False,
        ).save_pretrained(folder)


def rows(
    text: Documents, index: Ints, draws: list[np.random.Generator], width: int, kind: str | None = None
) -> dict[str, Tensor]:
    """Damaged chunks and what they were.

    Args:
        draws: a generator for each row.
        width: positions of the model; a damaged text beyond it is cut.
        kind: the corruption; drawn for each row where none is given.

    Returns:
        ``ids`` and ``real`` (rows, input length), ``given`` and ``labels`` (rows, target length).
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
    given = np.concatenate([np.full((len(labels), 1), END), np.where(labels == IGNORE, PAD, labels)[:, :-1]], axis=1)
    return {
        "ids": torch.from_numpy(ids),
        "real": torch.from_numpy((ids != PAD).astype(np.int64)),
        "given": torch.from_numpy(given),
        "labels": torch.from_numpy(labels),
    }


def _padded(rows: list[list[int]], fill: int) -> Ints:
    out = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for row, ids in zip(out, rows, strict=True):
        row[: len(ids)] = ids
    return out
