"""Settings of the interpreter: short garbage collections and a short thread switch interval.

Torch and transformers create some hundred thousand objects that live as long as the process. A full collection
traverses them in a fifth of a second, during which no visitor is served; ``gc.freeze`` excludes them. It freezes every
other live object as well, so the eviction of a model unfreezes all, for its reference cycles to be collected.

Objects created later accumulate, up to what caches and open sessions hold. Streamlit would collect all generations
after every run of a page (``runner.postScriptGC``, which is off). Here only the young generations are collected after a
run, in constant time. The oldest generation is collected when Python finds that it has grown by a quarter, and after
every twenty-fifth run: a finished page may be part of a cycle that holds arrays, whose bytes Python does not count.

A finished result is sent by another thread than the one that runs the rest of the page, and libraries are imported
while the server answers its first visitor. Each switch between threads may wait for the whole switch interval, 5 ms by
default.
"""

from __future__ import annotations

import gc
import sys
from threading import Event, Lock

_FEW_MODULES = 50
"""Fewer new modules than this do not cause another freeze."""
_FULL_COLLECTION_EVERY = 25
"""Number of runs after which the oldest generation is collected, too."""
_SWITCH_INTERVAL = 5e-4
"""Seconds after which a running thread yields to another."""
_lock = Lock()
_module_count = 0
_run_count = 0
settled = Event()
"""Set once a run of a page has ended."""


def settle() -> None:
    """Collect garbage after a run of a page; freeze the rest where many modules were imported since the last freeze."""
    global _module_count, _run_count
    settled.set()
    if not _lock.acquire(blocking=False):
        return
    try:
        _run_count += 1
        if len(sys.modules) - _module_count >= _FEW_MODULES:
            gc.collect()
            gc.freeze()
            _module_count, _run_count = len(sys.modules), 0
        elif _run_count % _FULL_COLLECTION_EVERY:
            gc.collect(1)
        else:
            gc.collect()
    finally:
        _lock.release()


def take_turns() -> None:
    """Let a running thread yield soon: the server answers while libraries are imported beside it."""
    sys.setswitchinterval(_SWITCH_INTERVAL)


def thaw() -> None:
    """Unfreeze all objects, so that the next :func:`settle` collects them and freezes the survivors."""
    global _module_count
    with _lock:
        gc.unfreeze()
        _module_count = 0
