"""Longformer's encoder run over its own modules: window and global tokens are chosen before each call.

transformers' forward pass fills the text up to whole windows and takes its window from the configuration. Here the
model is only read: its embeddings, projections, feed-forward parts and head are called, and the attention between them
is :mod:`core.efficiency.windowed`. Training and page share this pass; a test holds it against the library's.

Beltagy et al. 2020, arXiv 2004.05150. Legend: R rows, n tokens, h hidden width, H heads, d head width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from core.efficiency.windowed import by_blocks


def states(model: Any, ids: Tensor, global_at: Sequence[int] = (0,), side: int | None = None) -> Tensor:
    """(R, n) ids without padding to (R, n, h) last states of a ``LongformerForMaskedLM``.

    Args:
        model: training or not; gradients flow where they are wanted.
        ids: the same length in every row.
        global_at: positions of the global tokens, the same in every row.
        side: tokens that the window reaches on each side; by default the model's own, half of its ``attention_window``.
    """
    hidden: Tensor = model.longformer.embeddings(input_ids=ids)
    heads = int(model.config.num_attention_heads)
    for layer in model.longformer.encoder.layer:
        own = layer.attention.self
        reach = own.one_sided_attn_window_size if side is None else side
        query, key, value = (split(part(hidden), heads) for part in (own.query, own.key, own.value))
        context = by_blocks(query, key, value, reach, global_at)
        if len(global_at):
            context = context.index_copy(2, ids.new_tensor(list(global_at)), _of_global(own, hidden, global_at, heads))
        after = layer.attention.output(joined(context), hidden)
        hidden = layer.output(layer.intermediate(after), after)
    return hidden


def _of_global(own: Any, hidden: Tensor, global_at: Sequence[int], heads: int) -> Tensor:
    """(R, H, g, d) context of the global tokens: full attention with projections of their own."""
    from torch.nn.functional import scaled_dot_product_attention

    query = split(own.query_global(hidden[:, list(global_at)]), heads)
    key, value = (split(part(hidden), heads) for part in (own.key_global, own.value_global))
    return scaled_dot_product_attention(query, key, value)


def split(vectors: Tensor, heads: int) -> Tensor:
    """(R, n, h) to (R, H, n, d)."""
    rows, n, _ = vectors.shape
    return vectors.view(rows, n, heads, -1).transpose(1, 2)


def joined(context: Tensor) -> Tensor:
    """(R, H, n, d) to (R, n, h)."""
    return context.transpose(1, 2).flatten(2)
