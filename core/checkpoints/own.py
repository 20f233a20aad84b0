"""Models that visitors train, held in this process's memory: each is seen by its visitor, or by its room, alone.

Who sees which is said by ``mine``, which `core.ui.own` sets: a model's slug is the same for all visitors, so that
links and menus name it, and its location differs from training to training. Within a budget in bytes the one that
nobody has asked for longest goes first.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from core import settings as configuration
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import CheckpointUnavailable

YOURS, OTHER, CLASS = "yours", "yours-2", "class"
"""The slugs of a visitor's model, of one trained beside it, and of the one that a room has trained."""
SLUGS = (YOURS, OTHER, CLASS)


@dataclass(frozen=True, slots=True)
class Held:
    """A model, and what made it: its optimizer and what was measured."""

    checkpoint: Checkpoint
    work: object
    size: int
    """Bytes of both."""
    lasts: float = math.inf
    """Seconds after which it goes if nobody has asked for it: a room keeps its model elsewhere, and ends."""


_held: OrderedDict[str, Held] = OrderedDict()
_asked: dict[str, float] = {}
"""When somebody asked for it last."""
_lock = Lock()
mine: Callable[[], Mapping[str, str]] = dict
"""The locations of the models that the visitor of this thread sees, by slug."""


def keep(held: Held, former: str = "") -> None:
    """Hold a model under its location, in place of a ``former`` state of it."""
    location = held.checkpoint.spec.location
    with _lock:
        _held.pop(former, None)
        _held[location] = held
        _touch(location)
        used = sum(other.size for other in _held.values())
        while used > configuration.settings().trained_bytes and len(_held) > 1:
            used -= _held.popitem(last=False)[1].size


def find(location: str) -> Held | None:
    """What is held there; None if it had to go."""
    with _lock:
        if location in _held:
            _touch(location)
        return _held.get(location)


def forget(location: str) -> None:
    """Hold it no longer: its room has ended."""
    with _lock:
        _held.pop(location, None)


def _touch(location: str) -> None:
    """Somebody asks for it; what nobody asks for goes when it is time."""
    now = _asked[location] = time.monotonic()
    _held.move_to_end(location)
    for other in [name for name, held in _held.items() if _asked[name] + held.lasts < now]:
        del _held[other]
    for other in _asked.keys() - _held.keys():
        del _asked[other]


def specs() -> tuple[CheckpointSpec, ...]:
    """The models that this visitor sees."""
    return tuple(held.checkpoint.spec for location in mine().values() if (held := find(location)) is not None)


def loaded(spec: CheckpointSpec) -> Checkpoint:
    """The model of ``spec``. Raises :class:`CheckpointUnavailable` where it had to go."""
    if (held := find(spec.location)) is None:
        raise CheckpointUnavailable(
            f"{spec.name} is no longer in memory: models of other visitors took its place. Train it again."
        )
    return held.checkpoint
