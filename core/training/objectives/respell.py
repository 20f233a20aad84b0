r"""Bytes in, bytes out (Xue et al., 2022): a T5 with a deep encoder writes a clean sentence for a noisy one.

.. math:: L = -\frac{1}{n + 1} \sum_{t=1}^{n+1} \log p(b_t \mid b_{<t}, \tilde b), \qquad b_{n+1} = \text{</s>}

with :math:`b` the UTF-8 bytes of a sentence and :math:`\tilde b` those of the same sentence with noise
(`core.language.noise`), drawn anew whenever it comes; one in `CLEAN` stays as it is, so that the model learns to leave
alone what is right. Byte v has the id v + 3, behind padding 0, end 1 and an unknown token 2 that nothing becomes: the
published numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.language.noise import NOISES, Noise, drawn, noisy
from core.language.tokens import byte_alphabet
from core.training import batches, lines
from core.training.batches import Epochs, Ints, Ragged
from core.training.losses import IGNORE, linear_cross_entropy
from core.training.objectives.seq2seq import END, PAD, UNKNOWN, Seq2SeqModel
from core.training.recipe import Recipe
from core.training.shipping import ship_model, ship_tokenizer

OFFSET = 3
"""Ids before the first byte."""
CLEAN = 8
"""One row in so many is not damaged."""
NEAR = 5.0
"""Of forty bytes that are equally likely otherwise, one with this bias gets four fifths of the weight."""
MEASURED = 150
"""Held-out sentences that the learning curve is measured on, under each noise."""
SHORT: tuple[Noise, ...] = tuple(kind for kind in NOISES if kind != "antspeak")
"""Kinds of noise that leave a text about as long as it is."""


@torch.no_grad()
def look_near(t5: Any) -> None:
    """Lets some heads begin with their eyes on a neighbour: a bias of `NEAR` on one distance, nought on the others.

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


def byte_tokenizer() -> Any:
    """ByT5's numbering of bytes as a tokeniser of the ``tokenizers`` library; the end token closes each text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    signs = sorted(byte_alphabet().items(), key=lambda pair: pair[1])
    vocabulary = {PAD: 0, END: 1, UNKNOWN: 2} | {sign: byte + OFFSET for sign, byte in signs}
    tokenizer: Any = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.add_special_tokens([PAD, END, UNKNOWN])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, 1)])
    return tokenizer


def to_ids(text: str) -> list[int]:
    """The ids of a text's bytes, and the end token."""
    return [byte + OFFSET for byte in text.encode()] + [1]


def to_text(ids: list[int]) -> str:
    """The text of ids as `to_ids` makes them."""
    return bytes(number - OFFSET for number in ids if number >= OFFSET).decode()


class RespellObjective:
    """Sentences of about equal length a batch."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.tokenizer = byte_tokenizer()
        self.train, self.source, self.test = lines.prepare(recipe, self.tokenizer, corpus_folder, cache)
        self.sizes = batches.round_up(self.train.lengths)
        torch.manual_seed(recipe.seed)
        self.model = Seq2SeqModel(recipe.model, self.tokenizer.get_vocab_size())
        look_near(self.model.t5)
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
        items = batches.mix(self.source, [source.passes for source in self.recipe.sources], rng)
        size = self.sizes[items]
        return batches.plan(items, size, 2 * size, self.recipe.step_tokens, rng)

    def batch(self, step: int) -> dict[str, Tensor]:
        """Antspeak has batches of its own: one row of it would double the length of all the others."""
        index = self._epochs[step]
        seed = self.recipe.seed
        kinds: tuple[Noise, ...] = SHORT
        if np.random.default_rng([seed, 5, step]).random() < 1 / len(NOISES):
            kinds = ("antspeak",)
        seeds = [int(np.random.SeedSequence([seed, 1, step, int(i)]).generate_state(1)[0]) for i in index]
        clean = [to_text(self.train.row(int(i))) for i in index]
        pairs = [
            (text if own % CLEAN == 0 else drawn(text, own, kinds=kinds)[0], text)
            for text, own in zip(clean, seeds, strict=True)
        ]
        return rows(pairs)

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        hidden = self.model(batch["ids"], batch["mask"], batch["labels"])
        real = batch["labels"] != IGNORE
        return linear_cross_entropy(hidden[real], self.model.t5.lm_head.weight, batch["labels"][real])

    def size(self, batch: dict[str, Tensor]) -> int:
        return int(batch["mask"].sum()) + int((batch["labels"] != IGNORE).sum())

    @torch.no_grad()
    def measure(self) -> dict[str, float]:
        """Cross-entropy (nats per byte) of held-out sentences under each noise and without; their mean as ``loss``."""
        texts = sorted((to_text(self.test.row(row)) for row in range(min(MEASURED, len(self.test)))), key=len)
        found: dict[str, float] = {}
        for kind in (*NOISES, None):
            pairs = [(noisy(text, kind, seed=seed) if kind else text, text) for seed, text in enumerate(texts)]
            nats = count = 0.0
            for start in range(0, len(pairs), 50):
                batch = {name: v.to(self.model.t5.device) for name, v in rows(pairs[start : start + 50]).items()}
                known = int((batch["labels"] != IGNORE).sum())
                nats += float(self.loss(batch)) * known
                count += known
            found[f"loss {kind or 'clean'}"] = nats / count
        return {"loss": sum(found.values()) / len(found), **found}

    def export(self, folder: Path) -> None:
        ship_model(self.model.t5, folder, ("dropout_rate",))
        named = {"pad_token": PAD, "eos_token": END, "unk_token": UNKNOWN}
        ship_tokenizer(self.tokenizer, folder, int(self.recipe.data["room"]), **named)


def rows(pairs: list[tuple[str, str]]) -> dict[str, Tensor]:
    """Noisy and clean texts as padded bytes: ``ids`` and ``mask`` of the first, ``labels`` of the second."""
    index = np.arange(len(pairs))
    given, wanted = (Ragged.of([to_ids(pair[side]) for pair in pairs]) for side in (0, 1))
    ids = given.rows(index, int(given.lengths.max()), 0)
    return {
        "ids": torch.from_numpy(ids),
        "mask": torch.from_numpy((ids != 0).astype(np.int64)),
        "labels": torch.from_numpy(wanted.rows(index, int(wanted.lengths.max()), IGNORE)),
    }
