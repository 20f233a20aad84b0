"""What the app asks of Python itself: short collections of garbage, and quick turns between threads.

Streamlit collects garbage after every run of a page. torch and transformers bring some hundred thousand objects that
stay for as long as the app runs; to go through them takes a fifth of a second in which no visitor is answered. Frozen,
they are passed over. What else was alive at that moment is frozen with them, so a model that leaves memory thaws all:
its cycles have to be found.

An answer is sent by another thread than the one that goes on with the page below it. To pass from one to the other
takes several turns, each of which may wait for the whole interval of Python: 5 ms unless told otherwise.
"""

from __future__ import annotations

import gc
import sys
from threading import Lock

_FEW = 50
"""So many new modules are no reason to freeze anew."""
_TURN = 5e-4
"""Seconds after which a thread lets another one run."""

_lock = Lock()
_known = 0


def settle() -> None:
    """Collect, and freeze what is left, where many modules were imported since the last time."""
    global _known
    if len(sys.modules) - _known < _FEW or not _lock.acquire(blocking=False):
        return
    try:
        sys.setswitchinterval(_TURN)
        gc.collect()
        gc.freeze()
        _known = len(sys.modules)
    finally:
        _lock.release()


def thaw() -> None:
    """Let the next collection look at everything again, and the next :func:`settle` freeze what it leaves."""
    global _known
    with _lock:
        gc.unfreeze()
        _known = 0
