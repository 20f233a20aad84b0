r"""Next-token prediction (Radford et al., 2019) on whole books, for any decoder; in segments with a memory.

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid x_{<t})

A Transformer-XL (Dai et al., 2019, arXiv 1901.02860) reads segments one after the other:

.. math:: h^n_\tau = \mathrm{layer}_n\bigl(q = h^{n-1}_\tau,\ k, v = [\mathrm{sg}(m^{n-1}_\tau) ; h^{n-1}_\tau]\bigr)

with :math:`\tau` the segment, sg no gradient, and the memory :math:`m^{n-1}_\tau` the last states that layer n - 1 gave
before the segment. A row of a batch is a window of consecutive segments, read from an empty memory, so that a step
needs nothing of the one before; the windows are those of the other decoders.

Next-token prediction after a control code (CTRL; Keskar et al., 2019).

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid c, x_{<t})

Each source of the recipe names its code :math:`c` as its task. Its text is a stream of its own; a window is the code,
then a run of that stream, so that no window holds text of two sources. Of a line with a tab the part behind it is the
text: the second side of a pair, the sentence behind its label.

A held-out passage begins where a line begins and has a fixed number of tokens. Its code is right where
:math:`\arg\max_c p(x \mid c)` is the code of its source; its bits per byte are :math:`-\log_2 p(x \mid c) /
\text{bytes}` under that code.
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
from core.training import corpus, models, xlnet_model
from core.training.objective import Batch, Objective, linear_cross_entropy
from core.training.recipe import Recipe, RecipeError, SourceFile
from core.training.tokenizers import END, GPT, byte_bpe, byte_lengths
from core.training.tokens import Ints, Ragged, encoded, stored

NO_LIMIT = 1_000_000
"""Tokens that the tokenizer takes for the longest text: a Transformer-XL reads on while it is given segments."""


def pieces(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Cuts books into short texts that tokenize, one after the other, as the whole would.

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


def book_lines(recipe: Recipe, folder: Path, *, held_out: bool) -> Iterator[tuple[str, str]]:
    """(book, line) of one side of the split; a file without books is one."""
    for source in recipe.sources:
        for item in corpus.read(folder, source, every=int(recipe.data["hold_out_every"])):
            if item.held_out == held_out:
                yield item.document or source.file, item.text


def stream(rows: Iterable[list[int]], least: int, side: str, sources: tuple[SourceFile, ...]) -> Ints:
    """The ids of all rows end to end, more than ``least`` of them."""
    tokens = np.fromiter((token for row in rows for token in row), dtype=np.uint16)
    corpus.require(max(0, len(tokens) - least), "training" if side == "train" else "measuring", sources)
    return tokens  # type: ignore[return-value]


def window_starts(count: int, width: int, rng: np.random.Generator) -> Ints:
    """Starts of consecutive windows of ``width`` inputs and one more target, from a random offset, in random order."""
    offset = int(rng.integers(width))
    return rng.permutation(np.arange(offset, count - width, width, dtype=np.int64))


class CausalModel(nn.Module):
    """A decoder with random weights."""

    def __init__(self, settings: dict[str, Any], vocabulary: int, end: int) -> None:
        super().__init__()
        special = {"vocab_size": vocabulary, "bos_token_id": end, "eos_token_id": end}
        self.full: Any = models.new_model(settings, "CausalLM", **special)

    def forward(self, ids: Tensor) -> Tensor:
        """(rows, length) ids to (rows, length, width) states that the output layer reads."""
        hidden: Tensor = self.full.base_model(input_ids=ids, use_cache=False).last_hidden_state
        return hidden


class NextToken(Objective):
    """Next-token prediction over one stream of tokens, cut into windows without regard to where texts begin."""

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
        """Batches of ``step_tokens``; windows that fill none are left out."""
        rows = max(1, self.recipe.step_tokens // self.width)
        return [windows[at : at + rows] for at in range(0, len(windows) - rows + 1, rows)]

    def batch(self, step: int) -> Batch:
        return self.windows(self.train, self.epochs[step])

    def windows(self, tokens: Ints, starts: Ints) -> Batch:
        ids = np.stack([tokens[s : s + self.width + 1] for s in starts]).astype(np.int64)
        return {"ids": torch.from_numpy(ids[:, :-1]), "labels": torch.from_numpy(ids[:, 1:].copy())}

    def measured(self, most: int, rows: int) -> Iterator[Batch]:
        """Batches of held-out windows that share no token, about ``most`` of them."""
        starts = np.arange(0, len(self.test) - self.width, self.width, dtype=np.int64)
        chosen = starts[:: max(1, len(starts) // most)]
        for at in range(0, len(chosen), rows):
            yield self.here(self.windows(self.test, chosen[at : at + rows]))

    def cross_entropy(self, hidden: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy of the labels, given the states that the output layer reads."""
        head = self.model.full.get_output_embeddings()
        return linear_cross_entropy(hidden.flatten(0, 1), head.weight, labels.flatten(), head.bias)

    def loss(self, batch: Batch) -> Tensor:
        return self.cross_entropy(self.model(batch["ids"]), batch["labels"])

    @property
    def positions(self) -> int:  # type: ignore[override]
        return self.width


class CausalObjective(NextToken):
    """Windows over the books end to end, books separated by `END`."""

    def read(self) -> None:
        recipe = self.recipe
        self.width = int(recipe.data["window"])

        def make() -> dict[str, Any]:
            texts = (text for _, text in book_lines(recipe, self.corpus, held_out=False))
            tokenizer = byte_bpe(texts, int(recipe.data["vocabulary"]))
            made_data: dict[str, Any] = {"tokenizer": tokenizer}
            for side in ("train", "test"):
                rows = encoded(tokenizer, pieces(book_lines(recipe, self.corpus, held_out=side == "test")))
                made_data[side] = stream(rows, self.width, side, recipe.sources)
            return made_data

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
    """A Transformer-XL that reads ``segment`` tokens at a time."""

    def __init__(self, settings: dict[str, Any], vocabulary: int, end: int, segment: int) -> None:
        super().__init__()
        made = xlnet_model.new_xlnet(settings, vocabulary, bos_token_id=end, eos_token_id=end, pad_token_id=end)
        self.full = xlnet_model.flatten(made)
        self.segment = segment

    def forward(self, ids: Tensor, remember: bool = True) -> Tensor:
        """(rows, length) ids to (rows, length, width) states; without ``remember`` every segment begins anew."""
        memory: list[Tensor] | None = None
        states: list[Tensor] = []
        for part in torch.split(ids, self.segment, dim=1):
            hidden, cached = xlnet_model.content(self.full, part, memory)
            memory = cached if remember else None
            states.append(hidden)
        return torch.cat(states, dim=1)


class SegmentsObjective(CausalObjective):
    """Windows over the books end to end, each read in segments."""

    positions = NO_LIMIT

    def read(self) -> None:
        window, self.segment = (int(self.recipe.data[name]) for name in ("window", "segment"))
        if window % self.segment or window == self.segment:
            raise RecipeError(
                f"The window of {window} in {self.recipe.slug!r} has to be some segments of {self.segment}."
            )
        super().read()

    def new_model(self) -> SegmentModel:
        end = self.tokenizer.token_to_id(END)
        return SegmentModel(self.recipe.model, self.tokenizer.get_vocab_size(), end, self.segment)

    def shipped(self) -> Any:
        return xlnet_model.whole(self.model.full)

    def measure(self) -> dict[str, float]:
        """Bits per byte of held-out windows: of all segments with the memory, and of all but the first, with the memory
        and without.
        """
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
"""Held-out passages of each code that a run is measured on."""

T = TypeVar("T")


def code_token(label: str) -> str:
    """The token of a code; no text of the corpus holds it."""
    return f"<|{label.lower()}|>"


def texts(folder: Path, source: SourceFile, *, every: int) -> Iterator[tuple[str, str, bool]]:
    """(document, text, held out) of each line. Books are held out whole, other lines by the text that is used."""
    for item in corpus.read(folder, source, every=every):
        text = item.other or item.text
        yield item.document or source.file, text, item.held_out if item.document else corpus.held_out(text, every)


def at_lines(starts: Ints, offsets: Ints, most: int) -> Ints:
    """Each start moved back to the beginning of its row, where that is at most ``most`` tokens away."""
    begins = offsets[np.searchsorted(offsets, starts, side="right") - 1]
    return np.where(starts - begins <= most, begins, starts)


class CodesObjective(NextToken):
    """Windows over the stream of each source, each with its code before it."""

    def read(self) -> None:
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

        def tokenizer_texts() -> Iterator[str]:  # of a source that an epoch passes over in part, every few lines
            for source in sources:
                own = (text for _, text in lines(source, False))
                yield from islice(own, 0, None, max(1, round(1 / source.passes)))

        def make() -> dict[str, Any]:
            made: dict[str, Any] = {"tokenizer": byte_bpe(tokenizer_texts(), int(recipe.data["vocabulary"]), codes)}
            for number, source in enumerate(sources):
                for side, least in (("training", self.width), ("measuring", LENGTH)):
                    rows = Ragged.of(encoded(made["tokenizer"], pieces(lines(source, side == "measuring"))))
                    corpus.require(max(0, len(rows.flat) - least), side, [source])
                    made[f"{side}-{number}"] = rows
            return made

        data = stored(self.cache, (sources, recipe.data), make)
        self.tokenizer = data["tokenizer"]
        self.texts, self.held_out = (
            [data[f"{side}-{number}"] for number in range(len(sources))] for side in ("training", "measuring")
        )
        self.code = np.array([self.tokenizer.token_to_id(code_token(source.task)) for source in sources])
        self.bytes = byte_lengths(self.tokenizer, codes)

    def epoch(self, rng: np.random.Generator) -> list[Ints]:
        """Batches of (source, start), shape (rows, 2); another pass over a source begins at another place."""
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
        """Held-out text: bits per byte under the right code, and passages whose code is found in percent; the mean
        over the codes.
        """
        model, codes = self.model.full, list(map(self.tokenizer.token_to_id, self.special["extra_special_tokens"]))
        bits, right = [], []
        for label, code in zip(self.labels, codes, strict=True):
            some = {length: self._passages(label, length) for length in (LENGTH, self.width)}
            wide = some[self.width] or some[LENGTH]
            bits.append(bits_per_byte(model, wide, code, int(self.bytes[np.array(wide)].sum())))
            right.append(right_codes(model, some[LENGTH], codes, code))
        return {"bits per byte": float(np.mean(bits)), "right code": float(np.mean(right))}

    def _passages(self, label: str, length: int) -> list[list[int]]:
        """Held-out passages of a code, evenly spread over its sources."""
        sides = zip(self.recipe.sources, self.held_out, strict=True)
        each = (passages((text.row(i) for i in range(len(text))), length) for s, text in sides if s.task == label)
        return spread(chain.from_iterable(each), MEASURED)


def passages(rows: Iterable[Sequence[int]], length: int) -> Iterator[list[int]]:
    """Runs of ``length`` tokens, each from the beginning of a row; what a run leaves of its last row is left out."""
    passage: list[int] = []
    for row in rows:
        passage.extend(row)
        if len(passage) >= length:
            yield passage[:length]
            passage = []


def spread(items: Iterable[T], most: int) -> list[T]:
    """At most ``most`` of the items, evenly spread."""
    sample: list[T] = []
    every = 1
    for number, item in enumerate(items):
        if number % every == 0:
            sample.append(item)
        if len(sample) > most:
            sample, every = sample[::2], 2 * every
    return sample


def right_codes(model: Any, texts: Sequence[Sequence[int]], codes: Sequence[int], own: int) -> float:
    """Percent of the texts whose most probable code is ``own``, one of ``codes``."""
    best = log_probabilities(model, texts, codes).argmax(axis=1)
    return 100 * float(np.mean(np.asarray(codes)[best] == own))


def bits_per_byte(model: Any, texts: Sequence[Sequence[int]], code: int, size: int) -> float:
    """Bits per byte of the texts, ``size`` bytes together, under ``code``."""
    return -float(log_probabilities(model, texts, [code]).sum()) / math.log(2) / size
