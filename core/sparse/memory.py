"""How much tensor memory a computation holds at its peak, watched operation by operation.

tracemalloc sees Python's objects alone, the process's resident size hardly ever shrinks, and torch's profiler counts
what other visitors allocate in the same moment. So every operation of this thread is watched instead: a storage that
one of them makes counts from then on until the last tensor on it is gone. What an operation uses inside itself and
frees before it returns is not seen.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

T = TypeVar("T")


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the storages that are alive; ``peak`` is the most there ever was, in bytes."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.held = self.peak = 0
        self._users: Counter[int] = Counter()
        self._theirs: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for leaf in tree_leaves((args, kwargs)):
            if isinstance(leaf, torch.Tensor) and not self._users[self._address(leaf)]:
                self._theirs.add(self._address(leaf))  # was there before: not ours to count
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._see(leaf)
        return result

    @staticmethod
    def _address(tensor: torch.Tensor) -> int:
        return tensor.untyped_storage().data_ptr()

    def _see(self, tensor: torch.Tensor) -> None:
        address, size = self._address(tensor), tensor.untyped_storage().nbytes()
        if address in self._theirs or not size:
            return
        if not self._users[address]:
            self.held += size
            self.peak = max(self.peak, self.held)
        self._users[address] += 1
        weakref.finalize(tensor, self._release, address, size)

    def _release(self, address: int, size: int) -> None:
        self._users[address] -= 1
        if not self._users[address]:
            self.held -= size


def measure_peak(call: Callable[[], T]) -> tuple[T, int]:
    """``call()``, and the tensor memory in bytes that it held at its peak beyond what was there before.

    Watching slows the call down: measure seconds in another run. Only this thread's operations count.
    """
    with _Watch() as watch:
        result = call()
    return result, watch.peak
