"""Attention of live models: captured, scored, combined, exported, and shown by bertviz and by a grid of our own.

``attention.capture(checkpoint, text)`` is the function; what else its module holds comes by
``from core.attention.capture import ...``.
Importing this package imports neither torch nor transformers.
"""

from core.attention.capture import capture

__all__ = ["capture"]
