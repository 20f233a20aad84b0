"""Cooperative scheduling of page runs: a few compute at a time, the one with the least attained service goes next.

Python threads share one interpreter lock (GIL), and the machine has few processors, so runs that compute at the same
time slow each other down. A run therefore needs a turn to compute: there are as many as processors. A run that waits
for another run's result, or that ends, passes its turn to the waiting run with the smallest (seconds computed - a tenth
of the seconds waited). A long run does so at its steps (:meth:`Turns.step`): every forward pass of a live model, every
layer of a t-SNE, every pair of an attention flow. A masked word thus waits for one step of the heaviest computation,
not for its end, however many visitors compute.

At a step, and in the queue, a run also notices that its visitor has left or made a newer request, and ends.

Threads with turns, not processes: models are in memory once and results are not copied. What decided: beside eight
visitors who generate texts of 200 tokens under four strategies, a masked word took 1.5 s (median) without turns and
0.35 s with them, measured in alternation on two busy processors. `benchmarks/classroom.py` and `benchmarks/fairness.py`
measure what a class waits and what the heaviest computation of one visitor costs another.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

LONG = 0.02
"""Seconds that a turn lasts at least: passing it on has a cost."""
PATIENCE = 0.1
"""Seconds computed that a second of waiting makes up for: without it, long runs would starve. At 1 the masked word of
the docstring took 0.48 s."""
ASK = 0.25
"""Seconds between two checks of a waiting run for a newer request."""


class _Run:
    """One run of a page: its attained service, and since when it computes or waits."""

    def __init__(self, check: Callable[[], object]) -> None:
        self.check = check
        self.spent = 0.0
        self.since = time.monotonic()
        self.turn = threading.Event()
        self.holds = False
        self.keeps = 0

    def rank(self, now: float) -> float:
        """Of a waiting run: seconds computed minus a share of those waited. The smallest goes next."""
        return self.spent - PATIENCE * (now - self.since)


class Turns:
    """At most ``most`` runs compute at a time."""

    def __init__(self, most: int) -> None:
        self.most = self._free = most
        self._waiting: list[_Run] = []
        self._lock = threading.Lock()
        self._here = threading.local()

    @contextmanager
    def run(self, check: Callable[[], object] | None = None) -> Iterator[None]:
        """A run of a page in this thread; it begins when its turn comes.

        Args:
            check: raises where the run is to end, since its visitor has left or wants something newer.
        """
        mine = self._here.run = _Run(check or (lambda: None))
        try:
            self._take(mine)
            yield
        finally:
            self._give(mine)
            self._here.run = None

    def step(self) -> None:
        """Between two parts of a long computation: end where nobody waits for it, let another run go first.

        Outside a run it does nothing.
        """
        mine: _Run | None = getattr(self._here, "run", None)
        if mine is None:
            return
        mine.check()
        now = time.monotonic()
        if not self._waiting or mine.keeps or now - mine.since < LONG:
            return
        with self._lock:
            spent = mine.spent + now - mine.since
            if not self._waiting or min(one.rank(now) for one in self._waiting) > spent:
                return
        self._give(mine)
        self._take(mine)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A part of a run that waits for something else: others have its turn meanwhile."""
        mine: _Run | None = getattr(self._here, "run", None)
        if mine is None:
            yield
            return
        self._here.run = None
        self._give(mine)
        try:
            yield
        finally:
            # also where the part has failed: the turn is given back where the run ends
            self._take(mine, whatever=True)
            self._here.run = mine

    def result(self, future: Future[T]) -> T:
        """What another run computes; others have this one's turn meanwhile."""
        mine: _Run | None = getattr(self._here, "run", None)
        if mine is None:
            return future.result()
        with self.aside():
            while not wait((future,), ASK).done:
                mine.check()
        return future.result()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """A part of a run that keeps its turn to the end, since its time is measured."""
        mine: _Run | None = getattr(self._here, "run", None)
        if mine is not None:
            mine.keeps += 1
        try:
            yield
        finally:
            if mine is not None:
                mine.keeps -= 1

    @contextmanager
    def locked(self, lock: threading.Lock) -> Iterator[None]:
        """Hold a lock that others hold for long; whoever waits for it lets others have the turn."""
        if not lock.acquire(blocking=False):
            with self.aside():
                lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @property
    def waiting(self) -> int:
        """How many runs wait for a turn."""
        return len(self._waiting)

    def _take(self, mine: _Run, *, whatever: bool = False) -> None:
        """Wait for a turn; ``whatever`` happens, it is had in the end."""
        with self._lock:
            mine.since = time.monotonic()
            if self._free:
                self._free -= 1
                mine.holds = True
                return
            mine.turn.clear()
            self._waiting.append(mine)
        try:
            while not mine.turn.wait(None if whatever else ASK):
                mine.check()
        finally:
            with self._lock:
                if mine in self._waiting:
                    self._waiting.remove(mine)

    def _give(self, mine: _Run) -> None:
        """Pass the turn on, where the run has it."""
        with self._lock:
            if not mine.holds:
                return
            now = time.monotonic()
            mine.spent += now - mine.since
            mine.holds = False
            if not self._waiting:
                self._free += 1
                return
            following = min(self._waiting, key=lambda one: one.rank(now))
            self._waiting.remove(following)
            following.since, following.holds = now, True
            following.turn.set()


turns = Turns(os.cpu_count() or 1)
"""Those of this process."""
