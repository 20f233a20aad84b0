"""What a network costs: parameters, memory, operations. Computed from stored trees and shapes; no torch at import.

``shape_of("gpt-3", "175B")`` is the layout of a size; ``cache_bytes``, ``forward``, ``activations`` and ``states``
compute from it. Each formula is in ``data/formulas.toml``, with its symbols and its source.
"""

from __future__ import annotations

from core.costs.memory import activations, cache_bytes, states
from core.costs.operations import forward
from core.costs.shape import LayerShape, Shape, shape_of

__all__ = ["Shape", "LayerShape", "activations", "cache_bytes", "forward", "shape_of", "states"]
