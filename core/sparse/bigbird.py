"""BigBird's encoder run over its own modules, with an attention that is chosen before the call and never changes.

transformers 5.23 decides by length: a text of at most (5 + 2r) b tokens switches the *instance* to full attention for
good (``BigBirdModel.forward``), and in evaluation its random blocks are all block 0. An instance that many visitors
share must not remember the last visitor, so this forward pass only reads the model: it calls its embeddings, its
projections, its feed-forward parts and its head, and computes the attention between them itself
(:mod:`core.sparse.bigbird`). Sparse attention works at any length here: where few blocks are left, fewer are drawn.

Zaheer et al. 2020, arXiv 2007.14062. Legend: n tokens, L layers, H heads, d head width, h hidden width.

One head of attention, three times: full, sparse by mask (the reference), sparse by gathering blocks (the real one).

    full       softmax(q kᵀ / √d) v                                          n² scores
    by mask    the same, with −∞ where the pattern says no                   n² scores, of which few count
    gathered   for each block of queries, only the blocks of keys it sees    about (w + g + r) b n scores

The last two give the same numbers; a test holds them together. All of it is plain matrix products: a fused kernel would
be faster and use less memory, for full attention too, but it would not show what is counted here.

Legend: n tokens, d head width, b block size, B blocks, R rows of blocks, M blocks seen by a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix, OutOfRange
from core.sparse.layout import NONE, Sparsity
from core.sparse.windowed import by_mask

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, query, key, value (H, n, d)) to the context (H, n, d)."""
Progress = Callable[[int, int], None]
"""Called after each layer with (layers done, layers in all); what it raises stops the run."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What one pass gave."""

    logits: NDArray[np.float32]  # (asked positions, vocabulary)
    seconds: float
    """Wall-clock time of the whole pass."""
    attention_seconds: float
    """Of which: scores, softmax and weighted values, without the projections."""
    attention: dict[tuple[int, int], NDArray[np.float32]]
    """(layer, head) -> weights (n, n), for the pairs that were asked for; rows sum to one."""


@lru_cache(maxsize=2)
def _gathers(sparsity: Sparsity, n: int, layers: int, heads: int) -> tuple[tuple[Gather, ...], ...]:
    """The index tensors of a whole model. Values depend on the arguments alone, so visitors may share them."""
    shared = sparsity.draw == "library" or not sparsity.random_blocks
    if shared:
        one = Gather(sparsity, n, 0, 0)
        return ((one,) * heads,) * layers
    return tuple(tuple(Gather(sparsity, n, layer, head) for head in range(heads)) for layer in range(layers))


@lru_cache(maxsize=16)
def _times(sparsity: Sparsity, total: int, layers: int, heads: int) -> Tensor:
    """(L, H, B, B) how often a block of keys counts for a block of queries, of ``total`` blocks; 0 for never.

    Kept, as texts of about the same length have the same blocks; it is never written to.
    """
    n = total * sparsity.block_size

    def drawn(layer: int, head: int) -> NDArray[np.float32]:
        times: NDArray[np.float32] = (sparsity.kinds(n, layer, head) != NONE).astype(np.float32)
        if sparsity.draw == "library":  # its copies of block 0
            times[np.setdiff1d(np.arange(total), sparsity.global_at(total)), 0] += sparsity.random_blocks
        return times

    return torch.from_numpy(np.array([[drawn(layer, head) for head in range(heads)] for layer in range(layers)]))


def seen(sparsity: Sparsity, n: int, layers: int, heads: int) -> NDArray[np.bool_]:
    """(L, H, n, n) True where a token (row) sees another, in every layer and head of a model."""
    blocks = _times(sparsity, sparsity.count_blocks(n), layers, heads) > 0
    found: NDArray[np.bool_] = _spread(blocks, sparsity.block_size)[..., :n, :n].numpy()
    return found


def _spread(blocks: Tensor, size: int) -> Tensor:
    """(..., B, B) numbers of blocks to (..., B b, B b) of tokens; far faster than to index them."""
    total = blocks.shape[-1]
    wide = blocks[..., :, None, :, None].expand(*blocks.shape[:-1], size, total, size)
    return wide.reshape(*blocks.shape[:-2], total * size, total * size)


def shape_of(model: Any) -> tuple[int, int, int]:
    """(layers, heads, positions) of a BigBird model.

    Raises:
        NoAttentionMatrix: when the model is no BigBird encoder with a masked-token head.
    """
    config = model.config
    if getattr(config, "model_type", "") != "big_bird" or not hasattr(model, "cls") or config.is_decoder:
        raise NoAttentionMatrix(
            "Sparse and full attention can be compared on BigBird models with a masked-token head only. "
            f"This one is of the type {str(getattr(config, 'model_type', 'unknown'))[:40]!r}."
        )
    return int(config.num_hidden_layers), int(config.num_attention_heads), int(config.max_position_embeddings)


@torch.inference_mode()
def forward(
    model: Any,
    ids: Sequence[int],
    positions: Sequence[int],
    sparsity: Sparsity | None,
    *,
    keep: Sequence[tuple[int, int]] = (),
    progress: Progress | None = None,
) -> Run:
    """One pass of a ``BigBirdForMaskedLM`` over one text; the model is only read.

    Args:
        model: the shared instance, in evaluation mode, whatever its own ``attention_type``.
        ids: the token ids, special tokens included; no padding.
        positions: where predictions are wanted.
        sparsity: BigBird's attention with these settings, or None for full attention.
        keep: (layer, head) pairs, counted from 0, whose weights are wanted (n × n numbers each).
        progress: told after every layer.

    Raises:
        InputEmpty, InputTooLong: no token, or more than the model has positions for.
        OutOfRange: a position, layer or head that does not exist.
        NoAttentionMatrix: the model is no BigBird.
    """
    layers, heads, limit = shape_of(model)
    n = len(ids)
    check(n, limit, positions)
    for layer, head in keep:
        if not (0 <= layer < layers and 0 <= head < heads):
            raise OutOfRange(
                f"This model has {layers} layers of {heads} heads; layer {layer}, head {head} is not there."
            )
    assert not model.training
    gathers = None if sparsity is None else _gathers(sparsity, n, layers, heads)
    spent = 0.0
    kept: dict[tuple[int, int], NDArray[np.float32]] = {}

    def attend(index: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        nonlocal spent
        context = torch.empty_like(query)
        started = perf_counter()
        for head in range(heads):  # one after the other: the scores of all at once would not fit
            wanted = (index, head) in keep
            q, k, v = query[head], key[head], value[head]
            weights: Tensor | None
            if gathers is None:
                context[head], weights = by_mask(q, k, v, None)
            else:
                context[head], weights = sparse_attention(q, k, v, gathers[index][head], keep=wanted)
            if wanted:
                assert weights is not None
                kept[index, head] = weights.float().numpy().copy()
            del weights
        spent += perf_counter() - started
        return context

    began = perf_counter()
    hidden = _through(model, ids, attend, progress)
    logits: Tensor = model.cls(hidden[list(positions)])
    return Run(
        logits=logits.float().numpy().copy(),
        seconds=perf_counter() - began,
        attention_seconds=spent,
        attention=kept,
    )


def _through(model: Any, ids: Sequence[int], attend: Attend, progress: Progress | None = None) -> Tensor:
    """The last states (n, h)."""
    layers, heads, _ = shape_of(model)
    hidden: Tensor = model.bert.embeddings(input_ids=torch.tensor([list(ids)], dtype=torch.long))[0]  # (n, h)
    for index, layer in enumerate(model.bert.encoder.layer):
        own = layer.attention.self
        query, key, value = (_by_head(part(hidden), heads) for part in (own.query, own.key, own.value))  # (H, n, d)
        joined = attend(index, query, key, value).transpose(0, 1).reshape(len(hidden), -1)  # (n, h)
        after = layer.attention.output(joined, hidden)
        hidden = layer.output(layer.intermediate(after), after)
        if progress is not None:
            progress(index + 1, layers)
    return hidden


@torch.inference_mode()
def attention_peak(model: Any, ids: Sequence[int], sparsity: Sparsity | None) -> int:
    """Tensor memory, in bytes, that one head of the first layer holds at the peak of its attention, measured."""
    from core.sparse.memory import measure_peak

    _, heads, limit = shape_of(model)
    check(len(ids), limit)
    hidden = model.bert.embeddings(input_ids=torch.tensor([list(ids)], dtype=torch.long))[0]
    own = model.bert.encoder.layer[0].attention.self
    query, key, value = (_by_head(part(hidden), heads)[0] for part in (own.query, own.key, own.value))  # (n, d)
    if sparsity is None:
        return measure_peak(lambda: by_mask(query, key, value, None))[1]
    gather = Gather(sparsity, len(ids), 0, 0)
    return measure_peak(lambda: sparse_attention(query, key, value, gather))[1]


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Every attention matrix of one pass, as transformers would return them."""

    attentions: tuple[Tensor, ...]  # L tensors of shape (1, H, n, n)


@torch.inference_mode()
def encode(
    model: Any, ids: Tensor, mode: Literal["full", "sparse"] = "full", sparsity: Sparsity | None = None
) -> Encoded:
    """All attention weights over a short text; ``ids`` has shape (1, n). Takes L × H × n × n numbers of memory.

    For ``mode="sparse"`` the settings are ``sparsity``, or the model's own block size and number of random blocks. As
    whole matrices are wanted, all heads of a layer are computed at once and what a block does not see is masked; a test
    holds them to what :func:`forward` gathers.

    Raises:
        InputEmpty, InputTooLong, NoAttentionMatrix: as :func:`forward`.
    """
    layers, heads, limit = shape_of(model)
    n = ids.shape[1]
    check(n, limit)
    bias, size = None, 1
    if mode == "sparse":
        chosen = sparsity or Sparsity(block_size=model.config.block_size, random_blocks=model.config.num_random_blocks)
        times = _times(chosen, chosen.count_blocks(n), layers, heads)
        size = chosen.block_size
        bias = None if bool((times == 1).all()) else times.log()
    kept: list[Tensor] = []

    def attend(index: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = (query @ key.mT).mul_(query.shape[-1] ** -0.5)
        if bias is not None:
            scores += _spread(bias[index], size)[:, :n, :n]
        weights = torch.softmax(scores, dim=-1)
        kept.append(weights[None])
        return weights @ value

    _through(model, ids[0].tolist(), attend)
    return Encoded(tuple(kept))


def _by_head(states: Tensor, heads: int) -> Tensor:
    """(n, h) -> (H, n, d), each head's rows next to each other in memory."""
    return states.view(len(states), heads, -1).transpose(0, 1).contiguous()


def check(n: int, limit: int, positions: Sequence[int] = ()) -> None:
    """Refuse a text of ``n`` tokens that is empty or too long, and positions outside of it."""
    if n == 0:
        raise InputEmpty("There is no text to read. Type some, or take one of the samples.")
    if n > limit:
        raise InputTooLong(f"The text has {n:,} tokens and this model has {limit:,} positions. Shorten the text.")
    if any(not 0 <= position < n for position in positions):
        raise OutOfRange(f"The text has {n:,} tokens; a position outside of it was requested.")


class Gather:
    """The index tensors of one draw at one length, made once and used by every call with that draw."""

    def __init__(self, sparsity: Sparsity, n: int, layer: int, head: int) -> None:
        rows, seen = sparsity.table(n, layer, head)
        size, total = sparsity.block_size, sparsity.count_blocks(n)
        self.n, self.size, self.total = n, size, total
        self.ends = torch.tensor(sparsity.global_at(total), dtype=torch.long)  # (G,)
        self.rows = torch.from_numpy(rows)  # (R,)
        table = torch.from_numpy(seen)  # (R, M)
        self.seen = table.clamp(min=0)
        position = self.seen[:, :, None] * size + torch.arange(size)  # (R, M, b)
        unseen = (table < 0)[:, :, None] | (position >= n)
        self.hidden = unseen.flatten(1)[:, None, :]  # (R, 1, M b): True where no key is


def sparse_attention(
    query: Tensor, key: Tensor, value: Tensor, gather: Gather, *, keep: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Block-sparse attention of one head, from the blocks that each row sees alone.

    Args:
        query, key, value: shape (n, d).
        gather: the blocks, from :class:`Gather` for the same n.
        keep: also return the weights in their true shape, which takes n × n numbers.

    Returns:
        The context (n, d), and the weights (n, n) or None. A block that the library's draw lists several times counts
        several times in the softmax; its weights are added up.
    """
    n, d = query.shape
    size, total = gather.size, gather.total
    fill = total * size - n
    scale = 1 / math.sqrt(d)
    query_blocks = pad(query, (0, 0, 0, fill)).view(total, size, d)
    key_blocks = pad(key, (0, 0, 0, fill)).view(total, size, d)
    value_blocks = pad(value, (0, 0, 0, fill)).view(total, size, d)

    context = query.new_empty(total, size, d)
    dense = query.new_zeros(total, size, total, size) if keep else None
    if len(gather.rows):
        keys = key_blocks[gather.seen].flatten(1, 2)  # (R, M b, d)
        scores = torch.bmm(query_blocks[gather.rows], keys.transpose(1, 2)).mul_(scale)  # (R, b, M b)
        del keys
        weights = torch.softmax(scores.masked_fill_(gather.hidden, -math.inf), dim=-1)
        del scores
        context[gather.rows] = torch.bmm(weights, value_blocks[gather.seen].flatten(1, 2))
        if dense is not None:
            split = weights.view(len(gather.rows), size, -1, size)  # (R, b, M, b)
            place = gather.seen[:, None, :, None].expand_as(split)
            dense[gather.rows] = query.new_zeros(len(gather.rows), size, total, size).scatter_add_(2, place, split)
    if len(gather.ends):
        wide, weights = by_mask(query_blocks[gather.ends].flatten(0, 1), key, value, None)  # (G b, n)
        context[gather.ends] = wide.view(-1, size, d)
        if dense is not None:
            dense[gather.ends] = pad(weights, (0, fill)).view(-1, size, total, size)
    matrix = None if dense is None else dense.view(total * size, total * size)[:n, :n]
    return context.view(total * size, d)[:n], matrix
