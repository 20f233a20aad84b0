r"""Rows for XLNet: chunks of documents, and for each a random order in which its last tokens are found.

Of the n ordinary tokens of a chunk the last :math:`m = \max(1, \lfloor n s + 1/2 \rfloor)` of a random order are
targets; the others, and ``[CLS]`` and ``[SEP]``, are known. The share :math:`s` is 1 / K (partial prediction; Yang et
al., 2019, section 2.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.language import orders
from core.training import batches
from core.training.batches import Ints
from core.training.documents import Documents
from core.training.examples import MEASURED, ROUND, Vocabulary

Generator = np.random.Generator


class Orders:
    """Rows made of one side of the split.

    Args:
        text: the side.
        tokenizer: of the ``tokenizers`` library, with BERT's special tokens.
        k: one token in so many is a target.
    """

    def __init__(self, text: Documents, tokenizer: Any, k: float) -> None:
        self.text = text
        self.words = Vocabulary(tokenizer)
        self.k = k
        self.sizes: Ints = np.asarray(-(-(text.lengths + 2) // ROUND) * ROUND, dtype=np.int64)
        """(chunks,) length of each chunk's row, special tokens and padding included."""

    def rows(self, index: Ints, draws: Sequence[Generator], wide: bool = False) -> dict[str, Tensor]:
        """Rows of chunks of one size, each with an order of its own.

        Args:
            draws: a generator for each row.
            wide: the share of targets is not 1 / K but drawn for each row, evenly from 1 / K to 1.

        Returns:
            ``ids`` (rows, width); ``real`` True where there is a token; ``rank`` of each place
            (`core.language.orders`); ``place`` (rows, most) of each target in the order in which they are found, 0 for
            none; ``there`` (rows, most) True where there is a target; ``labels`` (targets,) what stands at them, row
            by row.
        """
        ids = np.full((len(index), int(self.sizes[index[0]])), self.words.pad, dtype=np.int64)
        rank = np.zeros_like(ids)
        found: list[Ints] = []
        for row, (chunk, rng) in enumerate(zip(index.tolist(), draws, strict=True)):
            whole = np.concatenate([[self.words.begin], self.text.chunk(chunk), [self.words.end]])
            ids[row, : len(whole)] = whole
            share = rng.uniform(1 / self.k, 1.0) if wide else 1 / self.k
            order = last(whole, self.words.special, share, rng)
            rank[row] = orders.ranks(order.tolist(), ids.shape[1])
            found.append(order)
        place = np.full((len(index), max(map(len, found))), -1, dtype=np.int64)
        for row, order in enumerate(found):
            place[row, : len(order)] = order
        return {
            "ids": torch.from_numpy(ids),
            "real": torch.from_numpy(ids != self.words.pad),
            "rank": torch.from_numpy(rank),
            "place": torch.from_numpy(np.maximum(place, 0)),
            "there": torch.from_numpy(place >= 0),
            "labels": torch.from_numpy(np.concatenate([ids[row, order] for row, order in enumerate(found)])),
        }

    def measured(self, device: torch.device | str = "cpu") -> Iterator[dict[str, Tensor]]:
        """Batches over about `MEASURED` chunks, with the same orders each time and one target in K."""
        some = np.arange(0, len(self.text), max(1, len(self.text) // MEASURED), dtype=np.int64)
        for index in batches.plan(some, self.sizes[some], self.sizes[some], 4096, np.random.default_rng(0), least=0.0):
            draws = [np.random.default_rng([0, 3, int(chunk)]) for chunk in index]
            yield {name: value.to(device) for name, value in self.rows(index, draws).items()}


def last(ids: Ints, special: orders.Bools, share: float, rng: Generator) -> Ints:
    """The last places of a random order of a text's ordinary tokens, in that order; none where it has no such token."""
    ordinary = rng.permutation(np.flatnonzero(~special[ids]))
    count = min(len(ordinary), max(1, int(share * len(ordinary) + 0.5)))
    return np.asarray(ordinary[len(ordinary) - count :], dtype=np.int64)
