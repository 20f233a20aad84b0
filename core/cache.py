"""One cache for what was computed: the latest results whose bytes fit, shared by all visitors, each computed once.

A key is a value: the function's name and its arguments, or whatever tells one result from every other. Results are
shared as they are, nobody gets a copy, so the arrays in them become read-only when they are kept.
"""

from __future__ import annotations

import inspect
import math
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Set
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")
State = Callable[[Mapping[str, Any]], Hashable]

HOUR = 3600.0
_MISSING = object()


class Cache:
    """Results by their keys; the least recently used leave when all together have more than ``most`` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._kept: OrderedDict[Hashable, tuple[Any, int, float]] = OrderedDict()
        """Each with its bytes and the second of the monotonic clock from which it counts no more."""
        self._underway: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, default: Any = None) -> Any:
        """What is kept under ``key``."""
        with self._lock:
            value, _, until = self._kept.get(key, (default, 0, math.inf))
            if time.monotonic() >= until:
                self._drop(key)
                return default
            if key in self._kept:
                self._kept.move_to_end(key)
            return value

    def put(self, key: Hashable, value: Any, seconds: float = math.inf) -> None:
        """Keep ``value`` for so many seconds, while there is room; the latest is kept whatever it weighs."""
        size = weigh(value) + weigh(key)
        with self._lock:
            self._drop(key)
            self._kept[key] = value, size, time.monotonic() + seconds
            self._held += size
            while self._held > self._most and len(self._kept) > 1:
                self._drop(next(iter(self._kept)))

    def forget(self, key: Hashable) -> None:
        """Keep nothing under ``key``."""
        with self._lock:
            self._drop(key)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._held = 0

    def found(self, key: Hashable, compute: Callable[[], T], seconds: float = math.inf) -> T:
        """What is kept under ``key``, or what ``compute`` finds, which is kept.

        Whoever asks first computes; whoever asks meanwhile waits for the same result, or for what went wrong, which is
        not kept.
        """
        known: Any = self.get(key, _MISSING)
        if known is not _MISSING:
            return known  # type: ignore[no-any-return]
        with self._lock:
            future = self._underway.get(key)
            mine = future is None
            if future is None:
                future = self._underway[key] = Future()
        if not mine:
            return future.result()  # type: ignore[no-any-return]
        try:
            value = compute()
            self.put(key, value, seconds)
        except BaseException as error:
            with self._lock:
                del self._underway[key]
            future.set_exception(error)
            raise
        with self._lock:
            del self._underway[key]
        future.set_result(value)
        return value

    def wrap(
        self,
        compute: Callable[P, T],
        seconds: float = HOUR,
        state: Callable[[Mapping[str, Any]], Hashable] | None = None,
    ) -> Callable[P, T]:
        """``compute``, with what it finds kept by its name and its arguments, each hashable or told by its ``repr``.

        ``state`` gives, for the arguments, what else the result depends on.
        """
        named = inspect.signature(compute)
        name = f"{compute.__module__}.{compute.__qualname__}"

        @wraps(compute)
        def asked(*given: P.args, **more: P.kwargs) -> T:
            bound = named.bind(*given, **more)
            bound.apply_defaults()
            told = tuple((argument, _hashable(value)) for argument, value in bound.arguments.items())
            key = (name, state(bound.arguments) if state else None, *told)
            return self.found(key, lambda: compute(*given, **more), seconds)

        return asked

    def _drop(self, key: Hashable) -> None:
        if key in self._kept:
            self._held -= self._kept.pop(key)[1]


def _hashable(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value  # type: ignore[no-any-return]


def weigh(value: Any) -> int:
    """About how many bytes ``value`` holds: arrays, tensors, texts, collections and dataclasses, each object once.

    What is of another kind counts as its own object alone: it may belong to others, as a model does. Arrays become
    read-only.
    """
    seen: set[int] = set()
    waiting, total = [value], 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        if isinstance(one, np.ndarray):
            one.setflags(write=False)
            if isinstance(one.base, np.ndarray):  # a view, which holds all that it is a part of
                waiting.append(one.base)
            elif one.base is not None:  # another library's memory
                total += one.nbytes
        elif isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | Set):
            waiting += one
        elif is_dataclass(one) and not isinstance(one, type):
            waiting += [getattr(one, field.name) for field in fields(one)]
        elif hasattr(one, "untyped_storage"):
            total += one.untyped_storage().nbytes()
    return total
