"""Where rooms live: a few commands of Redis, which Redis answers, or a dictionary of this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, Protocol

from core.errors import RoomsUnavailable

TIMEOUT = 1.0
"""Seconds after which Redis counts as unavailable."""
REST = 3.0
"""Seconds after a failure during which Redis is not tried again, so that few runs wait for the timeout."""


class Store(Protocol):
    """Redis' commands on hashes (h...) and sorted sets (z...); names, fields and values are texts."""

    def time(self) -> tuple[int, int]:
        """Seconds and microseconds on the clock of the store, the only one that counts for all processes."""

    def hsetnx(self, name: str, key: str, value: str) -> int:
        """Set a field that does not exist; 1 if it was set."""

    def hset(self, name: str, *, mapping: Mapping[str, str]) -> int:
        """Set fields; how many are new."""

    def hget(self, name: str, key: str) -> str | None:
        """The value of a field."""

    def hgetall(self, name: str) -> dict[str, str]:
        """All fields."""

    def hdel(self, name: str, key: str) -> int:
        """Delete a field; 1 if it was there."""

    def hlen(self, name: str) -> int:
        """The number of fields."""

    def zadd(self, name: str, mapping: Mapping[str, float]) -> int:
        """Set the scores of members; how many are new."""

    def zrem(self, name: str, member: str) -> int:
        """Remove a member."""

    def zremrangebyscore(self, name: str, low: float, high: float) -> int:
        """Remove the members with a score from ``low`` to ``high``."""

    def zcard(self, name: str) -> int:
        """The number of members."""

    def expire(self, name: str, seconds: int) -> object:
        """Delete ``name`` after so many seconds; its last call counts."""

    def delete(self, *names: str) -> int:
        """Delete the names with their values."""


class Memory:
    """A store in this process.

    Args:
        clock: seconds; no change of the machine's date moves it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._data: dict[str, dict[str, Any]] = {}
        self._ends: dict[str, float] = {}
        self._lock = RLock()

    def time(self) -> tuple[int, int]:
        return int(self._clock()), 0

    def _at(self, name: str) -> dict[str, Any]:
        """What stands under ``name``, once all that has expired is deleted; call it with the lock."""
        now = self._clock()
        self.delete(*(key for key, end in list(self._ends.items()) if end <= now))
        return self._data.get(name, {})

    def _set(self, name: str, mapping: Mapping[str, Any]) -> int:
        with self._lock:
            new = mapping.keys() - self._at(name).keys()
            self._data.setdefault(name, {}).update(mapping)
            return len(new)

    def hsetnx(self, name: str, key: str, value: str) -> int:
        with self._lock:
            return 0 if key in self._at(name) else self._set(name, {key: value})

    def hset(self, name: str, *, mapping: Mapping[str, str]) -> int:
        return self._set(name, mapping)

    def hget(self, name: str, key: str) -> str | None:
        with self._lock:
            return self._at(name).get(key)

    def hgetall(self, name: str) -> dict[str, str]:
        with self._lock:
            return dict(self._at(name))

    def hlen(self, name: str) -> int:
        with self._lock:
            return len(self._at(name))

    def zadd(self, name: str, mapping: Mapping[str, float]) -> int:
        return self._set(name, mapping)

    def hdel(self, name: str, key: str) -> int:
        with self._lock:
            return int(self._at(name).pop(key, None) is not None)

    def zrem(self, name: str, member: str) -> int:
        return self.hdel(name, member)

    def zremrangebyscore(self, name: str, low: float, high: float) -> int:
        with self._lock:
            return sum(self.zrem(name, key) for key, score in self.hgetall(name).items() if low <= float(score) <= high)

    def zcard(self, name: str) -> int:
        return self.hlen(name)

    def expire(self, name: str, seconds: int) -> bool:
        with self._lock:
            if there := bool(self._at(name)):
                self._ends[name] = self._clock() + seconds
            return there

    def delete(self, *names: str) -> int:
        with self._lock:
            for name in names:
                self._ends.pop(name, None)
            return sum(self._data.pop(name, None) is not None for name in names)


def redis_store(url: str) -> Store:
    """The store that Redis holds at ``url``, for all processes of an installation.

    Raises:
        RoomsUnavailable: by each command while Redis is away; here, if the Python package redis is not installed.
    """
    try:
        from redis import Redis, RedisError
    except ImportError:
        raise RoomsUnavailable(
            "Rooms need the Python package redis, because ATLAS_REDIS_URL is set. The host can install "
            "requirements-redis.txt."
        ) from None
    client = Redis.from_url(url, decode_responses=True, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT)
    return Guarded(client, RedisError)  # type: ignore[return-value]


class Guarded:
    """A client whose failures are a sentence, and which is left alone for a moment after one."""

    def __init__(self, client: object, failure: type[Exception]) -> None:
        self._client, self._failure = client, failure
        self._rests_until = 0.0

    def __getattr__(self, command: str) -> Callable[..., Any]:
        call = getattr(self._client, command)

        def guarded(*args: object, **named: object) -> Any:
            if time.monotonic() >= self._rests_until:
                try:
                    return call(*args, **named)
                except self._failure:
                    self._rests_until = time.monotonic() + REST
            raise RoomsUnavailable(
                "Rooms cannot be reached at the moment. This page works, and the room goes on when they are back."
            )

        return guarded
