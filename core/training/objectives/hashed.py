r"""Next byte with a Reformer (Kitaev et al., 2020): hashed and local attention in turn, over whole books.

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t})

A text is its UTF-8 bytes: byte b is token b + 2, as in the authors' model of enwik8; 0 fills up, 1 begins and ends a
book. Layers are reversible,

.. math:: y_1 = x_1 + \mathrm{attention}(x_2), \qquad y_2 = x_2 + \mathrm{feedforward}(y_1)

so that training can recompute the inputs of a layer from its outputs and keep none. transformers does so, at the price
of running every layer twice; where memory is no matter, plain backpropagation gives the same slopes (a test compares
them) and is faster. The rotations that hash are drawn anew in each step, from the step's own seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.training import corpus
from core.training.arrays import ArrayWriter
from core.training.batches import Epochs, Ints
from core.training.files import write_file
from core.training.losses import linear_cross_entropy
from core.training.objectives.windows import Windows
from core.training.recipe import Recipe
from core.training.shipping import ship_tokenizer

PAD, END, FIRST = "<pad>", "<|endoftext|>", 2
"""Token 0, token 1, and the token of byte 0."""
SHIPPED_SEED = 0
"""``hash_seed`` of the shipped configuration: the page shows the same buckets for the same text."""


def byte_tokenizer() -> Any:
    """One token a byte, in the order of the bytes, after `PAD` and `END`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters = bytes_to_unicode()
    vocab = {PAD: 0, END: 1, **{letters[byte]: FIRST + byte for byte in range(256)}}
    tokenizer: Any = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.add_special_tokens([PAD, END])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def new_reformer(settings: dict[str, Any]) -> Any:
    """A ReformerModelWithLMHead over bytes with random weights, without dropout, by a recipe's ``[model]`` table."""
    from transformers import ReformerConfig, ReformerModelWithLMHead

    width, heads = int(settings["width"]), int(settings["heads"])
    shape = tuple(int(side) for side in settings["axial"])
    config = ReformerConfig(
        vocab_size=FIRST + 256,
        hidden_size=width,
        num_attention_heads=heads,
        attention_head_size=width // heads,
        attn_layers=list(settings["layers"]),
        feed_forward_size=int(settings["inner"]),
        chunk_size_feed_forward=0,
        hidden_act="gelu",
        lsh_attn_chunk_length=int(settings["chunk"]),
        local_attn_chunk_length=int(settings["chunk"]),
        num_buckets=int(settings["buckets"]),
        num_hashes=int(settings["hashes"]),
        axial_pos_shape=shape,
        axial_pos_embds_dim=(width // 2, width - width // 2),
        axial_norm_std=0.02,
        max_position_embeddings=math.prod(shape),
        is_decoder=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
        hidden_dropout_prob=0.0,
        local_attention_probs_dropout_prob=0.0,
        lsh_attention_probs_dropout_prob=0.0,
        tie_word_embeddings=False,
    )
    return ReformerModelWithLMHead(config)


class HashedModel(nn.Module):
    """A Reformer whose layers run forward once, with plain backpropagation."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self.full: Any = new_reformer(settings)
        self.full.lm_head.bias.requires_grad_(False)  # transformers keeps it and never adds it

    def forward(self, ids: Tensor) -> Tensor:
        """(rows, length) ids, whole chunks long, to (rows, length, 2 width) states that the output layer reads."""
        reformer = self.full.reformer
        first = second = reformer.embeddings(input_ids=ids)
        for layer in reformer.encoder.layers:
            first = first + layer.attention(hidden_states=second).hidden_states
            second = second + layer.feed_forward(first)
        hidden: Tensor = reformer.encoder.layer_norm(torch.cat([first, second], dim=-1))
        return hidden


class HashedObjective(Windows):
    """Windows over the bytes of the books end to end, books separated by `END`."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.width = math.prod(int(side) for side in recipe.model["axial"])
        self.train, self.test = self._data(corpus_folder, cache)
        torch.manual_seed(recipe.seed)
        self.model = HashedModel(recipe.model)
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _data(self, folder: Path, cache: Path) -> tuple[Ints, Ints]:
        sources, every = self.recipe.sources, int(self.recipe.data["hold_out_every"])
        stem = cache / hashlib.blake2b(repr((sources, every)).encode(), digest_size=6).hexdigest()
        if not (stem / "test.npy").is_file():
            stem.mkdir(parents=True, exist_ok=True)
            books: dict[str, None] = {}  # a set that keeps its order

            def side(held_out: bool) -> Iterator[tuple[str, str]]:
                for source in sources:
                    for item in corpus.read(folder, source, every=every):
                        if item.held_out == held_out:
                            yield item.document or source.file, item.text

            held = ((books.setdefault(book) or book, text) for book, text in side(True))
            # the test side is named last, when all else is complete
            with ArrayWriter(stem / "test.npy", np.uint16) as test, ArrayWriter(stem / "train.npy", np.uint16) as train:
                for writer, lines in ((test, held), (train, side(False))):
                    last = None
                    for book, text in lines:
                        writer.add([*([1] if book != last else []), *in_bytes(text + "\n")])
                        last = book
                corpus.require(max(0, train.count - self.width), "training", sources)
                corpus.require(max(0, test.count - self.width), "measuring", sources)
                write_file(stem / "held-out-books.txt", "\n".join(books) + "\n")
        return np.load(stem / "train.npy", mmap_mode="r"), np.load(stem / "test.npy", mmap_mode="r")

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        hidden = self.model(batch["ids"]).flatten(0, 1)
        return linear_cross_entropy(hidden, self.model.full.lm_head.decoder.weight, batch["labels"].flatten(), None)

    def size(self, batch: dict[str, Tensor]) -> int:
        return batch["ids"].numel()

    def measure(self) -> dict[str, float]:
        """Bits per byte of up to 24 held-out windows; of the ends of these windows, read whole and a quarter alone.

        The ends are the last eighth of each window: read whole, seven eighths stand before it, else one eighth.
        """
        starts = np.arange(0, len(self.test) - self.width, self.width, dtype=np.int64)
        chosen = starts[:: max(1, len(starts) // 24)][:24]
        quarter, eighth = self.width // 4, self.width // 8
        whole, far, near = [], [], []
        device = self.model.full.device
        with torch.random.fork_rng(devices=[]):
            for at in range(0, len(chosen), 4):
                batch = {k: v.to(device) for k, v in self._windows(self.test, chosen[at : at + 4]).items()}
                nats = self._nats(**batch)
                whole.append(nats)
                far.append(nats[:, -eighth:])
                near.append(self._nats(**{k: v[:, -quarter:] for k, v in batch.items()})[:, -eighth:])
        names = ("bits per byte", f"bits per byte, {self.width} bytes", f"bits per byte, {quarter} bytes")
        return {n: float(torch.cat(v).mean()) / math.log(2) for n, v in zip(names, (whole, far, near), strict=True)}

    def _nats(self, ids: Tensor, labels: Tensor) -> Tensor:
        """(rows, length) surprise of each label, hashed with the shipped seed."""
        torch.manual_seed(SHIPPED_SEED)
        scores = self.model.full.lm_head.decoder(self.model(ids)).float()
        return nn.functional.cross_entropy(scores.transpose(1, 2), labels, reduction="none")

    def export(self, folder: Path) -> None:
        import copy

        folder.mkdir(parents=True, exist_ok=True)
        shipped = copy.deepcopy(self.model.full)
        shipped.config.hash_seed = SHIPPED_SEED
        shipped.to(torch.float16).save_pretrained(folder)
        ship_tokenizer(byte_tokenizer(), folder, self.width, pad_token=PAD, bos_token=END, eos_token=END, unk_token=END)


def in_bytes(text: str) -> list[int]:
    """The tokens of a text."""
    return [FIRST + byte for byte in text.encode()]
