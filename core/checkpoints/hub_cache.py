"""Earlier downloads from the Hub, read from its cache folder without its libraries.

The cache is the one that every program with huggingface_hub on this machine uses. Its layout is
``models--ORG--NAME/snapshots/REVISION/FILE``, where the files are links into ``models--ORG--NAME/blobs``.
"""

from __future__ import annotations

import os
from pathlib import Path

from core.checkpoints.families import Kind
from core.checkpoints.folder import Inspected, inspect_cached
from core.errors import CheckpointRefused


def cache_root() -> Path:
    """The cache folder that huggingface_hub uses in this environment."""
    for variable, below in (("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")):
        if value := os.environ.get(variable):
            return Path(os.path.expandvars(value)).expanduser() / below
    return Path.home() / ".cache" / "huggingface" / "hub"


def repository(hub_id: str) -> Path:
    """The cache's folder for one Hub id."""
    return cache_root() / f"models--{hub_id.replace('/', '--')}"


def held() -> frozenset[str]:
    """The Hub ids with a folder in the cache, in one scan, since every run of a page asks for all of them."""
    try:
        return frozenset(entry.name.removeprefix("models--").replace("--", "/") for entry in os.scandir(cache_root()))
    except OSError:
        return frozenset()


def fetched(hub_id: str, kind: Kind) -> Inspected | None:
    """The newest complete snapshot of a Hub id, or None."""
    snapshots = repository(hub_id) / "snapshots"
    try:
        newest_first = sorted(snapshots.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return None
    for snapshot in newest_first:
        try:
            return inspect_cached(snapshot, cache_root(), kind)
        except (CheckpointRefused, OSError):
            continue
    return None
