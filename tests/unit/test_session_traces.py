"""Traces of attention are kept while their bytes fit, and each is computed once however many ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from core.attention.trace import AttentionMap, AttentionTrace
from core.session import Traces

MB = 2**20


def reader(most: int) -> tuple[Callable[..., AttentionTrace], list[str]]:
    """Reads texts, of which one of n letters has n MB of weights; and which it has read."""
    texts: list[str] = []

    def read(text: str, *, vectors: bool = False) -> AttentionTrace:
        texts.append(text)
        weights = np.zeros((len(text), MB // 4, 1, 1), np.float32)
        return AttentionTrace("tiny", AttentionMap("encoder", ("a",), ("a",), weights))

    return Traces(most)(read), texts


def test_bytes_are_those_of_all_arrays() -> None:
    weights = np.zeros((2, 3, 1, 1), np.float32)
    vectors = np.zeros((2, 3, 1, 8), np.float32)
    allowed = np.ones((1, 1), np.bool_)
    first = AttentionMap("encoder", ("a",), ("a",), weights, allowed=allowed, queries=vectors, keys=vectors)
    second = AttentionMap("decoder", ("a",), ("a",), weights)
    assert first.nbytes == 24 + 1 + 2 * 192
    assert AttentionTrace("tiny", first, second).nbytes == first.nbytes + 24


def test_the_least_recently_used_leave_when_bytes_are_spent() -> None:
    ask, read = reader(4 * MB)
    assert ask("aa") is ask("aa")
    ask("b")
    ask("aa")  # used again
    ask("cc")  # 5 MB with b
    ask("aa")
    assert read == ["aa", "b", "cc"]
    ask("b")
    assert read == ["aa", "b", "cc", "b"]
    assert ask("ddddd") is ask("ddddd"), "the latest is kept whatever it weighs"


def test_an_argument_that_is_left_out_is_its_default() -> None:
    ask, read = reader(4 * MB)
    assert ask("a") is ask("a", vectors=False) is ask(text="a")
    assert ask("a", vectors=True) is not ask("a")
    assert read == ["a", "a"]


def test_small_ones_are_not_without_number() -> None:
    read: list[str] = []
    empty = AttentionTrace("tiny")
    small = Traces(4 * Traces.LEAST)(lambda text: read.append(text) or empty)  # type: ignore[func-returns-value]
    for text in "abcdebcdea":
        small(text)
    assert read == [*"abcde", "a"]


def test_who_asks_meanwhile_gets_the_same() -> None:
    begun, go = threading.Event(), threading.Event()
    calls: list[str] = []

    def slow(text: str) -> AttentionTrace:
        calls.append(text)
        begun.set()
        assert go.wait(60)
        if text == "bad":
            raise ValueError(text)
        return AttentionTrace("tiny")

    ask = Traces(MB)(slow)
    found: list[object] = []

    def visitor(text: str) -> None:
        try:
            found.append(ask(text))
        except ValueError as error:
            found.append(error)

    for text in ("good", "bad"):
        begun.clear()
        go.clear()
        found.clear()
        threads = [threading.Thread(target=visitor, args=(text,)) for _ in range(3)]
        threads[0].start()
        assert begun.wait(60)
        for thread in threads[1:]:
            thread.start()
        go.set()
        for thread in threads:
            thread.join()
        assert len(found) == 3
        assert text == "bad" or found[0] is found[1] is found[2]
    with pytest.raises(ValueError, match="bad"):
        ask("bad")
    assert calls.count("good") == 1, "a trace is kept"
    assert calls.count("bad") >= 2, "what went wrong is not"


def test_an_hour_later_it_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    ask, read = reader(4 * MB)
    ask("a")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 3601)
    ask("a")
    ask("a")
    assert read == ["a", "a"]
