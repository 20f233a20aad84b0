"""One cache of computed results: bounded in bytes, least recently used first out, shared by all visitors.

A key is a value: the function's name and its arguments, or whatever identifies the result. Results are shared and not
copied, so their arrays become read-only when they are stored. Concurrent requests for one key compute it once.

An evicted value may still be in use, since an open tab holds the data of its downloads. Its arrays count in the budget
until they are freed: the more the tabs hold, the less is stored.
"""

from __future__ import annotations

import inspect
import math
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Set
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from core.turns import turns

P = ParamSpec("P")
T = TypeVar("T")
State = Callable[[Mapping[str, Any]], Hashable]

HOUR = 3600.0
_MISSING = object()


class Cache:
    """Results by key; the least recently used are evicted when the total exceeds ``most()`` bytes."""

    def __init__(self, most: Callable[[], int]) -> None:
        self._most = most
        self._bytes = 0
        self._stored: OrderedDict[Hashable, tuple[Any, int, float]] = OrderedDict()
        """The value, its bytes, and the time of the monotonic clock at which it expires."""
        self._evicted: dict[int, tuple[weakref.ref[NDArray[Any]], int]] = {}
        """The arrays of evicted values by identity, each with its bytes."""
        self._underway: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()

    @property
    def bytes_used(self) -> int:
        """Bytes of all results together, and of evicted ones that are still in use."""
        with self._lock:
            return self._bytes + self._in_use()

    def get(self, key: Hashable, default: object = None) -> Any:
        """The value stored under ``key``; ``default`` where there is none or it has expired."""
        with self._lock:
            value, _, until = self._stored.get(key, (default, 0, math.inf))
            if time.monotonic() >= until:
                self._evict(key)
                return default
            if key in self._stored:
                self._stored.move_to_end(key)
            return value

    def put(self, key: Hashable, value: object, seconds: float = math.inf) -> None:
        """Store ``value`` for ``seconds``, evicting others to make room; the latest is stored whatever its size."""
        freeze(value)
        size, most = weigh(value) + weigh(key), self._most()
        with self._lock:
            self._drop(key)
            self._stored[key] = value, size, time.monotonic() + seconds
            self._bytes += size
            while self._bytes + self._in_use() > most and len(self._stored) > 1:
                self._evict(next(iter(self._stored)))

    def forget(self, key: Hashable) -> None:
        """Delete the value of ``key``, if there is one."""
        with self._lock:
            self._drop(key)

    def clear(self) -> None:
        with self._lock:
            self._stored.clear()
            self._bytes = 0

    def get_or_compute(
        self, key: Hashable, compute: Callable[[], T], seconds: float = math.inf, *, store: bool = True
    ) -> T:
        """The value stored under ``key``; where there is none, that of ``compute``, which is then stored.

        Without ``store``, only callers who come while it is computed share it.

        The first caller computes; concurrent callers wait for the same result. An exception is raised in all of them
        and is not stored. Where the first caller is stopped (its visitor left, or made a newer request), the next one
        computes.
        """
        while True:
            stored = self.get(key, _MISSING)
            if stored is not _MISSING:
                return stored  # type: ignore[no-any-return]
            with self._lock:
                future = self._underway.get(key)
                if future is None:
                    mine = self._underway[key] = Future()
                    break
            with suppress(CancelledError):
                return turns.result(future)  # type: ignore[no-any-return]
        try:
            value = compute()
            if store:
                self.put(key, value, seconds)
        except BaseException as error:
            with self._lock:
                del self._underway[key]
            if isinstance(error, Exception):
                mine.set_exception(error)
            else:  # Streamlit's signals to one visitor's run, which hold what that visitor has typed
                mine.cancel()
                mine.set_running_or_notify_cancel()
            raise
        with self._lock:
            del self._underway[key]
        mine.set_result(value)
        return value

    def wrap(
        self,
        compute: Callable[P, T],
        seconds: float = HOUR,
        state: Callable[[Mapping[str, Any]], Hashable] | None = None,
    ) -> Callable[P, T]:
        """``compute`` with its results cached by its name and arguments, which :func:`by_value` compares.

        ``state`` returns what else the result depends on, given the arguments.
        """
        signature = inspect.signature(compute)
        name = f"{compute.__module__}.{compute.__qualname__}"

        @wraps(compute)
        def cached(*args: P.args, **kwargs: P.kwargs) -> T:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = tuple((argument, by_value(value)) for argument, value in bound.arguments.items())
            key = (name, state(bound.arguments) if state else None, *arguments)
            return self.get_or_compute(key, lambda: compute(*args, **kwargs), seconds)

        return cached

    def _evict(self, key: Hashable) -> None:
        """Drop a value; its arrays count as long as they are in use."""
        for part in _parts(self._stored[key][0]):
            if isinstance(part, np.ndarray) and not isinstance(part.base, np.ndarray):
                self._evicted[id(part)] = weakref.ref(part), part.nbytes
        self._drop(key)

    def _in_use(self) -> int:
        """Bytes of evicted arrays that are still in use."""
        self._evicted = {key: (array, size) for key, (array, size) in self._evicted.items() if array() is not None}
        return sum(size for _, size in self._evicted.values())

    def _drop(self, key: Hashable) -> None:
        if key in self._stored:
            self._bytes -= self._stored.pop(key)[1]


def by_value(value: object) -> Hashable:
    """A key that is equal for equal values, of arrays and collections, too.

    Raises:
        TypeError: an unhashable object of another kind.
    """
    try:
        hash(value)
    except TypeError:
        pass
    else:
        return value
    if isinstance(value, np.ndarray):
        return np.ndarray, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Mapping):
        return type(value), tuple((by_value(name), by_value(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(by_value, value))
    if isinstance(value, Set):
        return type(value), frozenset(map(by_value, value))
    if is_dataclass(value):
        return type(value), tuple(by_value(getattr(value, field.name)) for field in fields(value))
    raise TypeError(f"Results cannot be stored by an argument of {type(value)}: it has no value to compare.")


def freeze(value: object) -> None:
    """Make all arrays of ``value`` read-only: it is shared from now on."""
    for part in _parts(value):
        if isinstance(part, np.ndarray):
            part.setflags(write=False)


def weigh(value: object) -> int:
    """Approximate bytes of ``value``: arrays, tensors, texts, collections and dataclasses, each object once.

    Any other object counts without what it refers to, which may be shared, as a model is.
    """
    total = 0
    for item in _parts(value):
        total += sys.getsizeof(item)
        if isinstance(item, np.ndarray):
            if item.base is not None and not isinstance(item.base, np.ndarray):  # another library's memory
                total += item.nbytes
        elif hasattr(item, "untyped_storage"):
            total += item.untyped_storage().nbytes()
    return total


def _parts(value: object) -> Iterator[object]:
    """``value`` and everything that it contains, each object once."""
    seen: set[int] = set()
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, str | int | float | None):  # most parts, and without parts of their own
            continue
        if isinstance(item, np.ndarray) and isinstance(item.base, np.ndarray):  # a view keeps its whole base alive
            waiting.append(item.base)
        elif isinstance(item, Mapping):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | Set):
            waiting += item
        elif is_dataclass(item) and not isinstance(item, type):
            waiting += [getattr(item, field.name) for field in fields(item)]
