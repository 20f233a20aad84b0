"""What the app asks of Python itself: few and short collections of garbage, and quick turns between threads.

Torch and transformers bring some hundred thousand objects that stay for as long as the app runs; to go through them
takes a fifth of a second in which no visitor is answered. Frozen, they are passed over. What else was alive at that
moment is frozen with them, so a model that leaves memory thaws all: its cycles have to be found.

What came since grows while visitors come, up to what caches and open sessions hold. Streamlit would go through all of
it after every run of a page (``runner.postScriptGC``, which is off); here a run is followed by a search among the young
objects alone, which takes as long for the thousandth visitor as for the first. The old ones are searched when Python
finds that they have grown by a quarter, and after every twenty-fifth run, since a page that is gone may refer to itself
and hold arrays whose megabytes Python does not count. What such arrays leave, glibc keeps in pieces: a tenth of the
server's memory, and more the longer it runs. After such a search it is asked to give them back to the system.

An answer is sent by another thread than the one that goes on with the page below it. To pass from one to the other
takes several turns, each of which may wait for the whole interval of Python: 5 ms unless told otherwise.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from threading import Lock

_FEW = 50
"""So many new modules are no reason to freeze anew."""
_RUNS = 25
"""After so many runs the old objects are searched, too, and free memory is given back."""
_TURN = 5e-4
"""Seconds after which a thread lets another one run."""

_lock = Lock()
_known = 0
_runs = 0


def settle() -> None:
    """Collect what a run of a page left; and freeze the rest where many modules were imported since the last time."""
    global _known, _runs
    if not _lock.acquire(blocking=False):
        return
    try:
        _runs += 1
        if len(sys.modules) - _known >= _FEW:
            sys.setswitchinterval(_TURN)
            gc.collect()
            gc.freeze()
            _known, _runs = len(sys.modules), 0
        elif _runs % _RUNS:
            gc.collect(1)
        else:
            gc.collect()
            give_back()
    finally:
        _lock.release()


def give_back() -> None:
    """Give free memory back to the system, where the C library knows how to; threads go on meanwhile."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def thaw() -> None:
    """Let the next collection look at everything again, and the next :func:`settle` freeze what it leaves."""
    global _known
    with _lock:
        gc.unfreeze()
        _known = 0
