r"""Next-token prediction (Radford et al., 2019) on whole books, for any of the small decoders.

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t})

The recipe's ``[model] type`` chooses the architecture (`core.training.decoder_models`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.training import corpus
from core.training.arrays import ArrayWriter
from core.training.batches import Epochs, Ints
from core.training.decoder_models import new_decoder
from core.training.documents import AT_ONCE, batched
from core.training.files import write_file
from core.training.losses import linear_cross_entropy
from core.training.objectives.windows import Windows
from core.training.recipe import Recipe
from core.training.shipping import ship_model, ship_tokenizer

END = "<|endoftext|>"
DROPOUT = ("resid_pdrop", "embd_pdrop", "attn_pdrop")


def train_tokenizer(texts: Iterable[str], size: int, special: Sequence[str] = ()) -> Any:
    """Byte-level byte-pair encoding with ``size`` tokens, among them `END` and further ``special`` ones."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END, *special],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def pieces(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Cuts books into short texts that tokenise, one after the other, as the whole would.

    A book is `END`, its lines joined by line breaks, and one more. It is cut after a line break between two characters
    that are no spaces: byte-level encoding makes such a break a word of its own, so no token reaches across it.

    Args:
        lines: (book, line) in order; another name than the line before begins a book.
    """
    last, text = None, ""
    for book, line in lines:
        if book != last:
            if last is not None:
                yield text + "\n"
            last, text = book, END + line
        elif text[-1:].isspace() or line[:1].isspace() or not line:
            text += "\n" + line
        else:
            yield text + "\n"
            text = line
    if last is not None:
        yield text + "\n"


def byte_lengths(tokenizer: Any, special: Sequence[str] = ()) -> Ints:
    """Bytes of text that each token stands for; 0 for special ones. A byte-level token has one character a byte."""
    lengths = np.zeros(tokenizer.get_vocab_size(), dtype=np.int64)
    for piece, index in tokenizer.get_vocab().items():
        lengths[index] = 0 if piece == END or piece in special else len(piece)
    return lengths


class CausalModel(nn.Module):
    """A decoder with random weights; saved states know it as ``gpt``, whatever its architecture."""

    def __init__(self, settings: dict[str, Any], vocabulary: int, end: int) -> None:
        super().__init__()
        self.gpt: Any = new_decoder(settings, vocabulary, end)

    def forward(self, ids: Tensor) -> Tensor:
        """(rows, length) ids to (rows, length, width) states that the output layer reads."""
        hidden: Tensor = self.gpt.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return hidden


class NextToken:
    """What objectives that predict the next token share: the model, its loss, and how it is shipped."""

    recipe: Recipe
    width: int
    """Tokens that the model sees at once."""
    tokenizer: Any
    model: CausalModel
    special: tuple[str, ...] = ()
    """Special tokens beside `END`."""

    def new_model(self) -> CausalModel:
        """The model with random weights from the recipe's seed."""
        torch.manual_seed(self.recipe.seed)
        return CausalModel(self.recipe.model, self.tokenizer.get_vocab_size(), self.tokenizer.token_to_id(END))

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        hidden = self.model(batch["ids"]).flatten(0, 1)
        head = self.model.gpt.get_output_embeddings()
        return linear_cross_entropy(hidden, head.weight, batch["labels"].flatten(), head.bias)

    def size(self, batch: dict[str, Tensor]) -> int:
        return batch["ids"].numel()

    def export(self, folder: Path) -> None:
        ship_model(self.model.gpt, folder, DROPOUT)
        more = {"extra_special_tokens": list(self.special)} if self.special else {}
        ship_tokenizer(self.tokenizer, folder, self.width, bos_token=END, eos_token=END, unk_token=END, **more)


class CausalObjective(Windows, NextToken):
    """Windows over the books end to end, books separated by `END`."""

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.width = int(recipe.model["positions"])
        self.tokenizer, self.train, self.test = self._data(corpus_folder, cache)
        self.bytes = byte_lengths(self.tokenizer)
        self.model = self.new_model()
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _data(self, folder: Path, cache: Path) -> tuple[Any, Ints, Ints]:
        from tokenizers import Tokenizer

        key = hashlib.blake2b(repr((self.recipe.sources, self.recipe.data)).encode(), digest_size=6).hexdigest()
        stem = cache / key
        if (stem / "test.npy").is_file():
            return (
                Tokenizer.from_file(str(stem / "tokenizer.json")),
                np.load(stem / "train.npy", mmap_mode="r"),
                np.load(stem / "test.npy", mmap_mode="r"),
            )
        stem.mkdir(parents=True, exist_ok=True)
        sources, every = self.recipe.sources, int(self.recipe.data["hold_out_every"])

        def side(held_out: bool) -> Iterator[tuple[str, str]]:
            for source in sources:
                for item in corpus.read(folder, source, every=every):
                    if item.held_out == held_out:
                        yield item.document or source.file, item.text

        tokenizer = train_tokenizer((text for _, text in side(False)), int(self.recipe.data["vocabulary"]))
        tokenizer.save(str(stem / "tokenizer.json"))
        books: dict[str, None] = {}  # a set that keeps its order
        held = ((books.setdefault(book) or book, text) for book, text in side(True))
        # the test side is named last, when all else is complete
        with ArrayWriter(stem / "test.npy", np.uint16) as test, ArrayWriter(stem / "train.npy", np.uint16) as train:
            for writer, texts in ((test, held), (train, side(False))):
                for part in batched(pieces(texts), AT_ONCE):
                    writer.add([token for made in tokenizer.encode_batch_fast(part) for token in made.ids])
            corpus.require(max(0, train.count - self.width), "training", sources)
            corpus.require(max(0, test.count - self.width), "measuring", sources)
            write_file(stem / "held-out-books.txt", "\n".join(books) + "\n")
        return self._data(folder, cache)

    def measure(self) -> dict[str, float]:
        """Bits per byte of held-out books in windows that share no token, up to 150 of them."""
        starts = np.arange(0, len(self.test) - self.width, self.width, dtype=np.int64)
        chosen = starts[:: max(1, len(starts) // 150)]
        nats, size = 0.0, 0
        device = self.model.gpt.device
        for at in range(0, len(chosen), 16):
            batch = {k: v.to(device) for k, v in self._windows(self.test, chosen[at : at + 16]).items()}
            nats += float(self.loss(batch)) * batch["labels"].numel()
            size += int(self.bytes[batch["labels"].cpu().numpy()].sum())
        return {"bits per byte": nats / math.log(2) / size}
