"""A few runs compute at a time; next comes the one that has computed least, and who is no longer waited for ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from core import turns as module
from core.turns import Turns


class Left(BaseException):
    """A visitor has left, as Streamlit says it."""


def thread(work: Callable[[], object]) -> threading.Thread:
    """``work`` in a thread that has begun."""
    begun = threading.Thread(target=work, daemon=True)
    begun.start()
    return begun


def until(holds: Callable[[], object]) -> None:
    """Wait for what another thread does."""
    pause = threading.Event()
    while not holds():
        pause.wait(0.002)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The second that it is for the turns."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_so_many_at_once_and_no_more() -> None:
    turns, at_once, most, lock, both = Turns(2), [0], [0], threading.Lock(), threading.Barrier(2)

    def work() -> None:
        with turns.run():
            with lock:
                at_once[0] += 1
                most[0] = max(most[0], at_once[0])
            both.wait(60)
            threading.Event().wait(0.01)  # time for a third
            with lock:
                at_once[0] -= 1

    for entry in [thread(work) for _ in range(12)]:
        entry.join(60)
    assert most == [2]


def test_at_a_step_the_run_that_has_computed_least_goes_on(clock: list[float]) -> None:
    turns, order = Turns(1), []
    go = threading.Event()

    def heavy() -> None:
        with turns.run():
            clock[0] += 5
            go.wait(60)
            turns.step()
            order.append("heavy")

    def light() -> None:
        with turns.run():
            order.append("light")
            turns.step()  # nobody who waits has computed less
            order.append("light again")

    first = thread(heavy)
    until(lambda: turns._free == 0)
    second = thread(light)
    until(lambda: turns.waiting == 1)
    go.set()
    first.join(60)
    second.join(60)
    assert order == ["light", "light again", "heavy"]
    assert turns._free == 1


@pytest.mark.parametrize(("waited", "following"), [(0, ["newcomer", "heavy"]), (60, ["heavy", "newcomer"])])
def test_the_run_that_has_computed_least_is_next_until_another_has_waited_long(
    clock: list[float], waited: float, following: list[str]
) -> None:
    turns, order = Turns(1), []
    computed, came = threading.Event(), threading.Event()

    def heavy() -> None:
        with turns.run():
            clock[0] += 5
            assert computed.wait(60)
            turns.step()
            order.append("heavy")

    def light() -> None:
        with turns.run():
            assert came.wait(60)
            order.append("light")

    def newcomer() -> None:
        with turns.run():
            order.append("newcomer")

    threads = [thread(heavy)]
    until(lambda: turns._free == 0)
    threads.append(thread(light))
    until(lambda: turns.waiting == 1)
    computed.set()
    until(lambda: any(run.spent for run in turns._waiting))  # the heavy one is in the queue
    clock[0] += waited
    threads.append(thread(newcomer))
    until(lambda: turns.waiting == 2)
    came.set()
    for entry in threads:
        entry.join(60)
    assert order == ["light", *following]


def test_a_run_ends_at_its_next_step_and_in_the_queue(clock: list[float]) -> None:
    """By a clock that stands still: by one that goes on, a busy machine would let the other have the turn."""
    turns, gone = Turns(1), threading.Event()
    ended: list[str] = []

    def check() -> None:
        if gone.is_set():
            raise Left

    def leaving() -> None:
        try:
            with turns.run(check):
                raise AssertionError("it had no turn")
        except Left:
            ended.append("queue")

    def running() -> None:
        with turns.run(check):
            waiting = thread(leaving)
            until(lambda: turns.waiting == 1)
            turns.step()
            gone.set()
            waiting.join(60)
            turns.step()

    with pytest.raises(Left):
        running()
    assert ended == ["queue"]
    assert turns._free == 1, "a turn is not lost"


def test_who_waits_for_another_run_does_not_keep_it_from_computing() -> None:
    turns, future = Turns(1), Future[int]()

    def compute() -> None:
        with turns.run():
            future.set_result(3)

    with turns.run():
        computing = thread(compute)
        until(lambda: turns.waiting == 1)
        assert turns.result(future) == 3
        assert turns._free == 0, "its turn is back"
    computing.join(60)
    assert turns._free == 1


def test_a_lock_that_others_hold_for_long_is_waited_for_aside() -> None:
    turns, lock, inside = Turns(1), threading.Lock(), threading.Event()

    def holder() -> None:
        with turns.locked(lock):
            inside.set()
            with turns.run():  # needs a turn before it lets go of the lock
                pass

    with turns.run():
        other = thread(holder)
        assert inside.wait(60)
        with turns.locked(lock):
            pass
    other.join(60)
    assert not lock.locked()


def test_what_is_measured_keeps_its_turn(clock: list[float]) -> None:
    turns, order = Turns(1), []

    def other() -> None:
        with turns.run():
            order.append("other")

    with turns.run():
        waiting = thread(other)
        until(lambda: turns.waiting == 1)
        clock[0] += 9
        with turns.uninterrupted():
            turns.step()
            order.append("measured")
    waiting.join(60)
    assert order == ["measured", "other"]


def test_a_part_that_held_the_interpreter_lock_leaves_it_to_a_run_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    turns, pauses, computes, over = Turns(2), [], threading.Event(), threading.Event()
    monkeypatch.setattr(module.time, "sleep", pauses.append)

    def beside() -> None:
        with turns.run():
            computes.set()
            over.wait(60)

    with turns.run():
        turns.step(locking=True)
        assert pauses == [], "nobody else computes"
        other = thread(beside)
        computes.wait(60)
        turns.step()
        assert pauses == []
        turns.step(locking=True)
        assert pauses == [module.LOCK_PAUSE]
    over.set()
    other.join(60)


def test_outside_a_run_nothing_waits() -> None:
    turns = Turns(0)
    turns.step()
    with turns.aside(), turns.uninterrupted():
        pass
    done: Future[Any] = Future()
    done.set_result(1)
    assert turns.result(done) == 1


@pytest.mark.parametrize("slug", ["dir-tiny-bert", "dir-tiny-gpt2", "dir-tiny-t5"])
def test_a_forward_pass_is_a_step(checkpoint_dir: object, slug: str) -> None:
    import torch

    from core import checkpoints

    model, steps = checkpoints.load(slug).model, []
    ids = torch.tensor([[1, 2, 3]])
    more = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}

    def check() -> None:
        steps.append(None)
        if len(steps) > 1:
            raise Left

    def whole() -> None:
        with module.turns.run(lambda: steps.append(None)):
            model(input_ids=ids, **more)

    def stopped() -> None:
        with module.turns.run(check):
            model(input_ids=ids, **more)

    whole()
    assert steps
    steps.clear()
    with pytest.raises(Left):
        stopped()


def test_who_waits_long_is_told_how_many_are_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECK_EVERY", 0.002)
    monkeypatch.setattr(module, "NOTIFY_EVERY", 0.0)
    turns, shown = Turns(1), {"first": [0], "second": [0]}

    def wait(name: str) -> None:
        with turns.run(show=shown[name].append):
            pass

    with turns.run(show=lambda ahead: shown["first"].append(99)):
        waiting = [thread(lambda: wait("first"))]
        until(lambda: turns.waiting == 1)
        waiting.append(thread(lambda: wait("second")))
        until(lambda: shown["first"][-1] == 1 and shown["second"][-1] == 2)
    for entry in waiting:
        entry.join(60)
    assert shown["first"][-1] == shown["second"][-1] == 0, "nobody is ahead of whose turn it is"
    assert 99 not in shown["first"], "who does not wait is told nothing"


def test_who_computes_in_alternation_is_told_once_the_short_waits_add_up(clock: list[float]) -> None:
    turns, shown = Turns(1), list[int]()

    def beside() -> None:
        with turns.run():
            clock[0] += 0.3  # while the first one waits

    with turns.run(show=shown.append):
        for number in range(4):
            assert shown == [], f"{number} waits of 0.3 s"
            clock[0] += 0.1
            other = thread(beside)
            until(lambda: turns.waiting == 1)
            turns.step()
            other.join(60)
        assert shown == [1]
        clock[0] += 0.9
        turns.step()
        assert shown == [1]
        clock[0] += 0.2
        turns.step()
        assert shown == [1, 0], "it has computed for a second since"
    assert shown == [1, 0]


@pytest.mark.parametrize(
    ("limit", "usable"), [("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1), ("max 100000", 8), (None, 8)]
)
def test_a_container_has_the_processors_of_its_limit(
    limit: str | None, usable: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module.os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(module, "CPU_LIMIT", tmp_path / "cpu.max")
    if limit is not None:
        module.CPU_LIMIT.write_text(f"{limit}\n")
    assert module.processors() == usable
