"""Attention of live models: captured, scored, combined, exported, and drawn by bertviz and as a grid.

``attention.capture(checkpoint, text)`` is the function; what else its module holds comes by
``from core.attention.capture import ...``. ``attention.bertviz.render(trace)`` works after
``from core import attention``.
Importing this package imports neither torch nor transformers.
"""

from __future__ import annotations

from core.attention import bertviz
from core.attention.ablation import ablate
from core.attention.capture import capture
from core.attention.inside import block, lens
from core.attention.views import grid

__all__ = ["ablate", "bertviz", "block", "capture", "grid", "lens"]
