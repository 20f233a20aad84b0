"""Documents of sentences, and the training rows of encoders.

Sentences are stored end to end in the order of the corpus. A *chunk* has consecutive sentences of one document that fit
its target length: half of the targets are the full width, the others uniform below it, so that training includes short
texts. Lines of a source that is not split into sentences are unrelated; a few of them make a chunk.

Two segments of a chunk can be a sentence-pair task:

``next``   Does B follow A? In half of the pairs B comes from another document, of the same source or of any
           (Devlin et al., 2019).
``order``  Which came first? In half of the pairs A and B are swapped (Lan et al., 2020).
``three``  A third of the pairs each: B follows A, is before A, or is of another document (Wang et al., 2020).

In all cases A and B are whole sentences that together fit the chunk's target, so that neither length nor a truncated
word reveals the label. A chunk of one sentence, or of unrelated lines, makes no pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from core.objectives import masked, sentence_pairs
from lab import batches, corpus
from lab.corpus import Item
from lab.masking import mask_rows
from lab.objective import IGNORE
from lab.recipe import Recipe, SourceFile
from lab.tokenizers import ENCODERS, Vocabulary
from lab.tokens import Ints, Ragged, batched, encoded, stored

SHORTEST = 12
"""Smallest target of a chunk, in tokens."""
ROUND = 8
"""Rows are padded to a multiple of this many tokens."""
MEASURED = 2000
"""About how many held-out chunks are evaluated."""
NO_LABEL = IGNORE


@dataclass(frozen=True, slots=True)
class Documents:
    """Sentences and their chunks; n chunks."""

    sentences: Ragged
    chunks: Ints
    """(n, 6): `bounds`, number of the source, number of the document."""

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def bounds(self) -> Ints:
        """(n, 4): first sentence, one past the last, one past the document's last, target in tokens."""
        return self.chunks[:, :4]

    @property
    def source(self) -> Ints:
        """(n,) number of the source in the recipe."""
        return self.chunks[:, 4]

    @property
    def document(self) -> Ints:
        """(n,) number of the document, or -1 for unrelated sentences."""
        return self.chunks[:, 5]

    @property
    def lengths(self) -> Ints:
        """(n,) tokens of each chunk."""
        offsets = self.sentences.offsets
        return np.asarray(offsets[self.bounds[:, 1]] - offsets[self.bounds[:, 0]], dtype=np.int64)

    def sizes(self, special: int = 2) -> Ints:
        """(n,) length of each chunk's row, with ``special`` tokens and padding."""
        return batches.round_up(self.lengths + special, ROUND)

    def text(self, first: int, last: int) -> Ints:
        """Token ids of the sentences from ``first`` to ``last`` (exclusive)."""
        offsets = self.sentences.offsets
        return np.asarray(self.sentences.flat[offsets[first] : offsets[last]], dtype=np.int64)

    def chunk(self, index: int) -> Ints:
        return self.text(int(self.bounds[index, 0]), int(self.bounds[index, 1]))


def pieces(folder: Path, source: SourceFile, *, every: int) -> Iterator[list[Item]]:
    """Documents of a source, or batches of unrelated lines, at most some thousand sentences at a time."""
    items = corpus.items_of(folder, source, every=every)
    for _, document in groupby(items, key=lambda item: (item.held_out, item.document or source.sentences * item.line)):
        yield from batched(document)


def tokenized(
    folder: Path, sources: Sequence[SourceFile], tokenizer: Any, *, every: int, width: int, held_out: bool
) -> Documents:
    """One side of the split in chunks; sentences are truncated to the width less three special tokens."""
    room, rng = width - 3, np.random.default_rng(int(held_out))
    rows: list[list[int]] = []
    chunks: list[tuple[int, ...]] = []
    number = 0
    for origin, source in enumerate(sources):
        for document in pieces(folder, source, every=every):
            if document[0].held_out != held_out:
                continue
            texts = (item.text for item in document)
            encoded_texts = [ids[:room] for ids in encoded(tokenizer, texts, special=False) if ids]
            begin, end, at = len(rows), len(rows) + len(encoded_texts), 0
            rows += encoded_texts
            while at < len(encoded_texts):
                fills = not source.sentences or rng.random() < 0.5
                target = room if fills else int(rng.integers(SHORTEST, room))
                size, stop = len(encoded_texts[at]), at + 1
                most = len(encoded_texts) if source.sentences else min(len(encoded_texts), at + source.group)
                while stop < most and size + len(encoded_texts[stop]) <= target:
                    size += len(encoded_texts[stop])
                    stop += 1
                ended = stop == len(encoded_texts) or not source.sentences
                chunk = (begin + at, begin + stop, end, size if ended else max(target, size))
                chunks.append((*chunk, origin, number if source.sentences else -1))
                at = stop
            number += 1
    corpus.require(len(rows), "measuring" if held_out else "training", sources)
    return Documents(Ragged.of(rows), np.array(chunks, dtype=np.int64))


def prepare(
    recipe: Recipe, folder: Path, stages: Path, kind: str = "wordpiece", finished: Path | None = None
) -> tuple[Any, Documents, Documents]:
    """The tokenizer, the training side and the held-out side; recipes with the same data share them.

    Args:
        recipe: sources, and in its data ``hold_out_every``, ``vocabulary`` and ``width``.
        folder: the corpus.
        stages: the folder of all training states.
        kind: of the tokenizer (`lab.tokenizers.ENCODERS`).
        finished: the folder of a model whose tokenizer is used instead; then there is no ``vocabulary``.
    """
    every, width = (int(recipe.data[name]) for name in ("hold_out_every", "width"))
    vocabulary, sources = int(recipe.data.get("vocabulary", 0)), recipe.sources
    file = finished / "tokenizer.json" if finished else None

    def make() -> dict[str, Any]:
        items = (item for source in sources for item in corpus.items_of(folder, source, every=every))
        tokenizer = (
            Tokenizer.from_file(str(file))
            if file
            else ENCODERS[kind]((item.text for item in items if not item.held_out), vocabulary)
        )
        data = {"tokenizer": tokenizer}
        for side in ("train", "test"):
            text = tokenized(folder, sources, tokenizer, every=every, width=width, held_out=side == "test")
            data |= {side: text.sentences, f"{side}-chunks": text.chunks}
        return data

    spread = [(s.file, s.first, s.last, s.sentences, s.group) for s in sources]
    data = stored(stages / "text", (spread, every, vocabulary, width, file.read_text("utf-8") if file else kind), make)
    train, test = (Documents(data[side], data[f"{side}-chunks"]) for side in ("train", "test"))
    return data["tokenizer"], train, test


class Pair(NamedTuple):
    """Token ids of the segments; ``label`` is 0 for consecutive segments in order, otherwise 1 or 2, or `NO_LABEL`."""

    a: Ints
    b: Ints | None
    label: int


class Pairs:
    """Samples segments from documents.

    Args:
        documents: the text.
        question: ``"next"``, ``"order"``, ``"three"`` or ``""`` for single texts.
        anywhere: the other document may be of any source, as BERT's is.
    """

    def __init__(self, documents: Documents, question: str, *, anywhere: bool = False) -> None:
        self.documents, self.question = documents, question
        count = documents.bounds[:, 1] - documents.bounds[:, 0]
        self.paired = (documents.document >= 0) & (count > 1) & bool(question)
        """(chunks,) whether a chunk makes a pair."""
        self._of_source = {
            int(s): np.flatnonzero(self.paired & (anywhere | (documents.source == s))) for s in set(documents.source)
        }

    def sample(self, chunk: int, rng: np.random.Generator) -> Pair:
        text = self.documents
        if not self.paired[chunk]:
            return Pair(text.chunk(chunk), None, NO_LABEL)
        first, last, _, target = text.bounds[chunk].tolist()
        cut = int(rng.integers(first + 1, last))
        a, b = text.text(first, cut), text.text(cut, last)
        label = int(rng.integers(3)) if self.question == "three" else int(rng.random() >= sentence_pairs.SHARE)
        if label == 0:
            return Pair(a, b, 0)
        if label == 1 and self.question != "next":
            return Pair(b, a, 1)
        return Pair(a, self._foreign(chunk, target - len(a), rng), label)

    def _foreign(self, chunk: int, room: int, rng: np.random.Generator) -> Ints:
        """Sentences of another document that fit into ``room`` tokens; a single one is truncated if none fits."""
        text = self.documents
        offsets = text.sentences.offsets
        pool = self._of_source[int(text.source[chunk])]
        start = stop = 0
        for _ in range(8):
            other = int(pool[rng.integers(len(pool))])
            if text.document[other] == text.document[chunk]:
                continue
            first, last, end, _ = text.bounds[other].tolist()
            start = int(rng.integers(first, last))
            stop = min(end, int(np.searchsorted(offsets, offsets[start] + room, side="right")) - 1)
            if stop > start:
                break
        return text.text(start, max(stop, start + 1))[:room]


class Examples:
    """Masked rows of one side of the split.

    Args:
        text: the side.
        tokenizer: of the ``tokenizers`` library, with BERT's special tokens.
        question: of the pairs, or ``""``.
        fates: shares of the chosen tokens that become the mask token, and a random token.
        anywhere: of `Pairs`.
    """

    def __init__(
        self,
        text: Documents,
        tokenizer: Any,
        question: str = "",
        fates: tuple[float, float] = masked.FATES,
        *,
        anywhere: bool = False,
    ) -> None:
        self.text = text
        self.words = Vocabulary(tokenizer)
        self.pairs = Pairs(text, question, anywhere=anywhere)
        self.fates = fates
        self.sizes = batches.round_up(np.where(self.pairs.paired, text.bounds[:, 3] + 3, text.lengths + 2), ROUND)
        """(chunks,) length of each chunk's row, special tokens and padding included."""

    def rows(self, index: Ints, rngs: Sequence[np.random.Generator]) -> dict[str, Tensor]:
        """Rows of chunks of one size, each masked with its own generator.

        Returns:
            What `lab.masking.mask_rows` returns; ``types`` segments; ``answers`` (rows,) labels of the pairs.
        """
        pairs = [self.pairs.sample(chunk, rng) for chunk, rng in zip(index.tolist(), rngs, strict=True)]
        texts = [self.words.framed(*(segment for segment in (a, b) if segment is not None)) for a, b, _ in pairs]
        types = np.zeros((len(index), int(self.sizes[index[0]])), dtype=np.int64)
        for row, (pair, text) in enumerate(zip(pairs, texts, strict=True)):
            types[row, len(pair.a) + 2 : len(text)] = 1
        words = self.words
        batch = mask_rows(texts, words.special, words.mask, words.pad, types.shape[1], rngs, self.fates)
        answers = np.array([pair.label for pair in pairs], dtype=np.int64)
        return batch | batches.tensors(types=types, answers=answers)

    def measured(self, device: torch.device | str = "cpu") -> Iterator[dict[str, Tensor]]:
        """Batches over about `MEASURED` chunks, always with the same masks."""
        some = batches.some(len(self.text), MEASURED)
        for index, rngs in batches.measured(some, self.sizes[some]):
            yield {name: value.to(device) for name, value in self.rows(index, rngs).items()}
