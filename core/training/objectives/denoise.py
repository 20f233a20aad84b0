r"""Denoising (Lewis et al., 2020): an encoder-decoder writes the text that one of five corruptions damaged.

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t}, \tilde x)

The corruption of a row is drawn evenly among those that change it (`core.objectives.corruptions`); nothing tells the
model which one it was.

Bytes in, bytes out (Xue et al., 2022): a T5 with a deep encoder writes a clean sentence for a noisy one.

.. math:: L = -\frac{1}{n + 1} \sum_{t=1}^{n+1} \log p(b_t \mid b_{<t}, \tilde b), \qquad b_{n+1} = \text{</s>}

with :math:`b` the UTF-8 bytes of a sentence and :math:`\tilde b` those of the same sentence with noise
(`core.language.noise`), drawn anew whenever it comes; one in `CLEAN` stays as it is, so that the model learns to leave
alone what is right. Byte v has the id v + 3, behind padding 0, end 1 and an unknown token 2 that nothing becomes: the
published numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from core.language.noise import NOISES, Noise, drawn, noisy
from core.objectives.corruptions import CORRUPTIONS
from core.training import batches, documents
from core.training.documents import ROUND, Documents
from core.training.objective import Batch, Objective
from core.training.objectives.pairs import EncoderDecoder, PairsObjective, mean_nats, shifted
from core.training.tokenizers import BART, T5, single_bytes
from core.training.tokens import Ints, Ragged, lines

BEGIN, PAD, END, _, MASK = range(5)
MEASURED = 600
"""Held-out chunks that are measured, for each corruption."""


class DenoiseObjective(Objective):
    """Chunks of about equal length a batch, each damaged in a way of its own."""

    special = BART

    def read(self) -> None:
        self.width = self.positions = int(self.recipe.data["width"])
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

    def measure(self) -> dict[str, float]:
        """Loss (nats a token) of held-out chunks under each corruption, and the mean of the five as ``loss``."""
        some = batches.some(len(self.test), MEASURED)
        size = batches.round_up(self.test.lengths + 1, ROUND)[some]
        losses: dict[str, float] = {}
        for kind in CORRUPTIONS:
            masked_rows = (
                rows(self.test, index, draws, self.width, kind) for index, draws in batches.measured(some, size)
            )
            losses[f"loss {kind}"] = mean_nats(self, masked_rows)
        return {"loss": sum(losses.values()) / len(losses), **losses}


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
        damaged = CORRUPTIONS[kind or usable[rng.integers(len(usable))]](sentences, MASK, rng)
        inputs.append([BEGIN, *damaged[: width - 2], END])
        outputs.append([*(token for sentence in sentences for token in sentence), END])
    return shifted(Ragged.of(inputs), Ragged.of(outputs), PAD, END)


OFFSET = 3
"""Ids before the first byte."""
CLEAN = 8
"""One row in so many is not damaged."""
NEAR = 5.0
"""Of forty bytes that are equally likely otherwise, one with this bias gets four fifths of the weight."""
SENTENCES = 150
"""Held-out sentences that the learning curve is measured on, under each noise."""
SHORT: tuple[Noise, ...] = tuple(kind for kind in NOISES if kind != "antspeak")
"""Kinds of noise that leave a text about as long as it is."""


@torch.no_grad()
def look_near(t5: Any) -> None:
    """Lets some heads begin with their eyes on a neighbor: a bias of `NEAR` on one distance, nought on the others.

    In the encoder one head each for the byte before, the one after and the second ones, in the decoder for the three
    before, as far as there are heads; the others keep their random biases, which are small. So a place is known by the
    bytes around it from the first step on, and a written byte can find its place in the source: a smaller model read
    after 100 steps, and without this after 1,000 steps it still wrote English without reading.
    """
    buckets = t5.config.relative_attention_num_buckets
    right = buckets // 2  # distances to the right have the second half of the encoder's buckets
    for half, near in ((t5.encoder, (1, right + 1, 2, right + 2)), (t5.decoder, (1, 2, 3))):
        bias = half.block[0].layer[0].SelfAttention.relative_attention_bias.weight  # (buckets, heads)
        for head, bucket in enumerate(near[: bias.shape[1]]):
            bias[:, head] = 0.0
            bias[bucket, head] = NEAR


def to_ids(text: str) -> list[int]:
    """The ids of a text's bytes, and the end token."""
    return [byte + OFFSET for byte in text.encode()] + [1]


def to_text(ids: list[int]) -> str:
    """The text of ids as `to_ids` makes them."""
    return bytes(number - OFFSET for number in ids if number >= OFFSET).decode()


class RespellObjective(PairsObjective):
    """Sentences of about equal length a batch."""

    pad, start = 0, 0
    special = T5

    def read(self) -> None:
        self.positions = int(self.recipe.data["room"])
        self.tokenizer = single_bytes(tuple(T5.values()), "</s>")
        self.train, self.origin, self.held = lines(self.recipe, self.tokenizer, self.corpus, self.cache)
        self.keys = batches.round_up(self.train.lengths)
        self.cost = 2 * self.keys

    def new_model(self) -> EncoderDecoder:
        ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
        model = EncoderDecoder(self.recipe.model, vocab_size=self.tokenizer.get_vocab_size(), **ids)
        look_near(model.full)
        return model

    def batch(self, step: int) -> Batch:
        """Antspeak has batches of its own: one row of it would double the length of all the others."""
        index = self.epochs[step]
        seed = self.recipe.seed
        kinds: tuple[Noise, ...] = SHORT
        if np.random.default_rng([seed, 5, step]).random() < 1 / len(NOISES):
            kinds = ("antspeak",)
        seeds = [int(np.random.SeedSequence([seed, 1, step, int(i)]).generate_state(1)[0]) for i in index]
        clean = [to_text(self.train.row(int(i))) for i in index]
        return byte_rows(
            [
                (text if own % CLEAN == 0 else drawn(text, own, kinds=kinds)[0], text)
                for text, own in zip(clean, seeds, strict=True)
            ]
        )

    @torch.no_grad()
    def measure(self) -> dict[str, float]:
        """Cross-entropy (nats per byte) of held-out sentences under each noise and without; their mean as ``loss``."""
        texts = sorted((to_text(self.held.row(row)) for row in range(min(SENTENCES, len(self.held)))), key=len)
        losses: dict[str, float] = {}
        for kind in (*NOISES, None):
            pairs = [(noisy(text, kind, seed=seed) if kind else text, text) for seed, text in enumerate(texts)]
            parts = (byte_rows(pairs[start : start + 50]) for start in range(0, len(pairs), 50))
            losses[f"loss {kind or 'clean'}"] = mean_nats(self, parts)
        return {"loss": sum(losses.values()) / len(losses), **losses}


def byte_rows(pairs: list[tuple[str, str]]) -> Batch:
    """Noisy and clean texts as a batch of bytes."""
    inputs, outputs = (Ragged.of([to_ids(pair[side]) for pair in pairs]) for side in (0, 1))
    return shifted(inputs, outputs, 0, 0)
