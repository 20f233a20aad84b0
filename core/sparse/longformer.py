"""Longformer with a window and global tokens that are chosen before each call (`core.sparse.encoder`).

transformers' forward pass fills the text up to whole windows and takes its window from the configuration. Here the
attention is that of `core.run.odd.sparse`. Training and page share this pass; a test holds it against the library's.

Beltagy et al. 2020, arXiv 2004.05150. Legend: R rows, n tokens, h hidden size, H heads, d head dimension, g global
tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.checkpoints.families.architectures import has
from core.errors import NoAttentionMatrix
from core.lazy import Tensor, functional, torch
from core.run.model import Model, Module
from core.run.odd.sparse import by_blocks
from core.sparse import encoder

GLOBAL = (0,)
"""The first token is global, as in training."""


def shape_of(model: Model) -> tuple[int, int, int]:
    """(layers, heads, positions) of a Longformer; raises :class:`NoAttentionMatrix` for any other model."""
    config = model.config
    if not has(config, "window") or not hasattr(model, "lm_head"):
        raise NoAttentionMatrix(
            "Windows and global tokens can be chosen for a Longformer with a masked-token head only."
        )
    positions = int(config.max_position_embeddings) - int(config.pad_token_id) - 1
    return int(config.num_hidden_layers), int(config.num_attention_heads), positions


def sides_of(model: Model) -> tuple[int, ...]:
    """Tokens that the window of each layer reaches on each side: half of its ``attention_window``."""
    return tuple(int(layer.attention.self.one_sided_attn_window_size) for layer in model.longformer.encoder.layer)


def states(model: Model, ids: Tensor, global_at: Sequence[int] = GLOBAL, *, full: bool = False) -> Tensor:
    """(R, n) ids without padding to (R, n, h) last hidden states of a ``LongformerForMaskedLM``.

    Args:
        model: training or not; gradients flow where they are wanted.
        ids: the same length in every row.
        global_at: positions of the global tokens, the same in every row.
        full: as in :func:`forward`.
    """
    sides = sides_of(model)

    def attend(layer: int, attention: Module, hidden: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if full:
            context = functional.scaled_dot_product_attention(query, key, value)
        else:
            context = by_blocks(query, key, value, sides[layer], global_at)
        if not global_at:
            return context
        return context.index_copy(2, ids.new_tensor(list(global_at)), _of_global(attention, hidden, global_at)[0])

    return encoder.last_states(model, ids, attend)


def _of_global(attention: Module, hidden: Tensor, global_at: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Context (R, H, g, d) and weights (R, H, g, n) of the global tokens: full attention with their own projections."""
    query = encoder.split_heads(attention.query_global(hidden[:, list(global_at)]), attention.num_heads)
    key, value = (
        encoder.split_heads(part(hidden), attention.num_heads)
        for part in (attention.key_global, attention.value_global)
    )
    return encoder.by_mask(query, key, value, None)


def forward(
    model: Model,
    ids: Sequence[int],
    positions: Sequence[int],
    side: int | None = None,
    global_at: Sequence[int] = GLOBAL,
    *,
    full: bool = False,
    progress: encoder.Progress | None = None,
) -> encoder.Logits:
    """One pass of a model in evaluation mode over one text, in plain matrix products.

    Args:
        ids: the token ids, special tokens included; no padding.
        positions: where predictions are wanted.
        side: tokens that the window reaches on each side; by default each layer's own.
        global_at: positions of the global tokens.
        full: every token attends to every other, as if the window were as wide as the text.

    Raises:
        InputEmpty, InputTooLong: no token, or more than the model has positions for.
        OutOfRange: a position outside the text.
        NoAttentionMatrix: the model is no Longformer.
    """
    encoder.check(len(ids), shape_of(model)[2], (*positions, *global_at))
    sides = sides_of(model)

    def attend(layer: int, attention: Module, hidden: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        if full:
            context = encoder.head_by_head(query, key, value)
        else:
            context = by_blocks(query, key, value, side or sides[layer], global_at, fused=False)
        if global_at:
            context[:, :, list(global_at)] = _of_global(attention, hidden, global_at)[0]
        return context

    return encoder.logits_at(model, model.lm_head, ids, positions, attend, progress)


def attention_peak(model: Model, ids: Sequence[int], side: int | None) -> int:
    """Tensor memory, in bytes, that one head of the first layer holds at its peak; ``side`` None is full attention."""
    encoder.check(len(ids), shape_of(model)[2])
    query, key, value = encoder.first_head(model, ids)
    with torch.inference_mode():
        if side is None:
            return encoder.measure_peak(lambda: encoder.by_mask(query, key, value, None))
        return encoder.measure_peak(lambda: by_blocks(query, key, value, side, fused=False))
