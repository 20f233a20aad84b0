r"""Next-token prediction after a control code (CTRL; Keskar et al., 2019).

.. math:: L = -\frac{1}{n} \sum_{t=1}^{n} \log p(x_t \mid c, x_{<t})

Each source of the recipe names its code :math:`c` as its task. Its text is a stream of its own; a window is the code,
then a run of that stream, so that no window holds text of two sources. Of a line with a tab the part behind it is the
text: the second side of a pair, the sentence behind its label.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.training import corpus
from core.training.batches import Epochs, Ints, Ragged, RaggedWriter
from core.training.documents import AT_ONCE, batched
from core.training.objectives.causal import NextToken, byte_lengths, pieces, train_tokenizer
from core.training.objectives.windows import window_starts
from core.training.passages import LENGTH, bits_per_byte, passages, right_codes, spread
from core.training.recipe import Recipe, SourceFile

MEASURED = 24
"""Held-out passages of each code that a run is measured on."""


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

    def __init__(self, recipe: Recipe, corpus_folder: Path, cache: Path) -> None:
        self.recipe = recipe
        self.width = int(recipe.model["positions"])
        self.labels = tuple(dict.fromkeys(source.task for source in recipe.sources))
        self.special = tuple(code_token(label) for label in self.labels)
        self.tokenizer, self.train, self.test = self._data(corpus_folder, cache)
        self.code = np.array([self.tokenizer.token_to_id(code_token(source.task)) for source in recipe.sources])
        self.bytes = byte_lengths(self.tokenizer, self.special)
        self.model = self.new_model()
        self._epochs = Epochs(recipe.seed, self._epoch)

    def _data(self, folder: Path, cache: Path) -> tuple[Any, list[Ragged], list[Ragged]]:
        """The tokeniser and, for each source, the lines of both sides of the split."""
        from tokenizers import Tokenizer

        sources = self.recipe.sources
        stem = cache / hashlib.blake2b(repr((sources, self.recipe.data)).encode(), digest_size=6).hexdigest()
        if not (stem / "done").is_file():
            stem.mkdir(parents=True, exist_ok=True)
            tokenizer = train_tokenizer(self._seen(folder), int(self.recipe.data["vocabulary"]), self.special)
            tokenizer.save(str(stem / "tokenizer.json"))
            for number, source in enumerate(sources):
                for held_out in (False, True):
                    self._write(folder, source, tokenizer, stem / f"{'test' if held_out else 'train'}-{number}")
            (stem / "done").touch()
        train, test = ([Ragged.load(stem / f"{side}-{n}") for n in range(len(sources))] for side in ("train", "test"))
        return Tokenizer.from_file(str(stem / "tokenizer.json")), train, test

    def _seen(self, folder: Path) -> Iterator[str]:
        """What the tokeniser is trained on: of a source that an epoch passes over in part, every few lines."""
        for source in self.recipe.sources:
            lines = (text for _, text, held in self._texts(folder, source) if not held)
            yield from islice(lines, 0, None, max(1, round(1 / source.passes)))

    def _texts(self, folder: Path, source: SourceFile) -> Iterator[tuple[str, str, bool]]:
        return texts(folder, source, every=int(self.recipe.data["hold_out_every"]))

    def _write(self, folder: Path, source: SourceFile, tokenizer: Any, stem: Path) -> None:
        held_out = stem.name.startswith("test")
        lines = ((document, text) for document, text, held in self._texts(folder, source) if held == held_out)
        total = 0
        with RaggedWriter(stem) as out:
            for part in batched(pieces(lines), AT_ONCE):
                rows = [made.ids for made in tokenizer.encode_batch_fast(part)]
                out.extend(rows)
                total += sum(map(len, rows))
            least = LENGTH if held_out else self.width
            corpus.require(max(0, total - least), "measuring" if held_out else "training", [source])

    def _epoch(self, rng: np.random.Generator) -> list[Ints]:
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

    def batch(self, step: int) -> dict[str, Tensor]:
        index = self._epochs[step]
        labels = np.stack([self.train[n].flat[s : s + self.width] for n, s in index.tolist()]).astype(np.int64)
        ids = np.concatenate([self.code[index[:, 0], None], labels[:, :-1]], axis=1)
        return {"ids": torch.from_numpy(ids), "labels": torch.from_numpy(labels)}

    def measure(self) -> dict[str, float]:
        """Held-out text: bits per byte under the right code, and passages whose code is found in percent; the mean
        over the codes.
        """
        model, codes = self.model.gpt, [self.tokenizer.token_to_id(token) for token in self.special]
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
