"""What can be run: descriptions of all checkpoints this installation has, and a thread-safe way to load one.

``available()`` and the other look-ups read small files only; torch and transformers are imported when a checkpoint is
loaded. Names are looked up lazily so that importing :mod:`core` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.checkpoints.memory import forget, load
    from core.checkpoints.registry import available, first, for_branch, for_system, get, refused

__all__ = ["available", "first", "for_branch", "for_system", "forget", "get", "load", "refused"]

_HOMES = {
    "available": "registry",
    "first": "registry",
    "for_branch": "registry",
    "for_system": "registry",
    "get": "registry",
    "refused": "registry",
    "load": "memory",
    "forget": "memory",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"core.checkpoints.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'core.checkpoints' has no attribute {name!r}")
