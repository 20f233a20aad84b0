"""The queue of trainings: as many at once as there are processors, the others in the order in which they came.

A training takes a minute or more of a processor, so two that share one would both take twice as long, and all would be
late. Who waits holds no turn (`core.turns`), so views of others are as fast as before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from core.turns import processors, turns


class Places:
    """At most ``most`` trainings go at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._line: list[object] = []
        """Those that go, then those that wait."""
        self._moved = threading.Condition()

    @contextmanager
    def take(self, show: Callable[[int], object]) -> Iterator[None]:
        """Hold a place, once there is one; it is free again when the block ends, for whatever reason.

        A page's run ends in the queue, too, where its visitor has left or has made a newer request.

        Args:
            show: called with the number of trainings ahead, those that go included, whenever it has changed, and with
                0 when the waiting is over; never where a place is free at once.
        """
        own, shown = object(), False
        with self._moved:
            self._line.append(own)
        try:
            while (ahead := self._ahead(own)) >= self.most:
                shown = True
                show(ahead)
                turns.wait_until(partial(self._advanced, own, ahead))
            if shown:
                show(0)
            yield
        finally:
            with self._moved:
                self._line.remove(own)
                self._moved.notify_all()

    def _ahead(self, own: object) -> int:
        with self._moved:
            return self._line.index(own)

    def _advanced(self, own: object, before: int, seconds: float | None) -> bool:
        """Whether fewer than ``before`` are ahead, after at most so many seconds."""
        with self._moved:
            return self._moved.wait_for(lambda: self._line.index(own) < before, seconds)


places = Places(processors())
"""The places of this process."""
