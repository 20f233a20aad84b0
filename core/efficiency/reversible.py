r"""Activations that training stores by depth, measured, with and without reversible layers (Kitaev et al. 2020).

Without them autograd stores what the backward pass of every layer needs. Reversible layers
:math:`y_1 = x_1 + f(x_2),\; y_2 = x_2 + g(y_1)` need the last outputs alone: the backward pass inverts a layer, runs it
again and frees what it stored, so at most one layer's activations are held beside the two streams.

The layers of a live Reformer run with gradients on a copy, and repeat where the depth exceeds theirs: the bytes do not
depend on the weights. Counted are the storages that autograd saves, parameters left out, each once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from core.checkpoints.spec import Checkpoint
from core.lazy import Tensor, torch
from core.run.odd import hashing
from core.sparse import reformer
from core.turns import turns

DEPTHS = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that training stores for one text at a depth."""

    depth: int
    plain: int
    reversible: int


def stored_by_depth(checkpoint: Checkpoint, ids: tuple[int, ...], depths: Sequence[int] = DEPTHS) -> tuple[Stored, ...]:
    """The bytes at each depth for a text (`core.efficiency.buckets.prepare`) of a Reformer."""
    model = copy.deepcopy(checkpoint.model).requires_grad_(True)
    weight_pointers = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    run = reformer.HashedPass(model, len(ids), int(model.config.num_hashes), hashing.SEED)
    with torch.no_grad():
        embedded = run.embedded(torch.tensor([list(ids)]))
    count = len(model.reformer.encoder.layers)

    def layer(index: int, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
        turns.step()
        return run.layer(index, first, second)

    def stack(depth: int) -> Callable[[], object]:
        def forward() -> object:
            first = second = embedded.clone().requires_grad_()
            for number in range(depth):
                first, second = layer(number % count, first, second)
            return first, second

        return forward

    def alone(index: int) -> Callable[[], object]:
        return lambda: layer(index, embedded.clone().requires_grad_(), embedded.clone().requires_grad_())

    streams = 2 * embedded.untyped_storage().nbytes()
    single = [saved_bytes(alone(index), weight_pointers) for index in range(count)]
    return tuple(
        Stored(depth, saved_bytes(stack(depth), weight_pointers), streams + max(single[: min(depth, count)]))
        for depth in depths
    )


def saved_bytes(forward: Callable[[], object], without: set[int]) -> int:
    """Bytes of the storages that autograd saves during ``forward``, except those at the addresses ``without``."""
    saved: dict[int, Any] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in without:
            saved[storage.data_ptr()] = storage  # held, so that no address is used twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), torch.enable_grad():
        result = forward()
    total = sum(int(storage.nbytes()) for storage in saved.values())
    del result
    return total
