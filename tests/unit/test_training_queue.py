"""The queue of trainings: so many at once, the others in order; who leaves, leaves it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial

import pytest

from core.training import queue
from core.training.queue import Places
from core.turns import Turns


class Left(BaseException):
    """A visitor has left, as Streamlit says it."""


class Training:
    """One training in a thread, which goes until it is told to end."""

    def __init__(self, places: Places, turns: Turns | None = None, check: Callable[[], object] | None = None) -> None:
        self.going, self.over, self.shown, self.left = threading.Event(), threading.Event(), list[int](), False
        self.told = threading.Condition()
        self._thread = threading.Thread(target=partial(self._work, places, turns, check), daemon=True)
        self._thread.start()

    def _work(self, places: Places, turns: Turns | None, check: Callable[[], object] | None) -> None:
        try:
            if turns is None:
                self._train(places)
            else:
                with turns.run(check):
                    self._train(places)
        except Left:
            self.left = True

    def _train(self, places: Places) -> None:
        with places.take(self._show):
            self.going.set()
            assert self.over.wait(60)

    def _show(self, ahead: int) -> None:
        with self.told:
            self.shown.append(ahead)
            self.told.notify_all()

    def until_shown(self, ahead: int) -> None:
        with self.told:
            assert self.told.wait_for(lambda: self.shown[-1:] == [ahead], 60)

    def end(self) -> None:
        self.over.set()
        self.join()

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


def test_so_many_go_at_once_and_the_others_in_order() -> None:
    places = Places(2)
    first, second = Training(places), Training(places)
    assert first.going.wait(60)
    assert second.going.wait(60)
    third = Training(places)
    third.until_shown(2)
    fourth = Training(places)
    fourth.until_shown(3)
    assert not third.going.is_set()
    second.end()
    assert third.going.wait(60)
    fourth.until_shown(2)
    assert not fourth.going.is_set()
    first.end()
    assert fourth.going.wait(60)
    third.end()
    fourth.end()
    assert (first.shown, second.shown, third.shown, fourth.shown) == ([], [], [2, 0], [3, 2, 0])


def test_a_training_that_fails_frees_its_place() -> None:
    places = Places(1)
    with pytest.raises(ZeroDivisionError), places.take(lambda ahead: None):
        raise ZeroDivisionError
    with places.take(lambda ahead: pytest.fail("a place is free")):
        pass


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Turns:
    own = Turns(1)
    monkeypatch.setattr(queue, "turns", own)
    return own


@contextmanager
def waiting(places: Places, turns: Turns, check: Callable[[], object] | None = None) -> Iterator[Training]:
    """A training that waits for a place, in a run with turns."""
    with places.take(lambda ahead: None):
        training = Training(places, turns, check)
        training.until_shown(1)
        yield training


def test_who_waits_holds_no_turn(turns: Turns) -> None:
    places = Places(1)
    with waiting(places, turns) as training:
        other = Future[str]()

        def view() -> None:
            with turns.run():
                other.set_result("drawn")

        threading.Thread(target=view, daemon=True).start()
        assert other.result(60) == "drawn"
        assert not training.going.is_set()
    assert training.going.wait(60)
    training.end()
    assert turns._free == 1


def test_who_leaves_leaves_the_queue_and_the_next_moves_up(turns: Turns) -> None:
    places, gone = Places(1), threading.Event()

    def check() -> None:
        if gone.is_set():
            raise Left

    with waiting(places, turns, check) as training:
        behind = Training(places)
        behind.until_shown(2)
        gone.set()
        training.join()
        assert training.left
        assert not training.going.is_set()
        behind.until_shown(1)
    assert behind.going.wait(60)
    behind.end()
    assert turns._free == 1
