"""An encoder run over its own modules, with an attention that is chosen before each call and never changes the model.

Many visitors share an instance, so it is only read: its embeddings, projections, feed-forward parts and head are
called, and the attention between them is computed here, in plain matrix products. A fused kernel would be faster and
use less memory, for full attention too, but it would not show what is counted.

Tensor memory is tracked operation by operation: tracemalloc counts only Python objects, the process's resident size
hardly ever shrinks, and torch's profiler counts what other visitors allocate at the same time. A storage that an
operation of this thread allocates counts until its last tensor is freed. What an operation allocates and frees
internally does not count.

Legend: R rows, n tokens, h hidden size, H heads, d head dimension, L layers.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputEmpty, InputTooLong, OutOfRange
from core.lazy import Tensor, torch
from core.run.model import Model, Module

Logits = NDArray[np.float32]
"""(positions, vocabulary)."""
Attend = Callable[[int, Any, Tensor, Tensor, Tensor, Tensor], Tensor]
"""(layer, its attention module, states (R, n, h), query, key, value (R, H, n, d)) to the context (R, H, n, d)."""
Progress = Callable[[int, int], None]
"""Called after each layer with (layers done, layers in all); what it raises stops the run."""


def by_mask(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Context (..., n, d) and weights (..., n, m) where ``mask`` (n, m) is True, everywhere without one."""
    scores = (query @ key.transpose(-1, -2)).mul_(query.shape[-1] ** -0.5)
    weights = torch.softmax(scores if mask is None else scores.masked_fill(~mask, -torch.inf), dim=-1)
    return weights @ value, weights


def head_by_head(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Full attention of one row, one head after the other: the scores of all heads at once would not fit."""
    query, key, value = (part.contiguous() for part in (query, key, value))  # each head's rows side by side
    context = torch.empty_like(query)
    for head in range(query.shape[1]):
        context[0, head] = by_mask(query[0, head], key[0, head], value[0, head], None)[0]
    return context


def split_heads(vectors: Tensor, heads: int) -> Tensor:
    """(R, n, h) to (R, H, n, d)."""
    rows, n, _ = vectors.shape
    return vectors.view(rows, n, heads, -1).transpose(1, 2)


def last_states(model: Model, ids: Tensor, attend: Attend, progress: Progress | None = None) -> Tensor:
    """(R, n) ids without padding to (R, n, h) last hidden states of a model with BERT's layers."""
    heads = int(model.config.num_attention_heads)
    hidden: Tensor = model.base_model.embeddings(input_ids=ids)
    layers = model.base_model.encoder.layer
    for index, layer in enumerate(layers):
        attention = layer.attention.self
        query, key, value = (
            split_heads(part(hidden), heads) for part in (attention.query, attention.key, attention.value)
        )
        context = attend(index, attention, hidden, query, key, value)
        after = layer.attention.output(context.transpose(1, 2).flatten(2), hidden)
        hidden = layer.output(layer.intermediate(after), after)
        if progress is not None:
            progress(index + 1, len(layers))
    return hidden


def logits_at(
    model: Model, head: Module, ids: Sequence[int], positions: Sequence[int], attend: Attend, progress: Progress | None
) -> Logits:
    """The logits that ``head`` gives at ``positions`` after one pass over a text."""
    with torch.inference_mode():
        hidden = last_states(model, torch.tensor([list(ids)], dtype=torch.long), attend, progress)
        logits: Tensor = head(hidden[0, list(positions)])
        return logits.float().numpy().copy()


def first_head(model: Model, ids: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value (1, 1, n, d) of the first layer's first head: enough to measure what a head holds."""
    with torch.inference_mode():
        hidden = model.base_model.embeddings(input_ids=torch.tensor([list(ids)]))
        attention, heads = model.base_model.encoder.layer[0].attention.self, int(model.config.num_attention_heads)
        query, key, value = (
            split_heads(part(hidden), heads)[:, :1].contiguous()
            for part in (attention.query, attention.key, attention.value)
        )
        return query, key, value


def check(n: int, limit: int, positions: Sequence[int] = ()) -> None:
    """Raise InputEmpty, InputTooLong or OutOfRange for a text of ``n`` tokens and these positions."""
    if n == 0:
        raise InputEmpty("There is no text to read. Type some, or take one of the samples.")
    if n > limit:
        raise InputTooLong(f"The text has {n:,} tokens and this model has {limit:,} positions. Shorten the text.")
    if any(not 0 <= position < n for position in positions):
        raise OutOfRange(f"The text has {n:,} tokens; a position outside of it was requested.")


def measure_peak(call: Callable[[], object]) -> int:
    """The peak tensor memory in bytes that ``call`` allocates.

    Only this thread's operations count.
    """
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    held = peak = 0
    users: Counter[int] = Counter()
    earlier: set[int] = set()

    def address(tensor: Tensor) -> int:
        return tensor.untyped_storage().data_ptr()

    def release(storage: int, size: int) -> None:
        nonlocal held
        users[storage] -= 1
        held -= 0 if users[storage] else size

    def tensors(values: object) -> list[Tensor]:
        return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]

    class Tracker(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self,
            func: Callable[..., object],
            types: object,
            args: tuple[object, ...] = (),
            kwargs: dict[str, object] | None = None,
        ) -> object:
            nonlocal held, peak
            earlier.update(address(leaf) for leaf in tensors((args, kwargs)) if not users[address(leaf)])
            result = func(*args, **(kwargs or {}))
            for tensor in tensors(result):
                storage, size = address(tensor), tensor.untyped_storage().nbytes()
                if storage in earlier or not size:  # allocated before, so not counted
                    continue
                held += 0 if users[storage] else size
                peak = max(peak, held)
                users[storage] += 1
                weakref.finalize(tensor, release, storage, size)
            return result

    with Tracker():  # type: ignore[no-untyped-call]
        call()
    return peak
