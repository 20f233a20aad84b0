"""Longformer's encoder run over its own modules: window and global tokens are chosen before each call.

transformers' forward pass fills the text up to whole windows and takes its window from the configuration. Here the
model is only read: its embeddings, projections, feed-forward parts and head are called, and the attention between them
is :mod:`core.sparse.windowed`. Training and page share this pass; a test holds it against the library's.

Beltagy et al. 2020, arXiv 2004.05150. Legend: R rows, n tokens, h hidden width, H heads, d head width, g global tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from core.errors import NoAttentionMatrix
from core.sparse.bigbird import Encoded, Progress, Run, check
from core.sparse.windowed import allowed, by_blocks, by_mask

GLOBAL = (0,)
"""The first token is global, as in training."""
Attend = Callable[[Any, Tensor, Tensor, Tensor, Tensor], Tensor]
"""(attention module, states (R, n, h), query, key, value (R, H, n, d)) to the context (R, H, n, d)."""


def shape_of(model: Any) -> tuple[int, int, int]:
    """(layers, heads, positions) of a Longformer; raises :class:`NoAttentionMatrix` for any other model."""
    config = model.config
    if getattr(config, "model_type", "") != "longformer" or not hasattr(model, "lm_head"):
        raise NoAttentionMatrix(
            "Windows and global tokens can be chosen for a Longformer with a masked-word head only."
        )
    positions = int(config.max_position_embeddings) - int(config.pad_token_id) - 1
    return int(config.num_hidden_layers), int(config.num_attention_heads), positions


def side_of(model: Any) -> int:
    """Tokens that the window of the model's first layer reaches on each side: half of its ``attention_window``."""
    return int(model.longformer.encoder.layer[0].attention.self.one_sided_attn_window_size)


def sides_of(model: Any) -> tuple[int, ...]:
    """The same of every layer."""
    return tuple(_reach(layer.attention.self, None) for layer in model.longformer.encoder.layer)


def _reach(own: Any, side: int | None) -> int:
    """Tokens that a layer's window reaches on each side: ``side``, or what the layer was made with."""
    return int(own.one_sided_attn_window_size) if side is None else side


def states(model: Any, ids: Tensor, global_at: Sequence[int] = GLOBAL, side: int | None = None) -> Tensor:
    """(R, n) ids without padding to (R, n, h) last states of a ``LongformerForMaskedLM``.

    Args:
        model: training or not; gradients flow where they are wanted.
        ids: the same length in every row.
        global_at: positions of the global tokens, the same in every row.
        side: tokens that the window reaches on each side; by default the model's own.
    """

    def attend(own: Any, hidden: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        context = by_blocks(query, key, value, _reach(own, side), global_at)
        if not global_at:
            return context
        return context.index_copy(2, ids.new_tensor(list(global_at)), _of_global(own, hidden, global_at)[0])

    return _through(model, ids, attend)


def _through(model: Any, ids: Tensor, attend: Attend, progress: Progress | None = None) -> Tensor:
    hidden: Tensor = model.longformer.embeddings(input_ids=ids)
    heads = int(model.config.num_attention_heads)
    layers = model.longformer.encoder.layer
    for index, layer in enumerate(layers):
        own = layer.attention.self
        query, key, value = (_split(part(hidden), heads) for part in (own.query, own.key, own.value))
        after = layer.attention.output(_joined(attend(own, hidden, query, key, value)), hidden)
        hidden = layer.output(layer.intermediate(after), after)
        if progress is not None:
            progress(index + 1, len(layers))
    return hidden


def _of_global(own: Any, hidden: Tensor, global_at: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Context (R, H, g, d) and weights (R, H, g, n) of the global tokens: full attention with their own projections."""
    query = _split(own.query_global(hidden[:, list(global_at)]), own.num_heads)
    key, value = (_split(part(hidden), own.num_heads) for part in (own.key_global, own.value_global))
    return by_mask(query, key, value, None)


@torch.inference_mode()
def forward(
    model: Any,
    ids: Sequence[int],
    positions: Sequence[int],
    side: int | None = None,
    global_at: Sequence[int] = GLOBAL,
    *,
    full: bool = False,
    progress: Progress | None = None,
) -> Run:
    """One pass over one text in plain matrix products; the model is only read.

    Args:
        model: the shared instance, in evaluation mode.
        ids: the token ids, special tokens included; no padding.
        positions: where predictions are wanted.
        side: tokens that the window reaches on each side; by default each layer's own.
        global_at: positions of the global tokens.
        full: every token sees every other, as if the window were as wide as the text.
        progress: told after every layer.

    Raises:
        InputEmpty, InputTooLong: no token, or more than the model has positions for.
        OutOfRange: a position outside the text.
        NoAttentionMatrix: the model is no Longformer.
    """
    _, _, limit = shape_of(model)
    check(len(ids), limit, (*positions, *global_at))
    spent = 0.0

    def attend(own: Any, hidden: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        nonlocal spent
        started = perf_counter()
        if full:
            context = torch.empty_like(query)
            for head in range(query.shape[1]):  # one after the other: the scores of all at once would not fit
                context[0, head] = by_mask(query[0, head], key[0, head], value[0, head], None)[0]
        else:
            context = by_blocks(query, key, value, _reach(own, side), global_at, fused=False)
        if global_at:
            context[:, :, list(global_at)] = _of_global(own, hidden, global_at)[0]
        spent += perf_counter() - started
        return context

    began = perf_counter()
    hidden = _through(model, torch.tensor([list(ids)]), attend, progress)
    logits: Tensor = model.lm_head(hidden[0, list(positions)])
    return Run(logits.float().numpy().copy(), perf_counter() - began, spent, {})


@torch.inference_mode()
def attention_peak(model: Any, ids: Sequence[int], side: int | None) -> int:
    """Tensor memory, in bytes, that one head of the first layer holds at its peak; ``side`` None is full attention."""
    from core.sparse.memory import measure_peak

    _, heads, limit = shape_of(model)
    check(len(ids), limit)
    hidden = model.longformer.embeddings(input_ids=torch.tensor([list(ids)]))
    own = model.longformer.encoder.layer[0].attention.self
    parts = [_split(part(hidden), heads)[:, :1].contiguous() for part in (own.query, own.key, own.value)]
    if side is None:
        return measure_peak(lambda: by_mask(parts[0], parts[1], parts[2], None))[1]
    return measure_peak(lambda: by_blocks(parts[0], parts[1], parts[2], side, fused=False))[1]


@torch.inference_mode()
def encode(model: Any, ids: Tensor, side: int | None = None, global_at: Sequence[int] = GLOBAL) -> Encoded:
    """All attention weights over a short text as whole matrices; ``ids`` is (1, n)."""
    shape_of(model)
    kept: list[Tensor] = []

    def attend(own: Any, hidden: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        context, weights = by_mask(query, key, value, allowed(ids.shape[1], _reach(own, side), global_at))
        if global_at:
            context[:, :, list(global_at)], weights[:, :, list(global_at)] = _of_global(own, hidden, global_at)
        kept.append(weights)
        return context

    _through(model, ids, attend)
    return Encoded(tuple(kept))


def _split(vectors: Tensor, heads: int) -> Tensor:
    """(R, n, h) to (R, H, n, d)."""
    rows, n, _ = vectors.shape
    return vectors.view(rows, n, heads, -1).transpose(1, 2)


def _joined(context: Tensor) -> Tensor:
    """(R, H, n, d) to (R, n, h)."""
    return context.transpose(1, 2).flatten(2)
