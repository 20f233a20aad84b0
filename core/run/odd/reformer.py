r"""Reformer: attention by hashing, and local attention in every other layer (`core.run.odd.hashing`).

Without a run the library's chunks are computed, with rotations of a generator of their own: the library seeds torch's
global one. A run needs every pair of tokens, so that there the same weights are computed over whole rows: a key that
shares chunks with its query in :math:`m_{ij}` rounds has the score

.. math:: q_i \cdot \hat q_j / \sqrt d + \ln m_{ij}, \qquad
    \hat q_j = q_j \Big/ \sqrt{\tfrac1d \textstyle\sum_k q_{jk}^2}

Legend: R rows, H heads, n tokens, d head dimension.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.models.reformer.modeling_reformer import (
    LocalSelfAttention,
    LocalSelfAttentionOutput,
    LSHSelfAttention,
    LSHSelfAttentionOutput,
    ReformerModel,
)

from core.run.attend import attend
from core.run.odd.hashing import SEED, buckets_of, count_shared_rounds, local_mask, rotations, with_itself
from core.run.run import CURRENT

EPSILON = 1e-6
"""The epsilon that transformers adds to the mean square of a query."""


def _split(vectors: Tensor, heads: int) -> Tensor:
    """(R, n, w) to (R, H, n, d)."""
    return vectors.view(*vectors.shape[:2], heads, -1).transpose(1, 2)


class HashedAttention(LSHSelfAttention):  # type: ignore[misc]
    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None, **more: object) -> Any:
        """(R, n, w) normalized states to an output of that shape; without padding where a run is recorded."""
        if CURRENT.get() is None:
            return super().forward(hidden_states, attention_mask, **more)
        query, value = (_split(part(hidden_states), self.num_attention_heads) for part in (self.query_key, self.value))
        key = query * torch.rsqrt(query.square().mean(-1, keepdim=True) + EPSILON)
        rotation = rotations(query.shape[1], query.shape[-1], self.num_hashes, int(self.num_buckets), SEED)
        times = count_shared_rounds(buckets_of(query, rotation), self.chunk_length)
        rounds = {"rounds": times.clamp(min=1).log()} if bool((times > 1).any()) else {}
        z, weights = attend(self, query, key, value, with_itself(times) > 0, terms=rounds)
        return LSHSelfAttentionOutput(hidden_states=z.flatten(2), attention_probs=weights, buckets=None)

    def _hash_vectors(
        self, vectors: Tensor, num_hashes: int, attention_mask: Tensor | None, increase_num_buckets: bool = False
    ) -> Tensor:
        """(R, H, n, d) to (R, H, rounds · n) buckets, in each round others; padding has a bucket of its own."""
        if not isinstance(self.num_buckets, int):
            factored: Tensor = super()._hash_vectors(vectors, num_hashes, attention_mask, increase_num_buckets)
            return factored
        buckets = buckets_of(
            vectors, rotations(vectors.shape[1], vectors.shape[-1], num_hashes, self.num_buckets, SEED)
        )
        count = self.num_buckets + int(increase_num_buckets)
        if attention_mask is not None and not bool(attention_mask.all()):
            buckets = buckets.masked_fill(~attention_mask.bool()[:, None, None], self.num_buckets)
            count = self.num_buckets + 1
        return (buckets + count * torch.arange(num_hashes)[:, None]).flatten(2)


class LocalAttention(LocalSelfAttention):  # type: ignore[misc]
    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None, **more: object) -> Any:
        """As that of :class:`HashedAttention`."""
        if CURRENT.get() is None:
            return super().forward(hidden_states, attention_mask, **more)
        query, key, value = (
            _split(part(hidden_states), self.num_attention_heads) for part in (self.query, self.key, self.value)
        )
        z, weights = attend(self, query, key, value, local_mask(query.shape[2], self.chunk_length)[None, None])
        return LocalSelfAttentionOutput(hidden_states=z.flatten(2), attention_probs=weights)


class Model(ReformerModel):  # type: ignore[misc]
    """A recorded text is not padded to whole chunks."""

    def _pad_to_mult_of_chunk_length(
        self,
        input_ids: Tensor,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        input_shape: object = None,
        **more: object,
    ) -> Any:
        if CURRENT.get() is not None:
            return input_ids, inputs_embeds, attention_mask, position_ids, input_shape
        return super()._pad_to_mult_of_chunk_length(
            input_ids, inputs_embeds, attention_mask, position_ids, input_shape, **more
        )


OURS = {LSHSelfAttention: HashedAttention, LocalSelfAttention: LocalAttention, ReformerModel: Model}
