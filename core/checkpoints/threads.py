"""How many threads of the machine one computation of the app takes.

A small model answers a sentence in a few milliseconds, and with two threads hardly sooner; but the second one keeps its
processor busy with waiting, and that processor has the visitors' pages to make and to send. So small models compute on
one thread, larger ones on all; ``ATLAS_THREADS`` sets one number for both.

torch keeps this number for each thread of Python, and gives new threads the one that was set last. Each run of a page
is a thread of its own, so it is set whenever a run asks for a model.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from core import settings
from core.checkpoints.memory import model_bytes
from core.checkpoints.spec import Checkpoint

SMALL = 200_000_000
"""Bytes in memory up to which a model is small. MiniLM in float32 is; BERT's smaller published size is not."""

_all: int | None = None
"""Threads that torch started with."""
_sizes: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Bytes of the models that were asked for: counting takes a millisecond."""


def set_threads(checkpoint: Checkpoint) -> None:
    """Sets how many threads the computations of this run take, now that it works with ``checkpoint``."""
    import torch

    global _all
    if _all is None:
        _all = torch.get_num_threads()
    size = _sizes.get(checkpoint.model)
    if size is None:
        size = _sizes[checkpoint.model] = model_bytes(checkpoint)
    wanted = settings.settings().threads or (1 if size <= SMALL else _all)
    if torch.get_num_threads() != wanted:
        torch.set_num_threads(wanted)
