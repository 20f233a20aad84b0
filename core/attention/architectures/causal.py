r"""Who may look at whom in a decoder, as its configuration says.

A token sees itself and what came before it; in layers with a window of w, no more than the last w tokens:

.. math:: j \le i \quad\text{and}\quad i - j < w

GPT-Neo has such layers in turn with whole ones (``attention_layers``), newer decoders by name (``layer_types``) or in
every layer (``sliding_window`` alone, as Mistral).

Legend: L layers, n tokens. numpy alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from core.attention.patterns import both, causal, mask, window
from core.attention.trace import Bools


def windows(config: Any) -> tuple[int | None, ...]:
    """For each layer how many tokens it sees, itself included; None for all."""
    layers = int(config.num_hidden_layers)
    if getattr(config, "model_type", "") == "gpt_neo":
        return tuple(int(config.window_size) if kind == "local" else None for kind in config.attention_layers)
    size = getattr(config, "sliding_window", None)
    if size is None or getattr(config, "use_sliding_window", True) is False:
        return (None,) * layers
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * layers
    return tuple(int(size) if kind == "sliding_attention" else None for kind in kinds)


def allowed(config: Any, n: int) -> Bools:
    """Where weights are computed: (1, 1, n, n), or (L, 1, n, n) where layers differ or have windows."""
    reaches = windows(config)
    if not any(reaches):
        return mask(causal, n)[None, None]
    patterns = [causal if w is None else both(causal, window(w - 1, 0)) for w in reaches]
    return np.stack([mask(pattern, n) for pattern in patterns])[:, None]
