"""Attention of live models: captured, scored, combined, exported, and drawn by bertviz and as a grid.

``attention.capture(checkpoint, text)`` is the function; what else its module holds comes by
``from core.attention.capture import ...``. The modules of :data:`MODULES` are read when they are first named:
``attention.bertviz.render(trace)`` works after ``from core import attention``.
Importing this package imports neither torch nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.attention.capture import capture

if TYPE_CHECKING:
    from core.attention import bertviz
    from core.attention.ablation import ablate
    from core.attention.inside import block, lens
    from core.attention.views import grid

__all__ = ["ablate", "bertviz", "block", "capture", "grid", "lens"]

MODULES = {
    "ablate": "core.attention.ablation.ablate",
    "bertviz": "core.attention.bertviz",
    "block": "core.attention.inside.block",
    "grid": "core.attention.views.grid",
    "lens": "core.attention.inside.lens",
}


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(MODULES[name])
    raise AttributeError(f"module 'core.attention' has no attribute {name!r}")
