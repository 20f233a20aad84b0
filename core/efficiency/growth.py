r"""The cost of generating a token as the text grows, with and without the key-value cache.

A layer of hidden size d projects every token to query, key and value, attends, and applies its feed-forward network.
For the token after n others:

==================  ==================================  ===============================================
                    with the cache                      without
==================  ==================================  ===============================================
tokens computed     1                                   n + 1
products of d × d   a constant number                   the same number for each of the n + 1
scores a head       n + 1                               (n + 1)²
==================  ==================================  ===============================================

Over a text of N tokens the cache reduces the tokens computed from :math:`N (N + 1) / 2` to N, and takes
:math:`2 L d_{kv}` values of memory per token, with L layers and keys of dimension :math:`d_{kv}`.

Both measurements alternate over the same ids, so that other load on the machine affects both; the median of several
rounds is reported. A model with a segment memory (Transformer-XL) uses that memory instead of a cache.
"""

from __future__ import annotations

import inspect
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.decoding.reader import Reader
from core.language.segments import has_memory
from core.lazy import torch

TURNS = 7
WARM_UP = 1
POINTS = 9
LEAST = 8
_STATES = {"cache_params", "state"}
"""What a recurrent model's forward pass calls the state that it carries: Mamba and xLSTM, RWKV."""


@dataclass(frozen=True, slots=True)
class Point:
    """Seconds for one token after a text of ``tokens``; medians of `TURNS`, with the fastest and the slowest."""

    tokens: int
    cached: float
    cached_range: tuple[float, float]
    whole: float
    whole_range: tuple[float, float]

    @property
    def times(self) -> float:
        """Ratio of the seconds without the cache to those with it."""
        return self.whole / self.cached


def lengths(most: int) -> tuple[int, ...]:
    """Up to `POINTS` lengths of text, evenly spread from `LEAST` to ``most``."""
    if most <= LEAST:
        return (max(1, most),)
    count = min(POINTS, most - LEAST + 1)
    return tuple(sorted({round(LEAST + (most - LEAST) * i / (count - 1)) for i in range(count)}))


def caches(model: Any) -> bool:
    """Whether the model reuses keys and values, or the states of its memory, at the next step."""
    if has(model.config, "hashing"):  # it hashes the whole text again at every step
        return False
    own_state = has(model.config, "state in modules")
    return has_memory(model) or ("past_key_values" in inspect.signature(model.forward).parameters and not own_state)


def bytes_a_token(model: Any, ids: Sequence[int], source: Sequence[int] | None = None) -> int | None:
    """Bytes of keys and values per token, measured in the decoder's cache.

    None without a cache, and for a model with a segment memory, whose size is bounded.
    """
    if has_memory(model) or not caches(model):
        return None
    reader = Reader(model, source)
    reader.read(torch.tensor([list(ids[:4])], device=model.device))
    return round(reader.cached_bytes() / len(ids[:4]))


def measure(
    checkpoint: Checkpoint,
    ids: Sequence[int],
    at: Sequence[int],
    *,
    source: Sequence[int] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Point]:
    """A point for each length in ``at``, as soon as it is measured; stop iterating to stop.

    Args:
        ids: the text, longer than the largest length by one token at least.
        at: lengths in ascending order.
        source: what the encoder reads; it is read once, before the clock starts.
        clock: seconds; replaced in tests.

    Raises:
        InputUnusable: the model has neither a cache nor a memory.
    """
    model: Any = checkpoint.model
    if not caches(model):
        recurrent = has(model.config, "state in modules") or _STATES & set(inspect.signature(model.forward).parameters)
        raise InputUnusable(
            f"{checkpoint.spec.name} carries a state of a fixed size from token to token, which does not grow with the "
            "text as a KV cache does. Choose a decoder with attention in every layer."
            if recurrent
            else f"{checkpoint.spec.name} has no KV cache in transformers: it processes the whole text again at every "
            "step, so there is no cache to turn off. Choose another decoder."
        )
    return _measured(model, list(ids), at, source, clock)


def _measured(
    model: Any, ids: list[int], at: Sequence[int], source: Sequence[int] | None, clock: Callable[[], float]
) -> Iterator[Point]:
    with_cache = Reader(model, source)
    read = 0
    for length in at:
        with_cache.read(torch.tensor([ids[read:length]], device=model.device))
        read = length
        next_id = torch.tensor([ids[length : length + 1]], device=model.device)
        every = torch.tensor([ids[: length + 1]], device=model.device)
        taken: tuple[list[float], list[float]] = ([], [])
        for repetition in range(WARM_UP + TURNS):
            next_one, anew = with_cache.replay(next_id), Reader(model, source, cached=False)
            start = clock()
            next_one()
            middle = clock()
            anew.read(every)
            end = clock()
            if repetition >= WARM_UP:
                taken[0].append(middle - start)
                taken[1].append(end - middle)
        cached, whole = taken
        yield Point(
            length,
            statistics.median(cached),
            (min(cached), max(cached)),
            statistics.median(whole),
            (min(whole), max(whole)),
        )
