r"""Next-token prediction (Radford et al., 2019) on whole books; with a memory of segments; after a control code.

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t})

A Transformer-XL (Dai et al., 2019, arXiv 1901.02860) reads segments one after the other:

.. math:: h^n_\tau = \mathrm{layer}_n\bigl(q = h^{n-1}_\tau,\ k, v = [\mathrm{sg}(m^{n-1}_\tau) ; h^{n-1}_\tau]\bigr)

with :math:`\tau` the segment, sg stop-gradient, and the memory :math:`m^{n-1}_\tau` the last states of layer n - 1
before the segment. A row of a batch is a window of consecutive segments that starts with an empty memory, so that steps
are independent; the windows are those of the other decoders.

With a control code (CTRL; Keskar et al., 2019):

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid c, x_{<t})

The code :math:`c` of a source is its task. Each source is a stream of its own; a window is the code and a span of that
stream, so that no window has text of two sources. Of a line with a tab the text is the part after it: the second side
of a pair, the sentence after its label.

A held-out passage starts at the start of a line and has a fixed number of tokens. The predicted code is
:math:`\arg\max_c p(x \mid c)`; bits per byte are :math:`-\log_2 p(x \mid c) / \text{bytes}` under the right code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from core.language.codes import log_probabilities
from lab import corpus, models, xlnet_model
from lab.objective import Batch, Objective, Share, linear_cross_entropy
from lab.recipe import Recipe, RecipeError, SourceFile
from lab.tokenizers import END, GPT, byte_bpe, byte_lengths
from lab.tokens import Ints, Ragged, encoded, stored

NO_LIMIT = 1_000_000
"""``model_max_length`` of the tokenizer: a Transformer-XL has no longest text."""


def pieces(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Short texts whose tokens, end to end, are those of the whole books.

    A book is `END` and its lines, each with a line break. It is split after a line break between two non-space
    characters: byte-level pre-tokenization makes such a break a word of its own, so no token spans it.

    Args:
        lines: (book, line) in order; a book starts where the name changes.
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


def book_lines(recipe: Recipe, folder: Path, *, held_out: bool) -> Iterator[tuple[str, str]]:
    """(book, line) of one side of the split; a file without books counts as one."""
    for source in recipe.sources:
        for item in corpus.items_of(folder, source, every=int(recipe.data["hold_out_every"])):
            if item.held_out == held_out:
                yield item.document or source.file, item.text


def stream(rows: Iterable[list[int]], least: int, side: str, sources: tuple[SourceFile, ...]) -> Ints:
    """The ids of all rows, end to end. Raises `CorpusError` where there are not more than ``least``."""
    tokens = np.fromiter((token for row in rows for token in row), dtype=np.uint16)
    corpus.require(max(0, len(tokens) - least), "training" if side == "train" else "measuring", sources)
    return tokens  # type: ignore[return-value]


def window_starts(count: int, width: int, rng: np.random.Generator) -> Ints:
    """Starts of consecutive windows of ``width`` inputs and one more target, at a random offset, in random order."""
    offset = int(rng.integers(width))
    return rng.permutation(np.arange(offset, count - width, width, dtype=np.int64))


class CausalModel(nn.Module):
    """A decoder with random weights."""

    def __init__(self, settings: dict[str, Any], vocabulary: int, end: int) -> None:
        super().__init__()
        special = {"vocab_size": vocabulary, "bos_token_id": end, "eos_token_id": end}
        self.full: Any = models.new_model(settings, "CausalLM", **special)

    def forward(self, ids: Tensor) -> Tensor:
        """Last hidden states (rows, length, hidden size) of ids (rows, length)."""
        hidden: Tensor = self.full.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return hidden


class NextToken(Objective):
    """Next-token prediction over one stream of tokens, in windows regardless of the boundaries of texts."""

    width: int
    """Tokens of a window."""
    train: Ints
    test: Ints
    special: Mapping[str, Any] = GPT

    def new_model(self) -> nn.Module:
        return CausalModel(self.recipe.model, self.tokenizer.get_vocab_size(), self.tokenizer.token_to_id(END))

    def epoch(self, rng: np.random.Generator) -> list[Ints]:
        return self.full_batches(window_starts(len(self.train), self.width, rng))

    def full_batches(self, windows: Ints) -> list[Ints]:
        """Batches of ``step_tokens``; an incomplete last batch is dropped."""
        rows = max(1, self.recipe.step_tokens // self.width)
        return [windows[at : at + rows] for at in range(0, len(windows) - rows + 1, rows)]

    def batch(self, step: int) -> Batch:
        return self.windows(self.train, self.epochs[step])

    def windows(self, tokens: Ints, starts: Ints) -> Batch:
        ids = np.stack([tokens[s : s + self.width + 1] for s in starts]).astype(np.int64)
        return {"ids": torch.from_numpy(ids[:, :-1]), "labels": torch.from_numpy(ids[:, 1:].copy())}

    def measured(self, most: int, rows: int) -> Iterator[Batch]:
        """Batches of about ``most`` disjoint held-out windows."""
        starts = np.arange(0, len(self.test) - self.width, self.width, dtype=np.int64)
        chosen = starts[:: max(1, len(starts) // most)]
        for at in range(0, len(chosen), rows):
            yield self.to_device(self.windows(self.test, chosen[at : at + rows]))

    def cross_entropy(self, hidden: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy in nats of the labels, from last hidden states."""
        head = self.model.full.get_output_embeddings()
        return linear_cross_entropy(hidden.flatten(0, 1), head.weight, labels.flatten(), head.bias)

    def loss(self, batch: Batch) -> Tensor:
        return self.cross_entropy(self.model(batch["ids"]), batch["labels"])

    @property
    def positions(self) -> int:  # type: ignore[override]
        return self.width


class CausalObjective(NextToken):
    """Windows over the books, end to end, separated by `END`."""

    def prepare_data(self) -> None:
        recipe = self.recipe
        self.width = int(recipe.data["window"])

        def make() -> dict[str, Any]:
            texts = (text for _, text in book_lines(recipe, self.corpus, held_out=False))
            tokenizer = byte_bpe(texts, int(recipe.data["vocabulary"]))
            data: dict[str, Any] = {"tokenizer": tokenizer}
            for side in ("train", "test"):
                rows = encoded(tokenizer, pieces(book_lines(recipe, self.corpus, held_out=side == "test")))
                data[side] = stream(rows, self.width, side, recipe.sources)
            return data

        data = stored(self.cache, (recipe.sources, recipe.data), make)
        self.tokenizer, self.train, self.test = (data[name] for name in ("tokenizer", "train", "test"))
        self.bytes = byte_lengths(self.tokenizer)

    def measure(self) -> dict[str, float]:
        """Bits per byte of held-out books in about 150 windows."""
        nats = size = 0.0
        for batch in self.measured(150, 16):
            nats += float(self.loss(batch)) * batch["labels"].numel()
            size += int(self.bytes[batch["labels"].cpu().numpy()].sum())
        return {"bits per byte": nats / math.log(2) / size}


class SegmentModel(nn.Module):
    """A Transformer-XL with segments of ``segment`` tokens."""

    def __init__(self, settings: dict[str, Any], vocabulary: int, end: int, segment: int) -> None:
        super().__init__()
        model = xlnet_model.new_xlnet(settings, vocabulary, bos_token_id=end, eos_token_id=end, pad_token_id=end)
        self.full = xlnet_model.flatten(model)
        self.segment = segment

    def forward(self, ids: Tensor, remember: bool = True) -> Tensor:
        """Last hidden states (rows, length, hidden size) of ids (rows, length); without ``remember`` without memory."""
        memory = None
        states: list[Tensor] = []
        for part in torch.split(ids, self.segment, dim=1):
            out = self.full.transformer(part, mems=memory)
            memory = out.mems if remember else None
            states.append(out.last_hidden_state)
        return torch.cat(states, dim=1)


class SegmentsObjective(CausalObjective):
    """Windows over the books, end to end, in segments."""

    positions = NO_LIMIT

    def prepare_data(self) -> None:
        window, self.segment = (int(self.recipe.data[name]) for name in ("window", "segment"))
        if window % self.segment or window == self.segment:
            raise RecipeError(
                f"The window of {window} in {self.recipe.slug!r} has to be a multiple of the segment, {self.segment}."
            )
        super().prepare_data()

    def new_model(self) -> SegmentModel:
        end = self.tokenizer.token_to_id(END)
        return SegmentModel(self.recipe.model, self.tokenizer.get_vocab_size(), end, self.segment)

    def shipped(self) -> Any:
        return xlnet_model.whole(self.model.full)

    def measure(self) -> dict[str, float]:
        """Bits per byte of held-out windows: of all segments, and of all but the first with and without memory."""
        first = self.segment
        nats, sizes = np.zeros(3), np.zeros(3)
        for batch in self.measured(150, 16):
            with_memory, without = (self.model(batch["ids"], remember) for remember in (True, False))
            read = ((with_memory, 0), (with_memory, first), (without, first))
            for number, (states, begin) in enumerate(read):
                labels = batch["labels"][:, begin:]
                nats[number] += self.cross_entropy(states[:, begin:], labels).item() * labels.numel()
                sizes[number] += self.bytes[labels.cpu().numpy()].sum()
        names = ("bits per byte", "later segments, bits per byte", "later segments without memory, bits per byte")
        return dict(zip(names, (nats / math.log(2) / sizes).tolist(), strict=True))


LENGTH = 40
"""Tokens of a passage whose code is predicted."""
MEASURED = 24
"""Held-out passages per code for the learning curve."""

T = TypeVar("T")


def code_token(label: str) -> str:
    """The token of a code; it is in no text of the corpus."""
    return f"<|{label.lower()}|>"


def texts(folder: Path, source: SourceFile, *, every: int) -> Iterator[tuple[str, str, bool]]:
    """(document, text, held out) of each line. Books are held out whole, other lines by their used text."""
    for item in corpus.items_of(folder, source, every=every):
        text = item.other or item.text
        yield item.document or source.file, text, item.held_out if item.document else corpus.held_out(text, every)


def at_lines(starts: Ints, offsets: Ints, most: int) -> Ints:
    """Each start, moved back to the start of its row if that is at most ``most`` tokens away."""
    begins = offsets[np.searchsorted(offsets, starts, side="right") - 1]
    return np.where(starts - begins <= most, begins, starts)


class CodesObjective(NextToken):
    """Windows over the stream of each source, each after its code."""

    def prepare_data(self) -> None:
        recipe, sources = self.recipe, self.recipe.sources
        self.width = int(recipe.data["window"])
        self.labels = tuple(dict.fromkeys(source.task for source in sources))
        codes = [code_token(label) for label in self.labels]
        self.special = GPT | {"extra_special_tokens": codes}

        def lines(source: SourceFile, held_out: bool) -> Iterator[tuple[str, str]]:
            every = int(recipe.data["hold_out_every"])
            for document, text, held in texts(self.corpus, source, every=every):
                if held == held_out:
                    yield document, text

        def tokenizer_texts() -> Iterator[str]:  # of a source with less than a pass per epoch, a share of the lines
            for source in sources:
                source_texts = (text for _, text in lines(source, False))
                yield from islice(source_texts, 0, None, max(1, round(1 / source.passes)))

        def make() -> dict[str, Any]:
            data: dict[str, Any] = {"tokenizer": byte_bpe(tokenizer_texts(), int(recipe.data["vocabulary"]), codes)}
            for number, source in enumerate(sources):
                for side, least in (("training", self.width), ("measuring", LENGTH)):
                    rows = Ragged.of(encoded(data["tokenizer"], pieces(lines(source, side == "measuring"))))
                    corpus.require(max(0, len(rows.flat) - least), side, [source])
                    data[f"{side}-{number}"] = rows
            return data

        data = stored(self.cache, (sources, recipe.data), make)
        self.tokenizer = data["tokenizer"]
        self.texts, self.held_out = (
            [data[f"{side}-{number}"] for number in range(len(sources))] for side in ("training", "measuring")
        )
        self.code = np.array([self.tokenizer.token_to_id(code_token(source.task)) for source in sources])
        self.bytes = byte_lengths(self.tokenizer, codes)

    def epoch(self, rng: np.random.Generator) -> list[Ints]:
        """Batches of (source, start), shape (rows, 2); each pass over a source has its own offset."""
        windows: list[Ints] = []
        for number, (source, text) in enumerate(zip(self.recipe.sources, self.texts, strict=True)):
            for done in range(math.ceil(source.passes)):
                starts = window_starts(len(text.flat), self.width, rng)
                starts = starts[: round(min(1.0, source.passes - done) * len(starts))]
                starts = at_lines(starts, text.offsets, self.width // 2)
                windows.append(np.stack([np.full_like(starts, number), starts], axis=1))
        return self.full_batches(rng.permutation(np.concatenate(windows)))

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        labels = np.stack([self.texts[n].flat[s : s + self.width] for n, s in index.tolist()]).astype(np.int64)
        ids = np.concatenate([self.code[index[:, 0], None], labels[:, :-1]], axis=1)
        return {"ids": torch.from_numpy(ids), "labels": torch.from_numpy(labels)}

    def measure(self) -> dict[str, float]:
        """Bits per byte of held-out text under the right code, and code accuracy in percent; means over the codes."""
        model, codes = self.model.full, list(map(self.tokenizer.token_to_id, self.special["extra_special_tokens"]))
        bits, right = [], []
        for label, code in zip(self.labels, codes, strict=True):
            some = {length: self._passages(label, length) for length in (LENGTH, self.width)}
            wide = some[self.width] or some[LENGTH]
            bits.append(bits_per_byte(model, wide, code, int(self.bytes[np.array(wide)].sum())))
            right.append(right_codes(model, some[LENGTH], codes, code))
        return {"bits per byte": float(np.mean(bits)), "right code": float(np.mean(right))}

    def _passages(self, label: str, length: int) -> list[list[int]]:
        """Held-out passages of a code, evenly spaced in its sources."""
        sides = zip(self.recipe.sources, self.held_out, strict=True)
        each = (passages((text.row(i) for i in range(len(text))), length) for s, text in sides if s.task == label)
        return spread(chain.from_iterable(each), MEASURED)


def passages(rows: Iterable[Sequence[int]], length: int) -> Iterator[list[int]]:
    """Spans of ``length`` tokens, each from the start of a row; the rest of its last row is dropped."""
    passage: list[int] = []
    for row in rows:
        passage.extend(row)
        if len(passage) >= length:
            yield passage[:length]
            passage = []


def spread(items: Iterable[T], most: int) -> list[T]:
    """At most ``most`` of the items, evenly spaced."""
    sample: list[T] = []
    every = 1
    for number, item in enumerate(items):
        if number % every == 0:
            sample.append(item)
        if len(sample) > most:
            sample, every = sample[::2], 2 * every
    return sample


def right_codes(model: Any, texts: Sequence[Sequence[int]], codes: Sequence[int], code: int) -> float:
    """Percentage of the texts whose most probable code is ``code``, one of ``codes``."""
    best = log_probabilities(model, texts, codes).argmax(axis=1)
    return Share(int(np.sum(np.asarray(codes)[best] == code)), len(best))


def bits_per_byte(model: Any, texts: Sequence[Sequence[int]], code: int, size: int) -> float:
    """Bits per byte of the texts, ``size`` bytes together, under ``code``."""
    return -float(log_probabilities(model, texts, [code]).sum()) / math.log(2) / size
