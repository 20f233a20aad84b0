r"""Next-byte prediction with a Reformer (Kitaev et al., 2020): LSH and local attention alternate, over whole books.

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t})

A text is its UTF-8 bytes: byte b is token b + 2, as in the authors' model of enwik8; 0 is padding, 1 begins and ends a
book. Layers are reversible,

.. math:: y_1 = x_1 + \mathrm{attention}(x_2), \qquad y_2 = x_2 + \mathrm{feedforward}(y_1)

so that training can recompute the inputs of a layer from its outputs instead of storing them. transformers does that
and runs every layer twice; plain backpropagation, used here, has the same gradients (a test compares them), is faster
and needs more memory. The random rotations of the hashing are sampled in each step, from the step's seed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lab import models
from lab.objectives.causal import NextToken, book_lines, stream
from lab.tokenizers import END, GPT, ship_tokenizer, single_bytes
from lab.tokens import stored

PAD, FIRST = "<pad>", 2
"""Token 0, and the token of byte 0; token 1 is `END`."""
SHIPPED_SEED = 0
"""``hash_seed`` of the shipped configuration: the page shows the same buckets for the same text."""


class HashedModel(nn.Module):
    """A Reformer with plain backpropagation."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        positions = math.prod(settings["axial_pos_shape"])
        special = {"vocab_size": FIRST + 256, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
        self.full: Any = models.new_model(
            settings,
            "CausalLM",
            max_position_embeddings=positions,
            is_decoder=True,
            tie_word_embeddings=False,
            **special,
        )
        self.full.lm_head.bias.requires_grad_(False)  # transformers never adds it

    def forward(self, ids: Tensor) -> Tensor:
        """Last hidden states (rows, length, 2 width) of ids (rows, length), a multiple of the chunk length."""
        reformer = self.full.reformer
        first = second = reformer.embeddings(input_ids=ids)
        for layer in reformer.encoder.layers:
            first = first + layer.attention(hidden_states=second).hidden_states
            second = second + layer.feed_forward(first)
        hidden: Tensor = reformer.encoder.layer_norm(torch.cat([first, second], dim=-1))
        return hidden


class HashedObjective(NextToken):
    """Windows over the bytes of the books, end to end, separated by `END`."""

    special = GPT | {"pad_token": PAD}

    def prepare_data(self) -> None:
        self.width = math.prod(self.recipe.model["axial_pos_shape"])
        self.tokenizer = single_bytes((PAD, END))

        def rows(held_out: bool) -> Iterator[list[int]]:
            last = None
            for book, text in book_lines(self.recipe, self.corpus, held_out=held_out):
                yield [*([1] if book != last else []), *in_bytes(text + "\n")]
                last = book

        def make() -> dict[str, Any]:
            sides = ("train", "test")
            return {side: stream(rows(side == "test"), self.width, side, self.recipe.sources) for side in sides}

        data = stored(self.cache, (self.recipe.sources, self.recipe.data, self.width), make)
        self.train, self.test = data["train"], data["test"]

    def new_model(self) -> HashedModel:
        return HashedModel(self.recipe.model)

    def measure(self) -> dict[str, float]:
        """Bits per byte of about 24 held-out windows, and of the last eighth of each with two lengths of context.

        In the whole window seven eighths precede the last one, in its last quarter one eighth.
        """
        quarter, eighth = self.width // 4, self.width // 8
        full_window, far, near = [], [], []
        with torch.random.fork_rng(devices=[]):
            for batch in self.measured(24, 4):
                nats = self._nats(**batch)
                full_window.append(nats)
                far.append(nats[:, -eighth:])
                near.append(self._nats(**{k: v[:, -quarter:] for k, v in batch.items()})[:, -eighth:])
        names = ("bits per byte", f"bits per byte, {self.width} bytes", f"bits per byte, {quarter} bytes")
        return {
            n: float(torch.cat(v).mean()) / math.log(2) for n, v in zip(names, (full_window, far, near), strict=True)
        }

    def _nats(self, ids: Tensor, labels: Tensor) -> Tensor:
        """Surprisal of each label in nats (rows, length), hashed with the shipped seed."""
        torch.manual_seed(SHIPPED_SEED)
        scores = self.model.full.lm_head.decoder(self.model(ids)).float()
        return nn.functional.cross_entropy(scores.transpose(1, 2), labels, reduction="none")

    def export(self, folder: Path) -> None:
        shipped = copy.deepcopy(self.model.full)
        shipped.config.hash_seed = SHIPPED_SEED
        shipped.to(torch.float16).save_pretrained(folder)
        ship_tokenizer(self.tokenizer, folder, self.positions, **self.special)


def in_bytes(text: str) -> list[int]:
    """The token ids of a text."""
    return [FIRST + byte for byte in text.encode()]
