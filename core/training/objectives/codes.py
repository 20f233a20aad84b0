r"""Next-token prediction after a control code (CTRL; Keskar et al., 2019).

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
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from core.language.codes import log_probabilities
from core.training import corpus
from core.training.objective import Batch
from core.training.objectives.causal import NextToken, pieces, window_starts
from core.training.recipe import SourceFile
from core.training.tokenizers import byte_bpe, byte_lengths
from core.training.tokens import Ints, Ragged, encoded, kept, saved_tokenizer

LENGTH = 40
"""Tokens of a passage whose code is asked for."""
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
    found = offsets[np.searchsorted(offsets, starts, side="right") - 1]
    return np.where(starts - found <= most, found, starts)


class CodesObjective(NextToken):
    """Windows over the stream of each source, each with its code before it."""

    def read(self) -> None:
        recipe, sources = self.recipe, self.recipe.sources
        self.width = int(recipe.data["window"])
        self.labels = tuple(dict.fromkeys(source.task for source in sources))
        self.special = tuple(code_token(label) for label in self.labels)

        def lines(source: SourceFile, held_out: bool) -> Iterator[tuple[str, str]]:
            found = texts(self.corpus, source, every=int(recipe.data["hold_out_every"]))
            return ((document, text) for document, text, held in found if held == held_out)

        def seen() -> Iterator[str]:  # of a source that an epoch passes over in part, every few lines
            for source in sources:
                own = (text for _, text in lines(source, False))
                yield from islice(own, 0, None, max(1, round(1 / source.passes)))

        def make(place: Path) -> None:
            tokenizer = byte_bpe(seen(), int(recipe.data["vocabulary"]), self.special)
            tokenizer.save(str(place / "tokenizer.json"))
            for number, source in enumerate(sources):
                for side, least in (("train", self.width), ("test", LENGTH)):
                    found = Ragged.of(encoded(tokenizer, pieces(lines(source, side == "test"))))
                    corpus.require(max(0, len(found.flat) - least), f"{side}ing".replace("test", "measur"), [source])
                    found.save(place / f"{side}-{number}")

        place = kept(self.cache, (sources, recipe.data), make)
        self.tokenizer = saved_tokenizer(place)
        self.train, self.test = (
            [Ragged.load(place / f"{side}-{number}") for number in range(len(sources))] for side in ("train", "test")
        )
        self.code = np.array([self.tokenizer.token_to_id(code_token(source.task)) for source in sources])
        self.bytes = byte_lengths(self.tokenizer, self.special)

    def epoch(self, rng: np.random.Generator) -> list[Ints]:
        """Batches of (source, start), shape (rows, 2); another pass over a source begins at another place."""
        found: list[Ints] = []
        for number, (source, text) in enumerate(zip(self.recipe.sources, self.train, strict=True)):
            for done in range(math.ceil(source.passes)):
                starts = window_starts(len(text.flat), self.width, rng)
                starts = starts[: round(min(1.0, source.passes - done) * len(starts))]
                starts = at_lines(starts, text.offsets, self.width // 2)
                found.append(np.stack([np.full_like(starts, number), starts], axis=1))
        index = rng.permutation(np.concatenate(found))
        rows = max(1, self.recipe.step_tokens // self.width)
        return [index[at : at + rows] for at in range(0, len(index) - rows + 1, rows)]

    def batch(self, step: int) -> Batch:
        index = self.epochs[step]
        labels = np.stack([self.train[n].flat[s : s + self.width] for n, s in index.tolist()]).astype(np.int64)
        ids = np.concatenate([self.code[index[:, 0], None], labels[:, :-1]], axis=1)
        return {"ids": torch.from_numpy(ids), "labels": torch.from_numpy(labels)}

    def measure(self) -> dict[str, float]:
        """Held-out text: bits per byte under the right code, and passages whose code is found in percent; the mean
        over the codes.
        """
        model, codes = self.model.full, [self.tokenizer.token_to_id(token) for token in self.special]
        bits, right = [], []
        for label, code in zip(self.labels, codes, strict=True):
            some = {length: self._passages(label, length) for length in (LENGTH, self.width)}
            wide = some[self.width] or some[LENGTH]
            bits.append(bits_per_byte(model, wide, code, int(self.bytes[np.array(wide)].sum())))
            right.append(right_codes(model, some[LENGTH], codes, code))
        return {"bits per byte": float(np.mean(bits)), "right code": float(np.mean(right))}

    def _passages(self, label: str, length: int) -> list[list[int]]:
        """Held-out passages of a code, evenly spread over its sources."""
        sides = zip(self.recipe.sources, self.test, strict=True)
        each = (passages((text.row(i) for i in range(len(text))), length) for s, text in sides if s.task == label)
        return spread(chain.from_iterable(each), MEASURED)


def passages(rows: Iterable[Sequence[int]], length: int) -> Iterator[list[int]]:
    """Runs of ``length`` tokens, each from the beginning of a row; what a run leaves of its last row is left out."""
    held: list[int] = []
    for row in rows:
        held.extend(row)
        if len(held) >= length:
            yield held[:length]
            held = []


def spread(items: Iterable[T], most: int) -> list[T]:
    """At most ``most`` of the items, evenly spread."""
    kept_items: list[T] = []
    every = 1
    for number, item in enumerate(items):
        if number % every == 0:
            kept_items.append(item)
        if len(kept_items) > most:
            kept_items, every = kept_items[::2], 2 * every
    return kept_items


def right_codes(model: Any, found: Sequence[Sequence[int]], codes: Sequence[int], own: int) -> float:
    """Percent of the texts whose most probable code is ``own``, one of ``codes``."""
    best = log_probabilities(model, found, codes).argmax(axis=1)
    return 100 * float(np.mean(np.asarray(codes)[best] == own))


def bits_per_byte(model: Any, found: Sequence[Sequence[int]], code: int, size: int) -> float:
    """Bits per byte of the texts, ``size`` bytes together, under ``code``."""
    return -float(log_probabilities(model, found, [code]).sum()) / math.log(2) / size
