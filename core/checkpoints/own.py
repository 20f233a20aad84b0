"""Models that visitors train, held in this process's memory: each is seen by its visitor, or by its room, alone.

Who sees which is said by ``mine``, which `core.session` sets: a model's slug is the same for all visitors, so that
links and menus name it, and its location differs from training to training. Within a budget in bytes the one that
nobody has asked for longest goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from core import settings as configuration
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import CheckpointUnavailable

YOURS, OTHER = "yours", "yours-2"
"""The slugs of a visitor's model, and of one trained beside it."""
SLUGS = (YOURS, OTHER)


@dataclass(frozen=True, slots=True)
class Held:
    """A model, and what made it: its optimizer and what was measured."""

    checkpoint: Checkpoint
    work: object
    size: int
    """Bytes of both."""


_held: OrderedDict[str, Held] = OrderedDict()
_lock = Lock()
mine: Callable[[], Mapping[str, str]] = dict
"""The locations of the models that the visitor of this thread sees, by slug."""


def keep(held: Held, former: str = "") -> None:
    """Hold a model under its location, in place of a ``former`` state of it."""
    location = held.checkpoint.spec.location
    with _lock:
        _held.pop(former, None)
        _held[location] = held
        _held.move_to_end(location)
        used = sum(other.size for other in _held.values())
        while used > configuration.settings().trained_bytes and len(_held) > 1:
            used -= _held.popitem(last=False)[1].size


def find(location: str) -> Held | None:
    """What is held there; None if it had to go."""
    with _lock:
        if location in _held:
            _held.move_to_end(location)
        return _held.get(location)


def specs() -> tuple[CheckpointSpec, ...]:
    """The models that this visitor sees."""
    return tuple(held.checkpoint.spec for location in mine().values() if (held := find(location)) is not None)


def loaded(spec: CheckpointSpec) -> Checkpoint:
    """The model of ``spec``. Raises :class:`CheckpointUnavailable` where it had to go."""
    for location in mine().values():
        held = find(location)
        if held is not None and held.checkpoint.spec.location == spec.location:
            return held.checkpoint
    raise CheckpointUnavailable(
        f"{spec.name} is no longer in memory: models of other visitors took its place. Train it again."
    )
