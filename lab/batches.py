"""The batches of an epoch: a pure function of seed and epoch number.

Items of a batch share a key (their length, or the padded lengths of a pair), so there is hardly any padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.tokens import Ints

MEASURED_TOKENS = 4096
"""Positions of an evaluation batch."""


def tensors(device: torch.device | str = "cpu", **arrays: np.ndarray[Any, Any]) -> dict[str, Tensor]:
    """Arrays as tensors on ``device``."""
    return {name: torch.from_numpy(value).to(device) for name, value in arrays.items()}


def round_up(lengths: Ints, multiple: int = 4) -> Ints:
    """Each length rounded up to a multiple."""
    return -(-lengths // multiple) * multiple


def sample_epoch(count: int, passes: float, rng: np.random.Generator) -> Ints:
    """Item numbers of one epoch: each item ``floor(passes)`` times, and a random share for the fraction."""
    full_passes = int(passes)
    extra = rng.permutation(count)[: round((passes - full_passes) * count)]
    return np.concatenate([np.tile(np.arange(count), full_passes), extra]).astype(np.int64)


def mix(origin: Ints, passes: Sequence[float], rng: np.random.Generator) -> Ints:
    """Item numbers of one epoch over several sources, each by `sample_epoch`; ``origin[i]`` is the source of item i."""
    members = [np.flatnonzero(np.asarray(origin) == number) for number in range(len(passes))]
    return np.concatenate(
        [items[sample_epoch(len(items), count, rng)] for items, count in zip(members, passes, strict=True)]
    )


def plan(
    items: Ints, keys: Ints, cost: Ints, step_tokens: int, rng: np.random.Generator, *, least: float = 0.5
) -> list[Ints]:
    """Batches of one epoch in random order.

    ``items[i]`` has key ``keys[i]`` and costs ``cost[i]`` positions (equal for equal keys). A batch has items of one
    key that together cost at most ``step_tokens``; the remaining items of a key are a smaller batch if they fill a
    share of ``least``, else they are dropped in this epoch.
    """
    order = rng.permutation(len(items))
    order = order[np.argsort(keys[order], kind="stable")]
    bounds = np.flatnonzero(np.diff(keys[order])) + 1
    batches: list[Ints] = []
    for group in np.split(order, bounds):
        size = max(1, step_tokens // int(cost[group[0]]))
        for start in range(0, len(group), size):
            part = group[start : start + size]
            if len(part) >= least * size:
                batches.append(items[part])
    return [batches[i] for i in rng.permutation(len(batches))]


def measured(items: Ints, keys: Ints, cost: Ints | None = None) -> Iterator[tuple[Ints, list[np.random.Generator]]]:
    """All items in batches, always the same, each item with its own generator."""
    batches = plan(items, keys, keys if cost is None else cost, MEASURED_TOKENS, np.random.default_rng(0), least=0.0)
    return ((index, [np.random.default_rng([0, 3, int(item)]) for item in index]) for index in batches)


def some(count: int, most: int) -> Ints:
    """About ``most`` of ``count`` items, evenly spaced."""
    return np.arange(0, count, max(1, count // most), dtype=np.int64)


class Epochs:
    """The batch of any step; each epoch is planned from the seed and its number alone.

    Args:
        seed: the recipe's.
        make: plans one epoch, deterministically in the generator.
    """

    def __init__(self, seed: int, make: Callable[[np.random.Generator], Sequence[Ints]]) -> None:
        self.seed = seed
        self.make = make
        self._start_over()

    def _start_over(self) -> None:
        self._epoch, self._first = -1, 0
        self._plan: Sequence[Ints] = ()

    def __getitem__(self, step: int) -> Ints:
        """Item numbers of the batch of ``step``, counted from 0."""
        if step < self._first:
            self._start_over()
        while step >= self._first + len(self._plan):
            self._first += len(self._plan)
            self._epoch += 1
            self._plan = self.make(np.random.default_rng([self.seed, self._epoch]))
        return self._plan[step - self._first]
