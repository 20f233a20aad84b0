"""Longformer: a window, and a first token that is global, with projections of its own.

transformers pads a text to whole windows and has no global token unless it is told; training here made the first one
global, so that every pass does. Beltagy et al. 2020, arXiv 2004.05150.

Legend: R rows, H heads, n tokens, d head dimension, g global tokens.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.longformer.modeling_longformer import LongformerEncoder, LongformerSelfAttention

from core import patterns
from core.run.attend import Apart, attend
from core.run.model import Module
from core.run.odd.sparse import by_blocks
from core.run.run import CURRENT


@lru_cache(maxsize=16)
def allowed(n: int, side: int, global_at: tuple[int, ...] = ()) -> Tensor:
    """(n, n) True where a token (row) attends to another: window, global columns, global rows; not to be written to."""
    return torch.from_numpy(patterns.mask(patterns.union(patterns.window(side), patterns.global_at(global_at)), n))


class SelfAttention(LongformerSelfAttention):  # type: ignore[misc]
    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor,
        is_index_masked: Tensor,
        is_index_global_attn: Tensor,
        is_global_attn: bool,
        output_attentions: bool = False,
    ) -> tuple[Tensor, ...]:
        """As the library's, with weights (R, n, H, n) and (R, H, g, n); global tokens are the same in every row."""

        def split(projection: Module, states: Tensor = hidden_states) -> Tensor:
            vectors: Tensor = projection(states).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            return vectors

        at = is_index_global_attn[0].nonzero()[:, 0]
        apart = None
        if is_global_attn:
            of_global = split(self.query_global, hidden_states[:, at])
            apart = Apart(at, of_global, split(self.key_global), split(self.value_global))
        query, key, value = (split(part) for part in (self.query, self.key, self.value))
        n, side, marked = hidden_states.shape[1], self.one_sided_attn_window_size, tuple(at.tolist())
        whole_rows = CURRENT.get() is not None or output_attentions or self.training or bool(is_index_masked.any())
        if n > 2 * side and not whole_rows:
            z = by_blocks(query, key, value, side, marked)
            if apart is not None:
                z = z.index_copy(2, at, functional.scaled_dot_product_attention(apart.query, apart.key, apart.value))
            return (z.transpose(1, 2).flatten(2),)
        z, weights = attend(
            self,
            query,
            key,
            value,
            allowed(n, side, marked) & ~is_index_masked[:, None, None],
            dropout=self.dropout,
            apart=apart,
        )
        returned = (weights.transpose(1, 2), *((weights[:, :, at],) if is_global_attn else ()))
        return z.flatten(2), *(returned if output_attentions else ())


class Encoder(LongformerEncoder):  # type: ignore[misc]
    def forward(self, hidden_states: Tensor, attention_mask: Tensor, **more: object) -> Any:
        """As the library's; ``attention_mask`` (R, n) is above 0 at a global token, below 0 where none is."""
        if not bool((attention_mask > 0).any()):
            attention_mask = attention_mask.clone()
            attention_mask[:, 0] = torch.finfo(attention_mask.dtype).max
        return super().forward(hidden_states, attention_mask, **more)


def _unpadded(
    input_ids: Tensor,
    attention_mask: Tensor,
    token_type_ids: Tensor,
    position_ids: Tensor,
    inputs_embeds: Tensor,
    pad_token_id: int,
) -> tuple[int, Tensor, Tensor, Tensor, Tensor, Tensor]:
    return 0, input_ids, attention_mask, token_type_ids, position_ids, inputs_embeds


OURS = {LongformerSelfAttention: SelfAttention, LongformerEncoder: Encoder}
ATTRIBUTES = {"_pad_to_window_size": _unpadded}
