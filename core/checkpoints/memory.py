"""Loaded checkpoints, shared by all visitors within the memory budget (``ATLAS_MEMORY_MB``).

Concurrent requests for a model share one load. When the budget is spent, the least recently used model is evicted: this
module drops its reference, and other references stay valid. Objects frozen by `core.interpreter` are thawed then, so
that the next garbage collection frees the model.

Threads: a small model processes a sentence in milliseconds, hardly faster on two threads, and the second one busies a
processor that also serves pages. So small models compute on one thread and larger ones on all; ``ATLAS_THREADS`` sets
one number for both. torch stores this number per Python thread, and new threads start with the last one set. Each run
of a page is a thread, so the number is set whenever a run loads a model.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from core import interpreter
from core import settings as configuration
from core.cache import Cache
from core.checkpoints import folder, loading, own, registry
from core.checkpoints.folder import State
from core.checkpoints.spec import Checkpoint, CheckpointSpec, Part
from core.errors import AtlasError, CheckpointUnavailable
from core.lazy import torch
from core.turns import building, processors, turns


@dataclass(frozen=True, slots=True)
class _Loaded:
    checkpoint: Checkpoint
    size: int
    fingerprint: State


class Memory:
    """A cache of loaded checkpoints with a budget in bytes."""

    def __init__(self) -> None:
        self._loaded: OrderedDict[str, _Loaded] = OrderedDict()
        self._loads = Cache(lambda: 0)  # stores none: it lets concurrent requests share one load
        self._lock = Lock()

    def load(self, spec: CheckpointSpec, budget: int) -> Checkpoint:
        """The loaded checkpoint of ``spec``. Raises what loading raises; a failure is not cached."""
        fingerprint = self._fingerprint(spec)

        def load_now() -> Checkpoint:
            with turns.locked(building):
                return self._known(spec, fingerprint) or self._load_now(spec, fingerprint, budget)

        return self._known(spec, fingerprint) or self._loads.get_or_compute(spec.slug, load_now, store=False)

    def _known(self, spec: CheckpointSpec, fingerprint: State) -> Checkpoint | None:
        with self._lock:
            loaded = self._loaded.get(spec.slug)
            if loaded is None or loaded.fingerprint != fingerprint:
                return None
            self._loaded.move_to_end(spec.slug)
            return loaded.checkpoint

    def _load_now(self, spec: CheckpointSpec, fingerprint: State, budget: int) -> Checkpoint:
        need = self._estimate(spec)
        if need > budget:
            raise CheckpointUnavailable(
                f"{spec.name} needs about {need / 1e6:,.0f} MB of memory and this installation allows "
                f"{budget / 1e6:,.0f} MB. The host can raise it with ATLAS_MEMORY_MB."
            )
        with self._lock:
            if self._loaded.pop(spec.slug, None):
                interpreter.thaw()
            self._make_room(budget - need)
        checkpoint = self.read_checkpoint(spec)
        with self._lock:
            size = max(need, model_bytes(checkpoint))
            self._make_room(budget - size)
            self._loaded[spec.slug] = _Loaded(checkpoint, size, fingerprint)
        return checkpoint

    def _make_room(self, budget: int) -> None:
        while self._loaded and self.bytes_used > budget:
            self._loaded.popitem(last=False)
            interpreter.thaw()

    @property
    def bytes_used(self) -> int:
        return sum(loaded.size for loaded in self._loaded.values())

    def slugs(self) -> tuple[str, ...]:
        """The loaded models, the least recently used first."""
        with self._lock:
            return tuple(self._loaded)

    def clear(self) -> None:
        with self._lock:
            self._loaded.clear()

    def read_checkpoint(self, spec: CheckpointSpec) -> Checkpoint:
        if (threads := configuration.settings().threads) is not None:
            torch.set_num_threads(threads)
        return loading.read_checkpoint(spec)

    def _estimate(self, spec: CheckpointSpec) -> int:
        """Bytes of the model, once loaded."""
        return loading.estimated_bytes(spec)

    def _fingerprint(self, spec: CheckpointSpec) -> State:
        """The state of the model's files."""
        loading.require_ready(spec)
        return loading.fingerprint(spec)


def model_bytes(checkpoint: Checkpoint) -> int:
    """Bytes of a model's parameters and buffers; shared ones count once."""
    tensors = {t.data_ptr(): t for t in (*checkpoint.model.parameters(), *checkpoint.model.buffers())}
    return sum(t.numel() * t.element_size() for t in tensors.values())


models = Memory()


def load(slug: str, part: Part | None = None) -> Checkpoint:
    """The checkpoint of that slug, loaded once for all visitors: read-only, in evaluation mode, float32.

    ``part`` is one of its spec's ``parts``: the model beside the main one.

    Raises :class:`~core.errors.UnknownCheckpoint`, :class:`~core.errors.CheckpointUnavailable` or
    :class:`~core.errors.CheckpointRefused`, each with a sentence to show.
    """
    try:
        spec = registry.get(slug) if part is None else registry.part_of(registry.get(slug), part)
        if spec.source == "visitor":
            return own.loaded(spec)
        with folder.missing_files_reported():
            return models.load(spec, configuration.settings().model_bytes)
    except AtlasError:
        raise
    except MemoryError:
        raise CheckpointUnavailable(
            "This machine has not enough free memory for this model. A smaller model works."
        ) from None


def loaded() -> tuple[str, ...]:
    """Slugs of the loaded models, the least recently used first."""
    return models.slugs()


def bytes_used() -> int:
    return models.bytes_used


def forget() -> None:
    """Drop all loaded models (tests call this after changing the settings)."""
    models.clear()


SMALL = 200_000_000
"""The most bytes of a small model. MiniLM in float32 is small; BERT base is not."""

all_threads: int | None = None
"""The number of threads that torch started with, as far as there are processors for them."""
_sizes: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Bytes of the models in use, since counting takes a millisecond."""


def set_threads(checkpoint: Checkpoint) -> None:
    """Set torch's number of threads for the computations of this run with ``checkpoint``."""
    global all_threads
    if all_threads is None:
        all_threads = min(torch.get_num_threads(), processors())
    size = _sizes.get(checkpoint.model)
    if size is None:
        size = _sizes[checkpoint.model] = model_bytes(checkpoint)
    threads = configuration.settings().threads or (1 if size <= SMALL else all_threads)
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
