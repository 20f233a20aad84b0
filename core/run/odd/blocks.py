"""BigBird: attention between blocks, with the random ones of the seed 0 (Zaheer et al. 2020, arXiv 2007.14062).

In transformers 5.23 a text of at most (5 + 2r) b tokens switches the *instance* to full attention for good, a longer
one is padded to whole blocks, and in evaluation all random blocks are block 0. Here a pass leaves the instance as it
is, a short text has fewer random blocks, and blocks are a mask: each text of a batch has those of its own length.
Without a run the blocks of long texts are gathered, with the same outputs and no weights.

Legend: R rows, H heads, n tokens, b block size, r random blocks, B blocks.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.big_bird.modeling_big_bird import (
    BigBirdBlockSparseAttention,
    BigBirdSelfAttention,
)

from core.patterns.layout import NONE, Sparsity
from core.run.attend import as_allowed, attend
from core.run.odd.sparse import by_head, gather_of
from core.run.run import CURRENT


@lru_cache(maxsize=128)
def _blocks(sparsity: Sparsity, total: int, layer: int, heads: int) -> Tensor:
    """(H, B, B) True where a block of queries attends to one of ``total`` blocks of keys; not to be written to."""
    kinds = [sparsity.kinds(total * sparsity.block_size, layer, head) for head in range(heads)]
    return torch.from_numpy(np.array(kinds) != NONE)


def attended(sparsity: Sparsity, n: int, layer: int, heads: int) -> Tensor:
    """(H, n, n) True where a token (row) attends to another, in every head of a layer."""
    blocks = _blocks(sparsity, sparsity.count_blocks(n), layer, heads)
    return spread(blocks, sparsity.block_size)[..., :n, :n]


def spread(blocks: Tensor, size: int) -> Tensor:
    """(..., B, B) values of blocks to (..., B b, B b) of tokens."""
    return blocks.repeat_interleave(size, -1).repeat_interleave(size, -2)


GATHERED = 16
"""The fewest blocks of a text of which gathering them is faster than masking others."""


class FullSelfAttention(BigBirdSelfAttention):  # type: ignore[misc]
    """That of a model whose configuration has full attention."""

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, **_: object
    ) -> tuple[Tensor, Tensor | None]:
        query, key, value = (
            part(hidden_states).unflatten(-1, (self.num_attention_heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        z, weights = self._attend(query, key, value, attention_mask)
        return z.flatten(2), weights

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """As :func:`core.run.attend.attend`."""
        dropout = self.dropout.p if hasattr(self, "dropout") else 0.0
        return attend(self, query, key, value, self._allowed(mask, query.shape[-2]), dropout=dropout)

    def _allowed(self, mask: Tensor | None, n: int) -> Tensor | None:
        return mask


class BlockSelfAttention(FullSelfAttention):
    def _attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Gathers the blocks where no weights are recorded and texts are long and without padding."""
        n, sparsity = query.shape[2], Sparsity.of(self)
        padded = mask is not None and not bool(as_allowed(mask[:, 0, -1]).all())
        if CURRENT.get() is not None or self.training or padded or sparsity.count_blocks(n) < GATHERED:
            return super()._attend(query, key, value, mask)
        gathers = [gather_of(sparsity, n, self.seed, head) for head in range(query.shape[1])]
        return by_head(query, key, value, gathers).transpose(1, 2), None

    def _allowed(self, mask: Tensor | None, n: int) -> Tensor | None:
        """(R or 1, H or 1, n, n) True where a token attends to another; a text is padded at its end."""
        sparsity = Sparsity.of(self)
        seen = None if mask is None else as_allowed(mask)
        lengths = [n] if seen is None else (seen[:, 0, -1] * torch.arange(1, n + 1)).amax(-1).tolist()
        layer, heads = self.seed, self.num_attention_heads
        if all(bool(_blocks(sparsity, sparsity.count_blocks(length), layer, heads).all()) for length in lengths):
            return mask
        texts = (attended(sparsity, length, layer, heads) for length in lengths)
        near = torch.stack([functional.pad(text, (0, n - text.shape[-1]) * 2) for text in texts])
        return near if seen is None else near & seen


OURS = {BigBirdBlockSparseAttention: BlockSelfAttention, BigBirdSelfAttention: FullSelfAttention}
ATTRIBUTES = {"attention_type": "original_full"}
"""So that the library neither pads a text nor switches the instance."""
