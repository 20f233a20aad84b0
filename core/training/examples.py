"""Damaged rows for encoders: chunks of documents, perhaps as pairs, with tokens chosen to be guessed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.training import batches, documents, masking
from core.training.batches import Ints
from core.training.documents import Documents
from core.training.pairs import NO_LABEL, Pairs

ROUND = 8
"""Rows are padded to a multiple of this many tokens."""
MEASURED = 2000
"""About as many held-out chunks are measured."""


class Vocabulary:
    """The special tokens of a WordPiece tokeniser by name, and which ids they are."""

    def __init__(self, tokenizer: Any) -> None:
        vocab: dict[str, int] = tokenizer.get_vocab()
        ids = [vocab[name] for name in documents.SPECIAL.values()]
        self.pad, _, self.begin, self.end, self.mask = ids
        self.special = np.zeros(len(vocab), dtype=bool)
        self.special[ids] = True


class Examples:
    """Rows made of one side of the split.

    Args:
        text: the side.
        tokenizer: of the ``tokenizers`` library, with BERT's special tokens.
        question: about pairs (`core.training.pairs`), or ``""``.
        fates: shares of the chosen tokens that become the mask token, and a random one.
    """

    def __init__(
        self, text: Documents, tokenizer: Any, question: str = "", fates: tuple[float, float] = masking.FATES
    ) -> None:
        self.text = text
        self.words = Vocabulary(tokenizer)
        self.pairs = Pairs(text, question)
        self.fates = fates
        content = np.where(self.pairs.asked, text.bounds[:, 3] + 3, text.lengths + 2)
        self.sizes: Ints = np.asarray(-(-content // ROUND) * ROUND, dtype=np.int64)
        """(chunks,) length of each chunk's row, special tokens and padding included."""

    def rows(self, index: Ints, draws: Sequence[np.random.Generator]) -> dict[str, Tensor]:
        """Rows of chunks of one size, each damaged with its own generator.

        Returns:
            ``ids`` (rows, width) damaged; ``types`` segments; ``real`` 1 where there is a token; ``chosen`` where one
            is to be guessed; ``labels`` (chosen,) what stood there; ``answers`` (rows,) about the pairs.
        """
        width = int(self.sizes[index[0]])
        ids = np.full((len(index), width), self.words.pad, dtype=np.int64)
        types = np.zeros_like(ids)
        chosen = np.zeros(ids.shape, dtype=bool)
        answers = np.full(len(index), NO_LABEL, dtype=np.int64)
        labels: list[Ints] = []
        begin, end = np.array([self.words.begin]), np.array([self.words.end])
        for row, (chunk, rng) in enumerate(zip(index.tolist(), draws, strict=True)):
            a, b, answers[row] = self.pairs.draw(chunk, rng)
            whole = np.concatenate([begin, a, end] if b is None else [begin, a, end, b, end])
            types[row, len(a) + 2 : len(whole)] = 1
            ids[row, : len(whole)], chosen[row, : len(whole)] = masking.bert(
                whole, self.words.special, self.words.mask, rng, fates=self.fates
            )
            labels.append(whole[chosen[row, : len(whole)]])
        return {
            "ids": torch.from_numpy(ids),
            "types": torch.from_numpy(types),
            "real": torch.from_numpy((ids != self.words.pad).astype(np.int64)),
            "chosen": torch.from_numpy(chosen),
            "labels": torch.from_numpy(np.concatenate(labels)),
            "answers": torch.from_numpy(answers),
        }

    def measured(self, device: torch.device | str = "cpu") -> Iterator[dict[str, Tensor]]:
        """Batches over about `MEASURED` chunks, with the same damage each time."""
        some = np.arange(0, len(self.text), max(1, len(self.text) // MEASURED), dtype=np.int64)
        for index in batches.plan(some, self.sizes[some], self.sizes[some], 4096, np.random.default_rng(0), least=0.0):
            draws = [np.random.default_rng([0, 3, int(chunk)]) for chunk in index]
            yield {name: value.to(device) for name, value in self.rows(index, draws).items()}
