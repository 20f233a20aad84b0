"""Ctrl-C and SIGTERM ask a run to stop; it does so after the step at hand, where its state is whole.

In the middle of a step some parameters are new and some old, so the signal only leaves a note. A second Ctrl-C, one
second or more after the first, ends the program at once without saving.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN = 1.0
"""Seconds between two Ctrl-C that are meant: launchers pass on the one that the terminal has sent already."""


class Interrupt:
    """A ``with`` block in which signals set `asked`; outside the main thread they keep their meaning."""

    def __init__(self) -> None:
        self.asked = False
        self._first = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if number == signal.SIGINT and self.asked and now - self._first >= AGAIN:
            raise KeyboardInterrupt
        if not self.asked:
            self.asked, self._first = True, now

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
