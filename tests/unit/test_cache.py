"""What was computed is kept while its bytes fit, and each result is computed once however many ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from core import session
from core.cache import Cache, by_value, weigh
from core.settings import Settings, settings

MB = 2**20


@dataclass(frozen=True, slots=True)
class Result:
    text: str
    numbers: NDArray[np.float32]


def reader(most: int) -> tuple[Callable[..., Result], list[str]]:
    """Reads texts, of which one of n letters has n MB of numbers; and which it has read."""
    texts: list[str] = []

    def read(text: str, *, vectors: bool = False) -> Result:
        texts.append(text)
        return Result(text, np.zeros(len(text) * MB // 4, np.float32))

    return Cache(lambda: most).wrap(read), texts


def test_bytes_are_those_of_all_that_belongs_to_a_result() -> None:
    numbers = np.zeros(1000, np.float32)
    assert 4000 <= weigh(numbers) < 4200
    assert weigh((numbers, numbers)) < 4400, "one object counts once"
    assert 4000 <= weigh((numbers[::2], np.broadcast_to(numbers, (50, 1000)))) < 4600, "views hold what they are of"
    nested = {"a": [Result("x" * 500, numbers)]}
    assert 4500 <= weigh(nested) < 5200
    assert weigh(Cache(lambda: 1)) < 200, "what is of another kind may belong to others"


def test_arguments_are_compared_by_all_their_values() -> None:
    sums: Callable[[object], float] = Cache(lambda: MB).wrap(lambda parts: float(np.sum(parts)))
    zeros, single = np.zeros(5000), np.zeros(5000)
    single[2500] = 1
    assert repr(zeros) == repr(single)
    assert (sums(zeros), sums(single), sums([zeros, single])) == (0, 1, 1)
    assert by_value([zeros, {"a": single}]) == by_value([zeros.copy(), {"a": single.copy()}])
    different: list[object] = [zeros, zeros.reshape(2, -1), zeros.astype(np.float32), [1, [2]], ([1], 2), {"a": [1]}]
    different += [Result("a", zeros), Result("a", single), {1, 2}]
    assert len({by_value(value) for value in different}) == len(different)
    with pytest.raises(TypeError, match="no value to compare"):
        by_value(bytearray(b"a"))


def test_to_weigh_changes_nothing() -> None:
    numbers = np.zeros(10)
    weigh(numbers)
    numbers[0] = 1


def test_what_is_kept_cannot_be_changed() -> None:
    ask, _ = reader(4 * MB)
    with pytest.raises(ValueError, match="read-only"):
        ask("a").numbers[0] = 1


def test_the_least_recently_used_leave_when_bytes_are_spent() -> None:
    ask, read = reader(4 * MB)
    assert ask("aa") is ask("aa")
    ask("b")
    ask("aa")  # used again
    ask("c")  # more than 4 MB with b
    ask("aa")
    assert read == ["aa", "b", "c"]
    ask("b")
    assert read == ["aa", "b", "c", "b"]
    assert ask("ddddd") is ask("ddddd"), "the latest is kept whatever it weighs"


def test_what_was_evicted_counts_while_somebody_uses_it() -> None:
    cache = Cache(lambda: 4 * MB)
    numbers = [np.zeros(MB // 8) for _ in range(4)]  # 1 MB each
    for number in range(3):
        cache.put(number, Result("held", numbers[number]))  # type: ignore[arg-type]
    del number
    cache.put("large", bytes(2 * MB))  # evicts all three, which stay in use
    assert cache.bytes_used > 4 * MB
    cache.put("small", "word")
    assert [key for key in (0, 1, 2, "large") if cache.get(key) is not None] == [], "no room beside what is in use"
    numbers.clear()
    cache.put("large", bytes(3 * MB))
    assert cache.get("small") is not None
    assert cache.bytes_used < 4 * MB


def test_an_argument_that_is_left_out_is_its_default() -> None:
    ask, read = reader(4 * MB)
    assert ask("a") is ask("a", vectors=False) is ask(text="a")
    assert ask("a", vectors=True) is not ask("a")
    assert read == ["a", "a"]


def test_small_ones_are_not_without_number() -> None:
    cache = Cache(lambda: 20_000)
    for number in range(1000):
        cache.put(number, "word")
    assert cache.get(0) is None
    assert cache.get(999) == "word"
    assert sum(cache.get(number) is not None for number in range(1000)) < 250


def test_what_is_forgotten_takes_no_room() -> None:
    cache = Cache(lambda: 3 * MB)
    for key in "ab":
        cache.put(key, bytes(MB))
    for _ in range(5):
        cache.put("a", bytes(MB))
    assert cache.get("b") is not None
    cache.forget("a")
    cache.put("c", bytes(MB))
    assert cache.get("a") is None
    assert cache.get("b") is not None
    cache.clear()
    assert cache.get("b") is None


def test_who_asks_meanwhile_gets_the_same() -> None:
    begun, go = threading.Event(), threading.Event()
    calls: list[str] = []

    def slow(text: str) -> list[str]:
        calls.append(text)
        begun.set()
        assert go.wait(60)
        if text == "bad":
            raise ValueError(text)
        return [text]

    ask = Cache(lambda: MB).wrap(slow)
    result: list[object] = []

    def visitor(text: str) -> None:
        try:
            result.append(ask(text))
        except ValueError as error:
            result.append(error)

    for text in ("good", "bad"):
        begun.clear()
        go.clear()
        result.clear()
        threads = [threading.Thread(target=visitor, args=(text,)) for _ in range(3)]
        threads[0].start()
        assert begun.wait(60)
        for thread in threads[1:]:
            thread.start()
        go.set()
        for thread in threads:
            thread.join()
        assert len(result) == 3
        assert text == "bad" or result[0] is result[1] is result[2]
    with pytest.raises(ValueError, match="bad"):
        ask("bad")
    assert calls.count("good") == 1, "a result is kept"
    assert calls.count("bad") >= 2, "what went wrong is not"


def test_who_is_stopped_stops_nobody_else() -> None:
    class Rerun(BaseException):
        """Streamlit's signal to one visitor's run, which holds what that visitor has typed."""

    begun, go = threading.Event(), threading.Event()
    cache, result = Cache(lambda: MB), []

    def stopped() -> str:
        begun.set()
        assert go.wait(60)
        raise Rerun

    def first() -> None:
        with pytest.raises(Rerun):
            cache.get_or_compute("key", stopped)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert begun.wait(60)
    for name in ("second", "third"):
        threads.append(
            threading.Thread(target=lambda name=name: result.append(cache.get_or_compute("key", lambda: name)))
        )
        threads[-1].start()
    go.set()
    for thread in threads:
        thread.join(60)
    assert result in (["second"] * 2, ["third"] * 2), "the next one computes, for all that wait"


def test_an_hour_later_it_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    ask, read = reader(4 * MB)
    ask("a")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 3601)
    ask("a")
    ask("a")
    assert read == ["a", "a"]


def test_models_and_results_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    for megabytes in (64, 2048, 100_000):
        monkeypatch.setenv("ATLAS_MEMORY_MB", str(megabytes))
        chosen = Settings()
        assert (
            chosen.model_bytes + chosen.result_bytes + chosen.upload_bytes + chosen.trained_bytes
            == megabytes * 1_000_000
        )
        assert 0 < chosen.result_bytes <= 256 * MB
    monkeypatch.setenv("ATLAS_MEMORY_MB", "64")
    settings.cache_clear()
    session.results.clear()
    for key in range(20):
        session.results.put(key, bytes(MB))
    assert session.results.bytes_used <= 64e6 / 8
    session.results.clear()
    settings.cache_clear()
