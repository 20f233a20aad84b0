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

import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MIN_TURN = 0.02
"""The least seconds of a turn, since passing it on has a cost."""
AGING = 0.1
"""Aging: the seconds of service that a second of waiting offsets, so that long runs do not starve. At 1 the masked word
of the docstring took 0.48 s."""
CHECK_EVERY = 0.25
"""Seconds between the checks of a waiting run for a newer request."""
LOCK_PAUSE = 0.002
"""Seconds for which a part that held the interpreter lock leaves it to the others. Beside an attention flow, each of
whose pairs holds it for a millisecond, a masked word came 0.39 to 0.54 s later without the pause, and 0.03 to 0.05 s
with it."""
building = threading.Lock()
"""Held by who builds a model of transformers: meanwhile the library changes torch's default dtype, its initializers and
`tie_weights` in all threads. Beside a CLIP in float16, 37 of 40 MiniLMs were partly in float16, two not tied."""
NOTIFY_EVERY = 1.0
"""Seconds of waiting between the updates that show a visitor the position in the queue; many short waits, of runs that
compute in alternation, count together."""


class _Run:
    """One run of a page: its attained service, and since when it computes or waits."""

    def __init__(self, check: Callable[[], object], show: Callable[[int], object]) -> None:
        self.check, self.show = check, show
        self.spent = 0.0
        self.since = time.monotonic()
        self.turn = threading.Event()
        self.waited = 0.0
        """Seconds of waiting since the visitor was last shown the position."""
        self.shown = False
        self.holds = False
        self.pinned = 0

    def rank(self, now: float) -> float:
        """Of a waiting run: seconds computed minus a share of those waited. The smallest goes next."""
        return self.spent - AGING * (now - self.since)


class Turns:
    """At most ``most`` runs compute at a time."""

    def __init__(self, most: int) -> None:
        self.most = self._free = most
        self._waiting: list[_Run] = []
        self._lock = threading.Lock()
        self._here = threading.local()

    @contextmanager
    def run(
        self, check: Callable[[], object] | None = None, show: Callable[[int], object] | None = None
    ) -> Iterator[None]:
        """A page run in this thread; it starts when its turn comes.

        Args:
            check: raises to end the run, when its visitor has left or made a newer request.
            show: called with the number of runs ahead while it waits long, and with 0 when that is over: when the run
                gets its first turn, computes for long without waiting, or ends.
        """
        run = self._here.run = _Run(check or (lambda: None), show or (lambda ahead: None))
        try:
            self._take(run)
            yield
            self._show(run, 0)
        finally:
            self._give(run)
            self._here.run = None

    def step(self, *, locking: bool = False) -> None:
        """Between two parts of a long computation: end an abandoned run, and let a run with less service go first.

        Does nothing outside a run.

        Args:
            locking: the parts hold the interpreter lock, so a run that computes at the same time needs a pause.
        """
        run: _Run | None = getattr(self._here, "run", None)
        if run is None:
            return
        run.check()
        if locking and self.most - self._free > 1:
            time.sleep(LOCK_PAUSE)
        now = time.monotonic()
        if now - run.since >= NOTIFY_EVERY:
            self._show(run, 0)
        if not self._waiting or run.pinned or now - run.since < MIN_TURN:
            return
        with self._lock:
            spent = run.spent + now - run.since
            if not self._waiting or min(waiting.rank(now) for waiting in self._waiting) > spent:
                return
        self._give(run)
        self._take(run)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A part of a run that waits for something else; other runs use its turn meanwhile."""
        run: _Run | None = getattr(self._here, "run", None)
        if run is None:
            yield
            return
        self._here.run = None
        self._give(run)
        try:
            yield
        finally:
            # the part may have failed: the turn must be held until the run ends, which returns it
            self._take(run, always=True)
            self._here.run = run

    def result(self, future: Future[T]) -> T:
        """The result of another run; other runs use this one's turn meanwhile."""
        self.wait_until(lambda seconds: wait((future,), seconds).done)
        return future.result()

    def wait_until(self, holds: Callable[[float | None], object]) -> None:
        """Wait for what another thread does; other runs use this one's turn meanwhile.

        Args:
            holds: waits at most so many seconds, or without an end, and returns whether it is so.
        """
        run: _Run | None = getattr(self._here, "run", None)
        if run is None:
            holds(None)
            return
        with self.aside():
            while not holds(CHECK_EVERY):
                run.check()

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """A part of a run that keeps its turn, because its time is measured."""
        run: _Run | None = getattr(self._here, "run", None)
        if run is not None:
            run.pinned += 1
        try:
            yield
        finally:
            if run is not None:
                run.pinned -= 1

    @contextmanager
    def locked(self, lock: threading.Lock) -> Iterator[None]:
        """Hold a lock that others may hold for long; a run that waits for it passes its turn on."""
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

    def _take(self, run: _Run, *, always: bool = False) -> None:
        """Wait for a turn; with ``always``, a newer request does not end the waiting."""
        with self._lock:
            run.since = time.monotonic()
            if self._free:
                self._free -= 1
                run.holds = True
                return
            run.turn.clear()
            self._waiting.append(run)
        counted, ahead = run.since, self._ahead(run, run.since)
        try:
            over = False
            while not over:
                over = run.turn.wait(None if always else CHECK_EVERY)
                if not over:
                    run.check()
                now = time.monotonic()
                run.waited += now - counted
                counted = now
                if run.waited >= NOTIFY_EVERY:
                    self._show(run, ahead if over else self._ahead(run, now))
        finally:
            with self._lock:
                if run in self._waiting:
                    self._waiting.remove(run)
        if not run.spent:
            self._show(run, 0)

    def _show(self, run: _Run, ahead: int) -> None:
        """Show the visitor how many are ahead, or, with 0, nothing any more."""
        if ahead or run.shown:
            run.waited, run.shown = 0.0, bool(ahead)
            run.show(ahead)

    def _ahead(self, run: _Run, now: float) -> int:
        """How many runs compute, or would get a turn before ``run``."""
        with self._lock:
            return self.most - self._free + sum(other.rank(now) < run.rank(now) for other in self._waiting)

    def _give(self, run: _Run) -> None:
        """Pass the turn on, if the run holds it."""
        with self._lock:
            if not run.holds:
                return
            now = time.monotonic()
            run.spent += now - run.since
            run.holds = False
            if not self._waiting:
                self._free += 1
                return
            following = min(self._waiting, key=lambda waiting: waiting.rank(now))
            self._waiting.remove(following)
            following.since, following.holds = now, True
            following.turn.set()


CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")
"""A container's CPU quota (cgroup v2): microseconds, or ``max``, and the period in microseconds."""


def processors() -> int:
    """The number of processors that this process may use, within the limit of its container."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = map(int, CPU_LIMIT.read_text().split())
    except (OSError, ValueError):
        return usable
    return max(1, min(usable, math.ceil(quota / period)))


turns = Turns(processors())
"""The turns of this process."""
