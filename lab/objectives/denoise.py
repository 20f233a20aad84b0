r"""Denoising (Lewis et al., 2020): an encoder-decoder reconstructs a text from one of five corruptions.

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t}, \tilde x)

The corruption of a row is sampled uniformly among those that change it (`core.objectives.corruptions`); it is not an
input of the model.

Spelling correction of bytes (ByT5; Xue et al., 2022): a T5 with a deep encoder denoises a noisy sentence.

.. math:: L = -\frac{1}{n + 1} \sum_{t=1}^{n+1} \log p(b_t \mid b_{<t}, \tilde b), \qquad b_{n+1} = \text{</s>}

with :math:`b` the UTF-8 bytes of a sentence and :math:`\tilde b` those of the sentence with noise
(`core.language.noise`), sampled at each use; one in `CLEAN` has no noise, so that the model learns to copy correct
text. Byte v has the id v + 3, after padding 0, end 1 and an unused unknown token 2, as published.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import torch

from core.language.noise import NOISES, RATES, Noise, noisy
from core.objectives.corruptions import CORRUPTIONS
from lab import batches, documents
from lab.documents import ROUND, Documents
from lab.objective import Batch, Objective
from lab.objectives.pairs import EncoderDecoder, PairsObjective, mean_nats, shifted
from lab.tokenizers import BART, T5, single_bytes
from lab.tokens import Ints, Ragged, lines

BEGIN, PAD, END, _, MASK = range(5)
MEASURED = 600
"""Held-out chunks per corruption for the learning curve."""


class DenoiseObjective(Objective):
    """Corrupted chunks of similar length per batch."""

    special = BART

    def prepare_data(self) -> None:
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
        return rows(self.train, index, self.rngs(step, index), self.width)

    def measure(self) -> dict[str, float]:
        """Loss (nats per token) of held-out chunks under each corruption, and the mean of the five as ``loss``."""
        some = batches.some(len(self.test), MEASURED)
        size = batches.round_up(self.test.lengths + 1, ROUND)[some]
        losses: dict[str, float] = {}
        for kind in CORRUPTIONS:
            masked_rows = (
                rows(self.test, index, rngs, self.width, kind) for index, rngs in batches.measured(some, size)
            )
            losses[f"loss {kind}"] = mean_nats(self, masked_rows)
        return {"loss": sum(losses.values()) / len(losses), **losses}


def rows(text: Documents, index: Ints, rngs: list[np.random.Generator], width: int, kind: str | None = None) -> Batch:
    """Corrupted chunks and their originals.

    Args:
        rngs: a generator for each row.
        width: positions of the model; a longer corrupted text is truncated.
        kind: the corruption; sampled for each row by default.

    Returns:
        What `shifted` returns.
    """
    inputs: list[list[int]] = []
    outputs: list[list[int]] = []
    for chunk, rng in zip(index.tolist(), rngs, strict=True):
        first, last = text.bounds[chunk, :2].tolist()
        sentences = [text.text(i, i + 1).tolist() for i in range(first, last)]
        usable = [name for name in CORRUPTIONS if name != "permute" or len(sentences) > 1]
        corrupted = CORRUPTIONS[kind or usable[rng.integers(len(usable))]](sentences, MASK, rng)
        inputs.append([BEGIN, *corrupted[: width - 2], END])
        outputs.append([*(token for sentence in sentences for token in sentence), END])
    return shifted(Ragged.of(inputs), Ragged.of(outputs), PAD, END)


OFFSET = 3
"""Ids before the first byte."""
CLEAN = 8
"""One in CLEAN rows has no noise."""
MOST = 2
"""The largest rate of the noise, in multiples of the default."""
NEAR = 5.0
"""With this bias, one of forty bytes with otherwise equal scores gets four fifths of the attention weight."""
SENTENCES = 150
"""Held-out sentences per kind of noise for the learning curve."""
SHORT: tuple[Noise, ...] = tuple(kind for kind in NOISES if kind != "antspeak")
"""Kinds of noise that hardly change the length of a text."""


@torch.no_grad()
def attend_to_neighbors(t5: Any) -> None:
    """Initialize some heads to attend to a neighbor: a bias of `NEAR` for one distance, 0 for the others.

    In the encoder, one head each for the first and second byte on either side; in the decoder, for the three bytes
    before, as far as there are heads. The other heads keep their small random biases. So states depend on the
    neighboring bytes from the first step, and cross-attention can align output and source: a smaller model used the
    source after 100 steps, and without this not yet after 1,000.
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
    """The text of the ids of `to_ids`."""
    return bytes(number - OFFSET for number in ids if number >= OFFSET).decode()


class RespellObjective(PairsObjective):
    """Sentences of similar length per batch."""

    pad, start = 0, 0
    special = T5

    def prepare_data(self) -> None:
        self.positions = int(self.recipe.data["room"])
        self.tokenizer = single_bytes(tuple(T5.values()), "</s>")
        self.train, self.origin, self.held = lines(self.recipe, self.tokenizer, self.corpus, self.cache)
        self.keys = batches.round_up(self.train.lengths)
        self.cost = 2 * self.keys

    def new_model(self) -> EncoderDecoder:
        ids = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
        model = EncoderDecoder(self.recipe.model, vocab_size=self.tokenizer.get_vocab_size(), **ids)
        attend_to_neighbors(model.full)
        return model

    def batch(self, step: int) -> Batch:
        """Antspeak has its own batches: one row of it would double the padded length of the others."""
        index = self.epochs[step]
        seed = self.recipe.seed
        kinds: tuple[Noise, ...] = SHORT
        if np.random.default_rng([seed, 5, step]).random() < 1 / len(NOISES):
            kinds = ("antspeak",)
        seeds = [int(np.random.SeedSequence([seed, 1, step, int(i)]).generate_state(1)[0]) for i in index]
        clean = [to_text(self.train.row(int(i))) for i in index]
        return byte_rows(
            [
                (text if text_seed % CLEAN == 0 else sample_noise(text, text_seed, kinds=kinds)[0], text)
                for text, text_seed in zip(clean, seeds, strict=True)
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


def sample_noise(text: str, seed: int, *, kinds: tuple[Noise, ...] = NOISES) -> tuple[str, Noise]:
    """The text with training noise of a uniform kind and a rate uniform from 0 to :data:`MOST` times its default."""
    random = Random(seed)
    kind = kinds[int(random.random() * len(kinds))]
    rate = MOST * random.random() * RATES[kind] if kind in RATES else None
    return noisy(text, kind, rate, seed), kind


def byte_rows(pairs: list[tuple[str, str]]) -> Batch:
    """Noisy and clean texts as a batch of bytes."""
    inputs, outputs = (Ragged.of([to_ids(pair[side]) for pair in pairs]) for side in (0, 1))
    return shifted(inputs, outputs, 0, 0)
