"""Which weights these are: the SHA-256 of every file that a checkpoint is made of, and the revision of a download."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from core.checkpoints.sizes import State, state_of
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError

_PART = 1 << 20


@dataclass(frozen=True, slots=True)
class Weights:
    """One file of weights; ``file`` is its name and its folder's, never a path of this machine."""

    file: str
    bytes: int
    sha256: str


def weights_of(spec: CheckpointSpec) -> tuple[Weights, ...]:
    """The checkpoint's own files and those of its base; empty where they cannot be read. Read once for the same files.

    A gigabyte takes a second or two.
    """
    try:
        return _weights(state_of(spec))
    except (AtlasError, OSError):
        return ()


def revision_of(spec: CheckpointSpec) -> str | None:
    """The commit of the Hub that a download has; None for everything else."""
    if spec.source != "hub":
        return None
    try:
        parts = Path(state_of(spec)[0][0]).parts
    except (AtlasError, OSError, IndexError):
        return None
    return parts[parts.index("snapshots") + 1] if "snapshots" in parts[:-1] else None


@lru_cache(maxsize=64)
def _weights(state: State) -> tuple[Weights, ...]:
    return tuple(Weights(f"{Path(name).parent.name}/{Path(name).name}", size, _sha256(name)) for name, _, size in state)


def _sha256(name: str) -> str:
    digest = hashlib.sha256()
    with Path(name).open("rb") as file:
        while part := file.read(_PART):
            digest.update(part)
    return digest.hexdigest()
